//! Calls that have waited: sent, or not sent since they repeat another (C11, C12).

use crate::contract::engine::{Engine, Planned, Ref};
use crate::contract::event::Changes;
use crate::contract::item::Item;
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::report::Change;
use crate::contract::waiting::{Deferred, Kept, Waiting, missing};

impl<O: Observer> Engine<O> {
    /// A call that repeats the one at `first` is not sent; its ids lead to that.
    pub(super) fn discard(&mut self, key: u64, first: usize, steps: &mut Vec<Planned>) {
        let Some(waiting) = self.take_waiting(key) else {
            return;
        };
        for deferred in waiting.events {
            self.observer.waits(deferred.ticket, true);
            let item = matches!(deferred.event, Kept::Scoped(_));
            self.observer.dropped((!item).then_some(&waiting.seen));
            self.count(Change::Dropped);
            steps.push(Planned::Discard(deferred.ticket));
        }
        self.observer.returns();
        self.answer_to(first, &waiting.seen);
        self.replace(key, waiting.server_index, first);
    }

    /// Sends what waits of a call that the server has not announced, and announces nothing (C13).
    ///
    /// It has a place of its own, so that nobody takes it for what another call says.
    pub(super) fn release_unannounced(
        &mut self,
        key: u64,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        let Some(waiting) = self.take_waiting(key) else {
            return Ok(());
        };
        let at = self.insert_item(waiting.server_index, &waiting.seen)?;
        self.replace(key, waiting.server_index, at);
        for deferred in &waiting.events {
            self.release_event(at, deferred, steps)?;
        }
        self.observer.returns();
        Ok(())
    }

    /// Announces a call that has waited, and sends what has waited with it.
    pub(super) fn release(&mut self, key: u64, steps: &mut Vec<Planned>) -> Result<(), GaveUp> {
        let Some(mut waiting) = self.take_waiting(key) else {
            return Ok(());
        };
        // A call that was announced without what it needs keeps its place in the order.
        let at = self.insert_item(waiting.server_index, &waiting.seen)?;
        if let Some(item) = self.items.get_mut(at) {
            item.arrival = key;
        }
        self.replace(key, waiting.server_index, at);
        let never = waiting.missing();
        let first = waiting
            .events
            .iter()
            .position(|deferred| matches!(deferred.event, Kept::Announced { .. }));
        match (first, waiting.events.first().map(|first| &first.event)) {
            (Some(first), _) => {
                if first > 0 {
                    self.observer.unannounced(at, &waiting.seen);
                }
                let announcement = waiting.events.remove(first);
                if let Kept::Announced { json, .. } = &announcement.event
                    && let Ok(item) = Item::read(json)
                    && let Some(missing) = missing(&item.identity)
                {
                    // What nobody names cannot be put right, only moved behind the rest.
                    let is_mended = never.is_none() || announcement.ticket < self.last_sent;
                    self.observer.waits(announcement.ticket, true);
                    self.observer
                        .unusable(at, &waiting.seen, missing, is_mended);
                }
                self.release_event(at, &announcement, steps)?;
            }
            (None, Some(Kept::Closed { json, .. })) if let Ok(item) = Item::read(json) => {
                self.insert_whole(at, &item, steps)?;
            }
            (None, _) => self.insert_announcement(at, steps)?,
        }
        for deferred in &waiting.events {
            self.release_event(at, deferred, steps)?;
        }
        self.observer.returns();
        Ok(())
    }

    /// Sends an event that has waited, as one of the item at `at`.
    fn release_event(
        &mut self,
        at: usize,
        deferred: &Deferred,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        self.observer.waits(deferred.ticket, true);
        let mut changes = Changes::default();
        let mut is_sent = !deferred.is_replaced;
        let is_open = self.open.contains(&at);
        match &deferred.event {
            _ if deferred.is_replaced => {}
            Kept::Announced { index, json } => {
                let item = Item::read(json);
                match item {
                    Ok(item) if !self.is_announced(at) => {
                        self.announce_as(at, *index, &item, &mut changes)?;
                    }
                    again => {
                        if let Ok(again) = again
                            && is_open
                            && self.adds_nothing(at, &again)
                        {
                            self.announced_again(at, *index, &again)?;
                        }
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
        if !is_sent {
            self.count(Change::Dropped);
            steps.push(Planned::Discard(deferred.ticket));
            return Ok(());
        }
        if deferred.ticket < self.last_sent {
            self.count(Change::Deferred);
        }
        self.last_sent = self.last_sent.max(deferred.ticket);
        steps.push(Planned::Release {
            ticket: deferred.ticket,
            number: deferred.number,
            changes,
        });
        Ok(())
    }

    /// A call does not wait any more, nor do its events.
    fn take_waiting(&mut self, key: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&key)?;
        let (events, bytes) = waiting.counted;
        self.deferred = self.deferred.saturating_sub(events);
        self.held = self.held.saturating_sub(bytes);
        Some(waiting)
    }

    fn is_announced(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|item| item.by_server)
    }

    /// What was placed at `index` as waiting is an item now.
    fn replace(&mut self, key: u64, index: Option<u64>, at: usize) {
        if let Some(there) = index.and_then(|index| self.by_index.get_mut(&index)) {
            there.retain(|found| *found != Ref::Waiting(key));
        }
        self.place(Ref::Item(at), index);
    }
}
