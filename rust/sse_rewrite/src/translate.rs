//! Translates one event of a stream after the other, as the ledger decides.
//!
//! This is the second adapter on the ledger, the one for bytes: it reads an event's spans,
//! asks, and replaces spans. A frame that it has no edit for is not touched (C9).

mod scoped;
mod terminal;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::IgnoredAny;

use crate::check::{Recorder, Watch};
use crate::content_index::Parts;
use crate::fields::{Fields, member_text};
use crate::frame::Frame;
use crate::held::Held;
use crate::item::Item;
use crate::ledger::{Decision, Ledger, Repaired};
use crate::lifecycle::{Event, Lifecycle, ReasoningParts};
use crate::policy::{GaveUp, Policy};
use crate::report::{Change, Report};
use crate::run::Run;
use crate::sequence::Sequence;
use crate::sink::Sink;
use crate::splice::{Edits, corrected, quoted};
use crate::vocabulary::{EventKind, classify, openai_name};
use crate::walk;

/// What becomes of a frame.
#[derive(Debug)]
pub(crate) enum Translated {
    /// It is sent as it came.
    Same,
    /// It is sent so, after these events.
    Changed {
        /// Events to send first, with their numbers.
        before: Vec<(Event, Option<u64>)>,
        /// What of the frame's data is replaced.
        edits: Edits,
        /// The name to send the event under, where it is another.
        name: Option<&'static str>,
    },
    /// Its event is not sent.
    Dropped,
}

/// What is known of one stream between two events.
#[derive(Debug)]
pub(crate) struct Translator {
    policy: Policy,
    pub(crate) watch: Watch,
    ledger: Ledger,
    sequence: Sequence,
    /// The number to expect next, where events have numbers.
    next_number: Option<u64>,
    run: Option<Run>,
    held: Held,
    parts: Vec<Parts>,
    no_parts: Parts,
    begun: bool,
    /// A further round of the response was announced as if it began: what says so is dropped.
    repeats_beginning: bool,
    inserted: BTreeMap<&'static str, u64>,
}

/// An event under translation.
struct Open<'a> {
    json: &'a [u8],
    fields: Fields,
    number: Option<u64>,
    before: Vec<(Event, Option<u64>)>,
    edits: Edits,
    /// Members to set in the event itself.
    members: Vec<(&'static str, String)>,
}

impl Translator {
    pub(crate) fn new(policy: Policy, watch: Watch) -> Self {
        Self {
            policy,
            watch,
            ledger: Ledger::new(policy),
            sequence: Sequence::default(),
            next_number: None,
            run: None,
            held: Held::new(policy.max_held_bytes),
            parts: Vec::new(),
            no_parts: Parts::trusted(),
            begun: false,
            repeats_beginning: false,
            inserted: BTreeMap::new(),
        }
    }

    /// Which fields of whole items were corrected so far.
    pub(crate) fn repaired(&self) -> &Repaired {
        self.ledger.repaired()
    }

    /// How many events were inserted so far, by type.
    pub(crate) fn inserted(&self) -> &BTreeMap<&'static str, u64> {
        &self.inserted
    }

    /// What was changed so far.
    pub(crate) fn report(&self) -> &Report {
        self.ledger.report()
    }

    /// Decides on a frame with data.
    pub(crate) fn translate(&mut self, frame: &Frame) -> Result<Translated, GaveUp> {
        self.run = None;
        let json = &*frame.data;
        let Some(fields) = Fields::read(json) else {
            self.watch.note(|seen| seen.unreadable(json));
            return Ok(Translated::Same);
        };
        let stated = fields.event_type.clone();
        let stated = stated.and_then(|span| walk::text(json, span));
        let named = frame
            .event
            .and_then(|event| std::str::from_utf8(event).ok());
        let part_type = member_text(json, fields.part.as_ref(), "type");
        let mut event_type = stated.as_deref().unwrap_or_default();
        let mut kind = classify(event_type, part_type.as_deref());
        if let (EventKind::Other, Some(named)) = (kind, named)
            && !event_type.starts_with(API)
        {
            event_type = named;
            kind = classify(event_type, part_type.as_deref());
        }
        // Text that only looks like JSON is nobody's event: it passes.
        if serde_json::from_slice::<IgnoredAny>(json).is_err() {
            self.watch.note(|seen| seen.unreadable(json));
            return Ok(Translated::Same);
        }
        let number = count(json, fields.sequence_number.as_ref());
        self.watch
            .note(|seen| seen.event(json, &fields, event_type, kind, number));
        let mut open = Open {
            json,
            fields,
            number,
            before: Vec::new(),
            edits: Edits::default(),
            members: Vec::new(),
        };
        if event_type.starts_with(API) && !self.begun {
            self.begun = true;
            if kind != EventKind::Created && number != Some(0) {
                self.ledger.resume();
                self.watch.note(Recorder::joins);
            }
        }
        let report = self.ledger.report;
        let is_sent = self.decide(&mut open, event_type, kind)?;
        if number.is_some() {
            self.next_number = number.map(|number| number.saturating_add(1));
        }
        if !is_sent {
            if number.is_some() {
                self.sequence.dropped();
            }
            return Ok(Translated::Dropped);
        }
        let name = openai_name(event_type).filter(|_| self.policy.openai_vocabulary);
        if let Some(name) = name {
            self.ledger.report.count(Change::EventRenamed);
            if stated.as_deref() == Some(event_type) {
                open.set("type", quoted(name));
            }
        }
        let verb = event_type.rsplit('.').next();
        let is_delta = matches!(kind, EventKind::Scoped(_)) && verb == Some("delta");
        if is_delta && open.before.is_empty() {
            let mut edits = Edits::default();
            edits.set(json, open.fields.start, &open.members);
            let counts = self.ledger.report.since(&report);
            self.run = Run::begin(frame, open.fields.start, edits, counts);
        }
        if let Some(number) = open.number {
            self.watch
                .note(|seen| seen.numbered(number, self.sequence.is_behind(number)));
            let sent = self.sequence.number(number);
            if sent != number {
                open.set("sequence_number", sent.to_string());
            }
        }
        if !open.members.is_empty() {
            open.edits.set(json, open.fields.start, &open.members);
        }
        if open.before.is_empty() && open.edits.is_empty() && name.is_none() {
            return Ok(Translated::Same);
        }
        Ok(Translated::Changed {
            before: open.before,
            edits: open.edits,
            name,
        })
    }

    /// Sends the frame at the start of `bytes` if it continues a run; returns its length.
    pub(crate) fn follow(&mut self, bytes: &[u8], sink: &mut Sink) -> Option<(usize, bool)> {
        let run = self.run.as_ref()?;
        let found = run.find(bytes)?;
        if found.length > self.policy.max_frame_bytes {
            return None;
        }
        let mut sent = None;
        self.watch.note(|seen| {
            seen.again(found.number);
            if let Some(number) = found.number {
                seen.numbered(number, self.sequence.is_behind(number));
            }
        });
        if let Some(number) = found.number {
            self.next_number = Some(number.saturating_add(1));
            sent = Some(self.sequence.number(number));
        }
        if let Some(counts) = &run.counts {
            self.ledger.report.add(counts);
        }
        let same = run.is_plain() && sent == found.number;
        if same {
            sink.pass(found.length);
        } else {
            run.write(bytes, &found, sent, sink.replace(found.length));
        }
        Some((found.length, same))
    }

    /// Decides on an event by its kind; returns whether it is sent.
    fn decide(
        &mut self,
        open: &mut Open,
        event_type: &str,
        kind: EventKind,
    ) -> Result<bool, GaveUp> {
        let begins_again = self.repeats_beginning;
        self.repeats_beginning = false;
        match kind {
            EventKind::Created => Ok(self.created(open)),
            EventKind::Other => {
                let drops = begins_again
                    && matches!(event_type, "response.in_progress" | "response.queued");
                self.repeats_beginning = drops;
                if drops {
                    self.watch.note(|seen| seen.created(None, false));
                }
                Ok(!drops)
            }
            // What comes after the end has no place in the response.
            _ if self.ledger.finished && kind != EventKind::Terminal => {
                self.watch.note(Recorder::after_end);
                Ok(true)
            }
            EventKind::Added | EventKind::Done => self.whole_item(open, kind),
            EventKind::Scoped(scope) => self.scoped(open, event_type, &scope),
            EventKind::Terminal => {
                self.terminal(open)?;
                Ok(true)
            }
        }
    }

    fn created(&mut self, open: &Open) -> bool {
        let id = member_text(open.json, open.fields.response.as_ref(), "id");
        let begins = self.ledger.created(id.as_deref());
        self.watch.note(|seen| seen.created(id.as_deref(), begins));
        if !begins {
            self.repeats_beginning = true;
            return false;
        }
        self.sequence = Sequence::default();
        self.held = Held::new(self.policy.max_held_bytes);
        self.parts.clear();
        true
    }

    /// An announcement or a close.
    fn whole_item(&mut self, open: &mut Open, kind: EventKind) -> Result<bool, GaveUp> {
        let span = open.fields.item.clone();
        let text = span.clone().and_then(|span| open.json.get(span));
        let text = text.unwrap_or_default();
        let item = Item::read(text).ok();
        let index = open.count(open.fields.output_index.as_ref());
        let decision = if kind == EventKind::Added {
            self.ledger.added(index, item.as_ref())?
        } else {
            self.ledger.done(index, item.as_ref())?
        };
        let Some(slot) = self.placed(open, decision, index)? else {
            return Ok(self.passes(decision, item.as_ref()));
        };
        let (Some(span), Some(item)) = (span, item) else {
            return Ok(true);
        };
        *self.parts_of(slot) = if kind == EventKind::Added {
            Parts::default()
        } else {
            Parts::trusted()
        };
        let corrections = self.ledger.corrections(slot, &item.identity);
        self.watch
            .note(|seen| seen.told(slot, index, &item.identity, self.ledger.identity(slot)));
        if let Some(text) = corrected(text, &corrections) {
            open.edits.replace(span, text.clone());
            self.held.keep(slot, text)?;
        } else {
            self.held.keep(slot, text.to_vec())?;
        }
        Ok(true)
    }

    /// Whether an event that has no slot is sent all the same.
    fn passes(&mut self, decision: Decision, item: Option<&Item>) -> bool {
        let drops = decision == Decision::Drop;
        if drops {
            self.watch
                .note(|seen| seen.dropped(item.map(|item| &item.identity)));
        }
        !drops
    }

    /// The slot of an event that is sent, which is its `output_index` from now on.
    fn placed(
        &mut self,
        open: &mut Open,
        decision: Decision,
        index: Option<u64>,
    ) -> Result<Option<usize>, GaveUp> {
        let Decision::Send { slot, announce } = decision else {
            return Ok(None);
        };
        if let Some(announce) = announce {
            let entry = self.ledger.entries.get(slot);
            self.watch
                .note(|seen| seen.unannounced(slot, entry.map(|entry| &entry.upstream)));
            *self.parts_of(slot) = Parts::default();
            let blank = self.lifecycle(slot, |lifecycle| {
                (lifecycle.announce(announce.open_part), lifecycle.blank())
            });
            if let Some((events, blank)) = blank {
                self.insert(open, events);
                self.held.keep(slot, blank.into_bytes())?;
            }
        }
        if index != u64::try_from(slot).ok() {
            self.watch
                .note(|seen| seen.misplaced(slot, index, self.ledger.identity(slot)));
            open.set("output_index", slot.to_string());
        }
        Ok(Some(slot))
    }

    /// Numbers events that are sent before the open one.
    fn insert(&mut self, open: &mut Open, events: Vec<Event>) {
        let before = open.number.or(self.next_number);
        for event in events {
            *self.inserted.entry(event.event_type).or_default() += 1;
            let number = before.map(|before| self.sequence.inserted(before));
            open.before.push((event, number));
        }
    }

    fn lifecycle<T>(&self, slot: usize, make: impl FnOnce(&Lifecycle) -> T) -> Option<T> {
        Some(make(&Lifecycle {
            slot,
            identity: self.ledger.identity(slot)?,
            reasoning_parts: ReasoningParts::default(),
        }))
    }

    /// The content parts of the item in `slot`; those of one not seen from its start stand.
    fn parts_of(&mut self, slot: usize) -> &mut Parts {
        if self.parts.len() <= slot {
            self.parts.resize_with(slot + 1, Parts::trusted);
        }
        self.parts.get_mut(slot).unwrap_or(&mut self.no_parts)
    }
}

impl Open<'_> {
    fn set(&mut self, name: &'static str, value: String) {
        self.members.push((name, value));
    }

    fn count(&self, span: Option<&Range<usize>>) -> Option<u64> {
        count(self.json, span)
    }

    /// The text that it sums up: its own, or that of its part.
    fn text(&self) -> Option<Cow<'_, str>> {
        let event = self.fields.start..self.json.len();
        member_text(self.json, Some(&event), "text")
            .or_else(|| member_text(self.json, self.fields.part.as_ref(), "text"))
    }
}

/// The prefix of the event types of the API.
const API: &str = "response.";

fn count(json: &[u8], span: Option<&Range<usize>>) -> Option<u64> {
    walk::count(json, span?.clone())
}
