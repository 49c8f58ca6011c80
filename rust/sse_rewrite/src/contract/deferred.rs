//! Calls that wait: for their name, for a `call_id`, or until their payload shows whether they
//! repeat another call (C11, C12).

use crate::contract::engine::{Draft, Engine, MAX_WAITING, Planned, Ref};
use crate::contract::event::Fate;
use crate::contract::item::Item;
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::repetition::Repetition;
use crate::contract::waiting::{Deferred, Kept, Waiting};

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
        self.observer.waits(ticket, false);
        let mut draft = Draft {
            this: Fate::Wait(ticket),
            ..Draft::default()
        };
        let Some(waiting) = self.waiting.get_mut(&key) else {
            return Ok(draft);
        };
        self.held += event.len();
        self.deferred += 1;
        let (events, bytes) = waiting.counted;
        waiting.counted = (events + 1, bytes + event.len());
        waiting.events.push(Deferred {
            ticket,
            number,
            event,
            is_replaced: false,
        });
        if waiting.missing().is_none() {
            match self.repetition(key) {
                Repetition::Yes(first) => self.discard(key, first, &mut draft.steps),
                Repetition::No => self.release(key, &mut draft.steps)?,
                Repetition::Undecided => {}
            }
        }
        if self.deferred > MAX_WAITING || self.held > self.policy.max_held_bytes {
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
            waiting.reopen();
            waiting.by_server = true;
            waiting.read(item);
            if item.payload.empty && !is_first {
                waiting.payload = payload;
            }
        }
        let json = item.json.to_vec();
        self.defer(key, Kept::Announced { index, json }, number)
    }

    /// The close of a call that waits, or one that repeats it.
    pub(super) fn close_waiting(
        &mut self,
        key: u64,
        index: Option<u64>,
        item: &Item,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            let says_more = item.text().is_some_and(|text| waiting.goes_on_with(&text));
            if waiting.is_closed && !says_more {
                waiting.seen.fill_from(&item.identity);
            } else {
                waiting.reopen();
                waiting.is_closed = true;
                waiting.read(item);
            }
        }
        let json = item.json.to_vec();
        self.defer(key, Kept::Closed { index, json }, number)
    }

    /// The limit is reached: all that waits is sent, as it came.
    fn release_all(&mut self, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        // Nothing of it is held any more, so that no limit is in the way of sending it.
        for waiting in self.waiting.values_mut() {
            let (events, bytes) = std::mem::take(&mut waiting.counted);
            self.deferred = self.deferred.saturating_sub(events);
            self.held = self.held.saturating_sub(bytes);
        }
        let (named, unnamed) = self.waiting_keys();
        let mut keys = named.into_iter().chain(unnamed);
        keys.try_for_each(|key| self.release(key, steps))
    }

    /// Nothing more comes: a call that repeats another is discarded, and one that says something
    /// is sent. Calls that still lack a name come last.
    pub(super) fn settle_waiting(&mut self, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let (named, unnamed) = self.waiting_keys();
        let mut keys = named.into_iter().chain(unnamed);
        keys.try_for_each(|key| self.settle_one(key, steps))
    }

    /// The same after a failure, or where the stream is cut off: nothing is announced there, so
    /// that what waits of a call that was not is sent without (C13).
    pub(super) fn settle_failed(&mut self, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let (named, unnamed) = self.waiting_keys();
        for key in named.into_iter().chain(unnamed) {
            let waiting = self.waiting.get(&key);
            if waiting.is_some_and(|waiting| !waiting.by_server)
                && self.repetition_at_end(key).is_none()
            {
                self.release_unannounced(key, steps)?;
            } else {
                self.settle_one(key, steps)?;
            }
        }
        Ok(())
    }

    /// The same of calls that have a name.
    pub(super) fn settle_named(&mut self, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let (named, _) = self.waiting_keys();
        let mut keys = named.into_iter();
        keys.try_for_each(|key| self.settle_one(key, steps))
    }

    fn settle_one(&mut self, key: u64, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        match self.repetition_at_end(key) {
            Some(first) => self.discard(key, first, steps),
            None => self.release(key, steps)?,
        }
        Ok(())
    }

    /// The calls that wait and have what a client needs to run them, and those that do not.
    fn waiting_keys(&self) -> (Vec<u64>, Vec<u64>) {
        let waiting = self.waiting.iter();
        let (named, unnamed): (Vec<_>, Vec<_>) =
            waiting.partition(|(_, waiting)| waiting.missing().is_none());
        let keys = |waiting: Vec<(&u64, &Waiting)>| waiting.iter().map(|(key, _)| **key).collect();
        (keys(named), keys(unnamed))
    }
}
