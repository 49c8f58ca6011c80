//! The engine: one event in, one [`Action`] out.
//!
//! It owns all that is known of a response while it is streamed: which items there are, under
//! which identity, index and number they are sent, where each is in its life, what each has said,
//! and what waits. It does no I/O and knows no server; its callers, the codecs, turn bytes or
//! objects into [`Event`]s and carry out the actions.
//!
//! # The life of an item
//!
//! ```text
//!                      announced, usable                close
//!            ┌───────────────────────────────► OPEN ──────────────► CLOSED
//!   (none) ──┤                                  ▲                     │
//!            │ a call without a name,           │ named, and its own  │ new text
//!            │ or under a call_id that is taken │                     ▼
//!            └───────────────────────────────► WAITING ◄───────── (a new item)
//!                                               │
//!                                               └─► gone: it repeats a call
//! ```
//!
//! | state | event | action | next |
//! |---|---|---|---|
//! | none | announcement | send it at the next index, under an id of its own | OPEN |
//! | none | announcement of a call without `call_id` or `name`, or under a `call_id` that is taken | wait | WAITING |
//! | none | event of an item that was not announced | insert the announcement, and open its part | OPEN |
//! | none | the same of a call that a client runs | wait | WAITING |
//! | none | close of an item that was not announced | insert announcement and content | CLOSED |
//! | WAITING | event of it, or its late announcement | wait; read name and payload from it | WAITING |
//! | WAITING | its name and a `call_id` of its own are known | release all, the announcement first | OPEN, CLOSED |
//! | WAITING | its `call_id` is taken, and it says something else than that call | the same, under a minted `call_id` | OPEN, CLOSED |
//! | WAITING | its `call_id` is taken, and its close says nothing else | discard all | gone |
//! | WAITING | completed, incomplete | read the name from its entry, then as above; what nobody names is released last | CLOSED, gone |
//! | WAITING | failure, end of the stream | discard a repetition, else release all, with no announcement inserted | OPEN, gone |
//! | WAITING | limit | release all | OPEN, gone |
//! | OPEN | event of it | send; open its part first where that was not done | OPEN |
//! | OPEN | announced again, under the same id, index and `call_id` | drop | OPEN |
//! | OPEN | close | send under its identity, payload untouched | CLOSED |
//! | OPEN | completed, incomplete | insert its close, with what it has said | CLOSED |
//! | OPEN | failure, end of the stream | nothing | OPEN |
//! | CLOSED | status, or text that it has said | drop | CLOSED |
//! | CLOSED | new text | as of an item that was not announced | CLOSED |
//! | CLOSED | closed again: the same, or empty | drop | CLOSED |
//! | CLOSED | closed again: something else | a new item, announced and closed | CLOSED |
//!
//! # The life of a stream
//!
//! [`Phase`] has its states. A stream is *joined* where its first `response.*` event is none that
//! begins one: the client has the announcements, so that none is inserted and no index moves.
//!
//! ```
//! use sse_rewrite::{Engine, Event, Fate, Item, Policy};
//!
//! let mut engine = Engine::new(Policy::default());
//! engine.take(&Event::Created { response_id: Some("resp_1") }, None)?;
//! let item = Item::read(br#"{"type":"message","id":"msg_1"}"#).expect("an item");
//! let announced = Event::Announced { index: Some(0), item: Some(item) };
//! assert_eq!(engine.take(&announced, None)?.this, Fate::default());
//!
//! // The terminal output has it under another id: its identity is corrected, and its close inserted.
//! let item = Item::read(br#"{"type":"message","id":"msg_2"}"#).expect("an item");
//! let action = engine.take(&Event::Terminal { failed: false, output: vec![item] }, None)?;
//! assert_eq!(action.steps.len(), 1);
//! # Ok::<(), sse_rewrite::GaveUp>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::contract::event::{Action, Changes, Event, Fate, Run, Step, Ticket};
use crate::contract::identity::{Field, Identity};
use crate::contract::ids::IdRegistry;
use crate::contract::inserted::Inserted;
use crate::contract::item_state::ItemState;
use crate::contract::observer::{NoObserver, Observer};
use crate::contract::policy::{GaveUp, Policy};
use crate::contract::report::{Change, Repaired, Report, Told};
use crate::contract::sequence::Sequence;
use crate::contract::waiting::Waiting;

/// How many events of one response may wait at a time.
pub(super) const MAX_WAITING: usize = 4096;

/// Where a response is in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// No event of a response has come.
    #[default]
    Fresh,
    /// The response goes on.
    Begun,
    /// It was announced a second time: what says so is dropped up to the next event of an item.
    BegunAgain,
    /// The server failed: items may stay open, and only identities are kept (C13).
    Failed,
    /// The terminal event has come. All passes, up to another `response.created`.
    Ended,
}

/// An item, or a call that waits to become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ref {
    Item(usize),
    Waiting(u64),
}

/// Decides what keeps the identity contract, for one stream.
#[derive(Debug, Default)]
pub struct Engine<O = NoObserver> {
    pub(super) policy: Policy,
    pub(crate) observer: O,
    pub(super) response_id: String,
    /// The announced items; an item's position is its `output_index`.
    pub(super) items: Vec<ItemState>,
    /// Which of them are open.
    pub(super) open: BTreeSet<usize>,
    /// The calls that wait, by their arrival.
    pub(super) waiting: BTreeMap<u64, Waiting>,
    /// Which items the server has sent under an `output_index`.
    pub(super) by_index: HashMap<u64, Vec<Ref>>,
    pub(super) ids: IdRegistry,
    pub(super) call_ids: IdRegistry,
    pub(super) phase: Phase,
    pub(super) is_joined: bool,
    /// Whether an announcement has shown how many items a joined stream had before.
    pub(super) is_counted: bool,
    pub(super) sequence: Sequence,
    /// The number to expect next, where events have numbers.
    next_number: Option<u64>,
    /// How many items, tickets and events that were sent there have been.
    pub(super) arrivals: u64,
    /// The last of them that was sent.
    pub(super) last_sent: u64,
    /// How many events wait.
    pub(super) deferred: usize,
    /// How many bytes are held.
    pub(super) held: usize,
    /// What a reconciled terminal event is sent with.
    pub(super) reconciled: Option<Draft>,
    pub(super) report: Report,
    pub(super) repaired: Repaired,
    inserted: BTreeMap<&'static str, u64>,
    /// What was counted for the last event.
    pub(super) last: Counted,
}

/// What was counted for one event, so that it can be taken back.
#[derive(Debug, Default)]
pub(super) struct Counted {
    before: Report,
    pub(super) repaired: Vec<(Told, Field, &'static str)>,
    inserted: Vec<&'static str>,
}

/// What was decided for one event, without numbers.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) steps: Vec<Planned>,
    pub(super) this: Fate,
    pub(super) run: Option<Run>,
}

/// A step without its number.
#[derive(Debug)]
pub(super) enum Planned {
    Insert(Inserted),
    Release {
        ticket: Ticket,
        number: Option<u64>,
        changes: Changes,
    },
    Discard(Ticket),
}

impl Draft {
    /// The event is sent so.
    pub(super) fn send(changes: Changes) -> Self {
        Self {
            this: Fate::Send(changes),
            ..Self::default()
        }
    }
}

impl Engine {
    /// An engine for one stream.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::observed(policy, NoObserver)
    }

    /// An engine for a stream that is shown from its beginning, and whose server numbers its
    /// events without a fault, so that deltas need not be shown here: see [`Engine::shift`].
    #[must_use]
    pub fn of_trusted_numbers(policy: Policy) -> Self {
        Self {
            phase: Phase::Begun,
            sequence: Sequence::of_trusted_upstream(),
            ..Self::new(policy)
        }
    }
}

impl<O: Observer> Engine<O> {
    /// An engine that tells `observer` what it finds.
    pub fn observed(policy: Policy, observer: O) -> Self {
        Self {
            policy,
            observer,
            response_id: String::new(),
            items: Vec::new(),
            open: BTreeSet::new(),
            waiting: BTreeMap::new(),
            by_index: HashMap::new(),
            ids: IdRegistry::default(),
            call_ids: IdRegistry::default(),
            phase: Phase::default(),
            is_joined: false,
            is_counted: false,
            sequence: Sequence::default(),
            next_number: None,
            arrivals: 0,
            last_sent: 0,
            deferred: 0,
            held: 0,
            reconciled: None,
            report: Report::default(),
            repaired: Repaired::default(),
            inserted: BTreeMap::new(),
            last: Counted::default(),
        }
    }

    /// Decides on the next event, which has this `sequence_number`, if any.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed. The stream is to pass as it came from
    /// there on, what waits first.
    pub fn take(&mut self, event: &Event, number: Option<u64>) -> Result<Action, GaveUp> {
        self.begin_count();
        let draft = self.decide(event, number)?;
        let action = self.numbered(draft, number);
        // A foreign event may be numbered in a stream that has no numbers otherwise (C3).
        if let Some(number) = number.filter(|_| !matches!(event, Event::Other)) {
            self.next_number = Some(number.saturating_add(1));
        }
        if matches!(action.this, Fate::Send(_)) {
            self.last_sent = self.arrive();
        }
        Ok(action)
    }

    /// What was counted for the last event is not: it was not sent as was decided.
    pub fn take_back_counts(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.report = last.before;
        for field in last.repaired {
            if let Some(count) = self.repaired.get_mut(&field) {
                *count = count.saturating_sub(1);
            }
        }
        for event_type in last.inserted {
            if let Some(count) = self.inserted.get_mut(event_type) {
                *count = count.saturating_sub(1);
            }
        }
    }

    pub(super) fn begin_count(&mut self) {
        self.last.before = self.report;
        self.last.repaired.clear();
        self.last.inserted.clear();
    }

    /// The stream has ended: what is still to be sent.
    ///
    /// # Errors
    ///
    /// As [`Engine::take`].
    pub fn finish(&mut self) -> Result<Action, GaveUp> {
        let mut draft = Draft::default();
        self.settle_failed(&mut draft.steps)?;
        Ok(self.numbered(draft, None))
    }

    /// The number to send a delta of a run under, which the server has numbered so. Its text is
    /// handed over by [`Engine::say`].
    pub fn number_of_run(&mut self, number: u64) -> u64 {
        self.note_number(number);
        self.next_number = Some(number.saturating_add(1));
        self.sequence.number(number)
    }

    /// Text that deltas of `run` brought, which were not shown here, between its quotes in JSON.
    pub fn say(&mut self, run: Run, raw_text: &[u8]) {
        let Some(item) = self.items.get_mut(run.item) else {
            return;
        };
        if let Some(spot) = run.spot {
            item.said.add_more(spot, raw_text);
            self.hold(run.item);
        }
    }

    /// What to add to the numbers of the server's events that are not shown here.
    #[must_use]
    pub fn shift(&self) -> i64 {
        self.sequence.shift()
    }

    /// The server has made an event that is neither shown here nor sent.
    pub fn left_out(&mut self) {
        self.sequence.dropped();
    }

    /// What was changed so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Adds what was changed in an event that needed no decision.
    pub(crate) fn count_again(&mut self, counts: &Report) {
        self.report.add(counts);
    }

    /// Which fields of whole items were corrected so far.
    #[must_use]
    pub fn repaired(&self) -> &Repaired {
        &self.repaired
    }

    /// How many events were inserted so far, by type.
    #[must_use]
    pub fn inserted(&self) -> &BTreeMap<&'static str, u64> {
        &self.inserted
    }

    /// The identity under which the item at `index` is sent.
    #[must_use]
    pub fn identity(&self, index: usize) -> Option<&Identity> {
        self.items.get(index).map(|item| &item.identity)
    }

    fn decide(&mut self, event: &Event, number: Option<u64>) -> Result<Draft, GaveUp> {
        if self.phase == Phase::Fresh && !matches!(event, Event::Other | Event::Error) {
            self.phase = Phase::Begun;
            if !matches!(event, Event::Created { .. } | Event::Progress) {
                self.is_joined = true;
                self.observer.joins();
            }
        }
        let again = self.phase == Phase::BegunAgain;
        if again && is_of_item(event) {
            self.phase = Phase::Begun;
        }
        match event {
            Event::Created { response_id } => Ok(self.created(*response_id)),
            Event::Progress if again => {
                self.observer.begins(None, false);
                Ok(self.dropped())
            }
            Event::Progress | Event::OfResponse | Event::Other => Ok(Draft::default()),
            Event::Error => {
                let mut draft = Draft::default();
                if self.phase != Phase::Ended {
                    self.phase = Phase::Failed;
                    self.settle_failed(&mut draft.steps)?;
                }
                Ok(draft)
            }
            Event::Terminal { failed, output } => self.terminal(*failed, output),
            _ if self.phase == Phase::Ended => {
                self.observer.after_end();
                Ok(Draft::default())
            }
            Event::Announced { index, item } => self.announced(*index, item.as_ref(), number),
            Event::Scoped(event) => self.scoped(event, number),
            Event::Closed { index, item } => self.closed(*index, item.as_ref(), number),
        }
    }

    /// `response.created` begins a response, or goes on with one that has no end yet.
    fn created(&mut self, response_id: Option<&str>) -> Draft {
        let is_first = self.phase == Phase::Ended
            || (self.items.is_empty() && self.waiting.is_empty() && self.response_id.is_empty());
        self.observer.begins(response_id, is_first);
        if !is_first {
            self.phase = Phase::BegunAgain;
            return self.dropped();
        }
        // Nothing of the last response is remembered, its ids included.
        response_id
            .unwrap_or_default()
            .clone_into(&mut self.response_id);
        self.items.clear();
        self.open.clear();
        self.by_index.clear();
        self.ids = IdRegistry::default();
        self.call_ids = IdRegistry::default();
        self.phase = Phase::Begun;
        self.is_joined = false;
        self.is_counted = false;
        self.sequence.begin();
        self.held = 0;
        Draft::default()
    }

    /// The event is not sent.
    pub(super) fn dropped(&mut self) -> Draft {
        self.count(Change::Dropped);
        Draft {
            this: Fate::Drop,
            ..Draft::default()
        }
    }

    pub(super) fn count(&mut self, change: Change) {
        self.report.count(change);
    }

    fn note_number(&mut self, number: u64) {
        let is_behind = self.sequence.is_behind(number);
        self.observer.numbered(number, is_behind);
    }

    /// Gives the steps of a draft their numbers (C3).
    pub(super) fn numbered(&mut self, draft: Draft, number: Option<u64>) -> Action {
        let mut before = number.or(self.next_number);
        let waits = match &draft.this {
            Fate::Wait(ticket) => Some(*ticket),
            _ => None,
        };
        let mut is_released = false;
        let mut steps = Vec::with_capacity(draft.steps.len());
        for step in draft.steps {
            steps.push(match step {
                Planned::Insert(event) => {
                    *self.inserted.entry(event.event_type).or_default() += 1;
                    self.last.inserted.push(event.event_type);
                    let number = before.map(|before| self.sequence.inserted(before));
                    Step::Insert(event, number)
                }
                Planned::Discard(ticket) => Step::Discard(ticket),
                Planned::Release {
                    ticket,
                    number: own,
                    mut changes,
                } => {
                    let sent = match (own, before) {
                        (Some(own), Some(_)) if waits == Some(ticket) => {
                            is_released = true;
                            before = Some(own.saturating_add(1));
                            Some(self.sequence.number(own))
                        }
                        (Some(_), Some(before)) => Some(self.sequence.inserted(before)),
                        _ => None,
                    };
                    if let Some(sent) = sent.filter(|sent| own != Some(*sent)) {
                        changes.set_number("sequence_number", sent);
                    }
                    Step::Release(ticket, changes)
                }
            });
        }
        let mut this = draft.this;
        if let Some(number) = number {
            match &mut this {
                Fate::Send(changes) => {
                    self.note_number(number);
                    let sent = self.sequence.number(number);
                    if sent != number {
                        changes.set_number("sequence_number", sent);
                    }
                }
                Fate::Wait(_) if is_released => {}
                Fate::Wait(_) | Fate::Drop => self.sequence.dropped(),
            }
        }
        Action {
            steps,
            this,
            run: draft.run,
        }
    }

    pub(super) fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Whether what names an item is within the limits.
    pub(super) fn check(&self, identity: &Identity) -> Result<(), GaveUp> {
        if identity.longest_field() > self.policy.max_identity_bytes {
            return Err(GaveUp::IdentityTooLong);
        }
        Ok(())
    }

    /// Counts the bytes of what the open item at `index` has said; beyond the limit they are
    /// given up.
    pub(super) fn hold(&mut self, index: usize) {
        let Some(item) = self.items.get_mut(index) else {
            return;
        };
        let before = item.said.counted();
        self.held = (self.held + item.said.count()).saturating_sub(before);
        if self.held > self.policy.max_held_bytes && !item.said.has_overflowed() {
            self.held = self.held.saturating_sub(item.said.counted());
            item.said.overflow();
        }
    }

    /// Keeps an item's JSON text as it was last sent.
    pub(super) fn keep(&mut self, index: usize, json: Vec<u8>) -> Result<(), GaveUp> {
        if let Some(item) = self.items.get_mut(index) {
            self.held = (self.held + json.len()).saturating_sub(item.json.len());
            item.json = json;
        }
        if self.held > self.policy.max_held_bytes {
            return Err(GaveUp::TooMuchHeld);
        }
        Ok(())
    }

    /// What of `carried`, a later mention of the item at `index`, must be replaced (C1).
    pub(super) fn corrections(&self, index: usize, carried: &Identity) -> Vec<(Field, String)> {
        let item = self.items.get(index);
        item.map_or_else(Vec::new, |item| {
            let corrections = item.identity.corrections(carried);
            corrections
                .map(|(field, value)| (field, value.to_owned()))
                .collect()
        })
    }
}

/// Whether a response that was announced again goes on with `event`.
fn is_of_item(event: &Event) -> bool {
    !matches!(
        event,
        Event::Created { .. } | Event::Progress | Event::OfResponse | Event::Other
    )
}
