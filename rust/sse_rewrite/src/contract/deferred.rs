//! Calls that wait: for their name, for a `call_id`, or until their payload shows whether they
//! repeat another call (C11, C12).

use crate::contract::engine::{Draft, Engine, MAX_WAITING, Planned, Ref};
use crate::contract::event::{Changes, Fate};
use crate::contract::identity::Identity;
use crate::contract::item::Item;
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::report::Change;
use crate::contract::waiting::{Deferred, Kept, Waiting, missing};

/// What a call under a taken `call_id` turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    /// The call that was there first, again.
    Yes(usize),
    /// A call of its own.
    No,
    /// It does not show yet.
    Undecided,
}

impl<O: Observer> Engine<O> {
    /// A call waits from now on; returns its key.
    pub(super) fn wait(&mut self, waiting: Waiting) -> Result<u64, GaveUp> {
        if self.items.len() + self.waiting.len() >= self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        let key = self.arrive();
        self.place(Ref::Waiting(key), waiting.server_index);
        self.waiting.insert(key, waiting);
        Ok(key)
    }

    /// An event of a waiting call waits, and may be what it waits for.
    pub(super) fn defer(
        &mut self,
        key: u64,
        event: Kept,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        let ticket = self.arrive();
        self.count(Change::Deferred);
        self.observer.waits(ticket, false);
        let mut draft = Draft {
            this: Fate::Wait(ticket),
            ..Draft::default()
        };
        let Some(waiting) = self.waiting.get_mut(&key) else {
            return Ok(draft);
        };
        self.held += event.len();
        waiting.events.push(Deferred {
            ticket,
            number,
            event,
        });
        if waiting.missing().is_none() {
            match self.repetition(key) {
                Repetition::Yes(first) => self.discard(key, first, &mut draft.steps),
                Repetition::No => self.release(key, &mut draft.steps)?,
                Repetition::Undecided => {}
            }
        }
        let waits = self.waiting.values().map(|waiting| waiting.events.len());
        if waits.sum::<usize>() > MAX_WAITING || self.held > self.policy.max_held_bytes {
            self.release_all(&mut draft.steps)?;
        }
        Ok(draft)
    }

    /// The announcement of a call that already waits.
    pub(super) fn announced_late(
        &mut self,
        key: u64,
        index: Option<u64>,
        item: &Item,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            let is_first = !waiting.by_server;
            let payload = waiting.payload;
            waiting.by_server = true;
            waiting.read(item);
            if item.payload.empty && !is_first {
                waiting.payload = payload;
            }
        }
        let json = item.json.to_vec();
        self.defer(key, Kept::Announced { index, json }, number)
    }

    /// The close of a call that waits.
    pub(super) fn close_waiting(
        &mut self,
        key: u64,
        index: Option<u64>,
        item: &Item,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            waiting.is_closed = true;
            waiting.read(item);
        }
        let json = item.json.to_vec();
        self.defer(key, Kept::Closed { index, json }, number)
    }

    /// The announced calls that one of this identity may repeat.
    pub(super) fn repeatable_by(&self, identity: &Identity) -> Vec<usize> {
        let Some(call_id) = identity.call_id.as_deref() else {
            return Vec::new();
        };
        let owners = self.call_ids.owners(call_id).iter().copied();
        owners
            .filter(|&at| {
                self.items.get(at).is_some_and(|first| {
                    let first = &first.identity;
                    let same_name = identity.name.is_none() || first.name == identity.name;
                    first.kind == identity.kind && same_name
                })
            })
            .collect()
    }

    /// Whether a waiting call repeats another.
    fn repetition(&self, key: u64) -> Repetition {
        let Some(waiting) = self.waiting.get(&key) else {
            return Repetition::No;
        };
        let candidates = self.repeatable_by(&waiting.seen);
        let candidates = || {
            candidates
                .iter()
                .filter_map(|&at| Some((at, self.items.get(at)?)))
        };
        if waiting.is_closed {
            let says = waiting.says();
            let mut same = candidates().filter(|(_, first)| first.has_said(&says));
            return same
                .next()
                .map_or(Repetition::No, |(at, _)| Repetition::Yes(at));
        }
        let said = waiting.said();
        if candidates().any(|(_, first)| first.may_have_said(&said)) {
            Repetition::Undecided
        } else {
            Repetition::No
        }
    }

    /// A call that repeats the one at `first` is not sent; its ids lead to that.
    fn discard(&mut self, key: u64, first: usize, steps: &mut Vec<Planned>) {
        let Some(waiting) = self.waiting.remove(&key) else {
            return;
        };
        for deferred in waiting.events {
            self.held = self.held.saturating_sub(deferred.event.len());
            self.observer.waits(deferred.ticket, true);
            let item = matches!(deferred.event, Kept::Scoped(_));
            self.observer.dropped((!item).then_some(&waiting.seen));
            self.count(Change::Dropped);
            steps.push(Planned::Discard(deferred.ticket));
        }
        self.observer.returns();
        self.answer_to(first, &waiting.seen);
        self.replace(key, first);
    }

    /// Announces a call that has waited, and sends what has waited with it.
    pub(super) fn release(&mut self, key: u64, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let Some(mut waiting) = self.waiting.remove(&key) else {
            return Ok(());
        };
        // A call that was announced without what it needs keeps its place in the order.
        let at = self.insert_item(waiting.server_index, &waiting.seen)?;
        if let Some(item) = self.items.get_mut(at) {
            item.arrival = key;
        }
        self.replace(key, at);
        let first = waiting
            .events
            .iter()
            .position(|deferred| matches!(deferred.event, Kept::Announced { .. }));
        match first {
            Some(first) => {
                let announcement = waiting.events.remove(first);
                self.release_event(at, announcement, steps)?;
            }
            None if waiting.is_closed && waiting.events.len() == 1 => {
                if let Some(Kept::Closed { json, .. }) =
                    waiting.events.first().map(|deferred| &deferred.event)
                    && let Ok(item) = Item::read(json)
                {
                    self.insert_whole(at, &item, steps)?;
                }
            }
            None => self.insert_announcement(at, steps)?,
        }
        for deferred in waiting.events {
            self.release_event(at, deferred, steps)?;
        }
        self.observer.returns();
        Ok(())
    }

    /// Sends an event that has waited, as one of the item at `at`.
    fn release_event(
        &mut self,
        at: usize,
        deferred: Deferred,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        self.held = self.held.saturating_sub(deferred.event.len());
        self.observer.waits(deferred.ticket, true);
        let mut changes = Changes::default();
        let mut is_sent = true;
        let is_open = self.items.get(at).is_some_and(|item| item.is_open());
        match &deferred.event {
            Kept::Announced { index, json } => {
                let item = Item::read(json);
                match item {
                    Ok(item) if !self.is_announced(at) => {
                        if let Some(missing) = missing(&item.identity) {
                            self.observer.unusable(at, missing);
                        }
                        self.announce_as(at, *index, &item, &mut changes)?;
                    }
                    _ => {
                        self.observer.dropped(None);
                        is_sent = false;
                    }
                }
            }
            Kept::Scoped(event) => {
                let event = event.event();
                match event.scope() {
                    Some(scope) if is_open => {
                        self.send_scoped(at, &event, &scope, steps, &mut changes);
                    }
                    _ => is_sent = false,
                }
            }
            Kept::Closed { index, json } => match Item::read(json) {
                Ok(item) if is_open => self.close(at, *index, &item, &mut changes)?,
                _ => is_sent = false,
            },
        }
        steps.push(if is_sent {
            Planned::Release {
                ticket: deferred.ticket,
                number: deferred.number,
                changes,
            }
        } else {
            self.count(Change::Dropped);
            Planned::Discard(deferred.ticket)
        });
        Ok(())
    }

    fn is_announced(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|item| item.by_server)
    }

    /// The limit is reached: all that waits is sent, as it came.
    fn release_all(&mut self, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let keys: Vec<u64> = self.waiting.keys().copied().collect();
        keys.into_iter()
            .try_for_each(|key| self.release(key, steps))
    }

    /// Nothing more will show what the waiting calls are: a repetition is discarded, and what
    /// says something is released. With `named_only`, calls that still lack a name go on waiting.
    pub(super) fn settle_waiting(
        &mut self,
        named_only: bool,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        let keys: Vec<u64> = self.waiting.keys().copied().collect();
        for key in keys {
            let is_named = self
                .waiting
                .get(&key)
                .is_some_and(|one| one.missing().is_none());
            if is_named || !named_only {
                match self.repetition_at_end(key) {
                    Some(first) => self.discard(key, first, steps),
                    None => self.release(key, steps)?,
                }
            }
        }
        Ok(())
    }

    /// The call that a waiting one repeats, when nothing more of it can come.
    fn repetition_at_end(&self, key: u64) -> Option<usize> {
        let waiting = self.waiting.get(&key)?;
        match self.repetition(key) {
            Repetition::Yes(first) => Some(first),
            Repetition::No => None,
            Repetition::Undecided => {
                let said = waiting.said();
                let mut candidates = self.repeatable_by(&waiting.seen).into_iter();
                candidates.find(|&at| {
                    let first = self.items.get(at);
                    first.is_some_and(|first| first.begins_with(&said))
                })
            }
        }
    }

    /// What was placed as waiting is an item now.
    fn replace(&mut self, key: u64, at: usize) {
        for there in self.by_index.values_mut() {
            let is_there = there.contains(&Ref::Item(at));
            there.retain(|found| *found != Ref::Waiting(key) || !is_there);
            for found in there {
                if *found == Ref::Waiting(key) {
                    *found = Ref::Item(at);
                }
            }
        }
    }
}
