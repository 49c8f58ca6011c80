//! Closes: of an open item, of one that was never announced, and repetitions.

use crate::contract::catalogue::{Role, item_type};
use crate::contract::engine::{Draft, Engine, Phase, Planned, Ref};
use crate::contract::event::{Changes, Fate, Target, Value};
use crate::contract::identity::Identity;
use crate::contract::item::Item;
use crate::contract::lookup::Names;
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::report::{Change, Told};
use crate::contract::waiting::Waiting;
use crate::json::edit;

impl<O: Observer> Engine<O> {
    /// `response.output_item.done`.
    pub(super) fn closed(
        &mut self,
        index: Option<u64>,
        item: Option<&Item>,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        let Some(item) = item else {
            self.observer.dropped(None);
            return Ok(self.dropped());
        };
        let identity = &item.identity;
        self.check(identity)?;
        if let Some(index) = index.filter(|_| self.is_uncounted()) {
            self.reach(index.saturating_add(1))?;
        }
        let names = Names::of_item(index, identity);
        let found = self.find_closed(names, |kind| kind == identity.kind);
        match found {
            Some(Ref::Waiting(key)) if self.is_close_of_waiting(key, item) => {
                return self.close_waiting(key, index, item, number);
            }
            Some(Ref::Item(at)) if self.closes_repetition(at, item) => {
                self.observer.dropped(Some(identity));
                return Ok(self.dropped());
            }
            Some(Ref::Item(at)) if self.items.get(at).is_some_and(|item| !item.is_closed()) => {
                self.show(at, identity);
                let mut changes = Changes::default();
                self.close(at, index, item, &mut changes)?;
                return Ok(Draft::send(changes));
            }
            _ => {}
        }
        // Some servers close reasoning as a message that says nothing.
        let is_denied = !item.carries_anything() && self.named_and_placed(names).is_some();
        let is_repetition = match found {
            Some(Ref::Item(at)) => self.is_closed_again(at, item),
            _ => false,
        };
        if is_denied || is_repetition {
            self.observer.dropped(Some(identity));
            return Ok(self.dropped());
        }
        let is_unknown = self.is_uncounted() || found.is_none() && self.may_be_unseen();
        if is_unknown || self.phase == Phase::Failed {
            return Ok(Draft::default());
        }
        let is_client_call = item_type(&identity.kind).role == Role::ClientCall;
        if is_client_call && !self.is_joined {
            let mut waiting = Waiting::new(identity.clone(), index);
            if let Some(found) = found {
                self.name_after(found, &mut waiting.seen);
            }
            let key = self.wait(waiting)?;
            return self.close_waiting(key, index, item, number);
        }
        let at = self.insert_item(index, identity)?;
        let mut draft = Draft::default();
        self.insert_whole(at, item, &mut draft.steps)?;
        let mut changes = Changes::default();
        self.close(at, index, item, &mut changes)?;
        draft.this = Fate::Send(changes);
        Ok(draft)
    }

    /// Whether a close of the waiting call `key` is its own, or repeats that, or says more.
    fn is_close_of_waiting(&self, key: u64, item: &Item) -> bool {
        let waiting = self.waiting.get(&key);
        waiting.is_some_and(|waiting| {
            let goes_on = || item.text().is_some_and(|text| waiting.goes_on_with(&text));
            !waiting.is_closed || waiting.has_said(&item.payload) || goes_on()
        })
    }

    /// What comes after the close of a call is a call of its own, by the same name.
    pub(super) fn name_after(&self, closed: Ref, seen: &mut Identity) {
        let names = match closed {
            Ref::Item(at) => self
                .items
                .get(at)
                .map(|first| (&first.identity.name, &first.server.call_id)),
            Ref::Waiting(key) => self
                .waiting
                .get(&key)
                .map(|first| (&first.seen.name, &first.seen.call_id)),
        };
        if let Some((name, call_id)) = names {
            seen.name = seen.name.take().or_else(|| name.clone());
            seen.call_id = seen.call_id.take().or_else(|| call_id.clone());
        }
    }

    /// Inserts the announcement and the content of an item that nobody announced.
    pub(super) fn insert_whole(
        &mut self,
        at: usize,
        whole: &Item,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        self.count(Change::AnnouncedLate);
        let Some(item) = self.items.get(at) else {
            return Ok(());
        };
        self.observer.unannounced(at, &item.server);
        let json = edit::corrected(whole.json, &self.corrections(at, &whole.identity));
        let json = json.unwrap_or_else(|| whole.json.to_vec());
        let events = self.events_of(at, item).announce_with_content(&json);
        steps.extend(events.into_iter().map(Planned::Insert));
        self.keep(at, json)
    }

    /// Whether a close that says nothing is that of a repeated announcement, not of the open item
    /// at `at`, which has said something.
    fn closes_repetition(&mut self, at: usize, closed: &Item) -> bool {
        let Some(item) = self.items.get_mut(at).filter(|item| item.is_open()) else {
            return false;
        };
        let is_blank = closed.payload.empty && !closed.payload.encrypted;
        let is_repetition = item.is_repeated && is_blank && item.said.says_anything();
        if is_repetition {
            item.is_repeated = false;
        }
        is_repetition
    }

    /// Whether the item at `at`, which is closed, is closed again with nothing new.
    fn is_closed_again(&self, at: usize, again: &Item) -> bool {
        let Some(item) = self.items.get(at) else {
            return false;
        };
        let (first, other) = (&item.server.call_id, &again.identity.call_id);
        let is_another = first.is_some() && other.is_some() && first != other;
        let is_own = item.identity.call_id == *other;
        (!is_another || is_own) && item.has_said(&again.payload)
    }

    /// Closes the open item at `at`.
    pub(super) fn close(
        &mut self,
        at: usize,
        index: Option<u64>,
        item: &Item,
        changes: &mut Changes,
    ) -> Result<(), GaveUp> {
        self.learn(at, &item.identity);
        let restored = self.lost_content(at, item).map(|content| {
            let json = edit::with_members(item.json, &[("content", &content)]);
            (content, json)
        });
        let closed = restored.as_ref().map(|(_, json)| Item::read(json));
        let closed = match &closed {
            Some(Ok(closed)) => closed,
            _ => item,
        };
        if self.shut(at, closed, O::LISTENS) {
            self.observer.closed_otherwise(at);
        }
        self.send_item(at, index, closed, Told::Done, changes)?;
        if let Some((content, _)) = restored {
            self.count(Change::TextRestored);
            changes.set(Target::Item, "content", Value::Json(content));
        }
        Ok(())
    }

    /// The item at `at` is closed with what `item` says; returns whether that is another text than
    /// it streamed, if anybody listens.
    pub(super) fn shut(&mut self, at: usize, item: &Item, listens: bool) -> bool {
        let Some(open) = self.items.get_mut(at) else {
            return false;
        };
        self.open.remove(&at);
        self.held = self.held.saturating_sub(open.said.counted());
        open.close(item, listens)
    }
}
