//! Announcements: a new item, a repetition, or a call that must wait.

use crate::contract::catalogue::{is_call, label};
use crate::contract::engine::{Draft, Engine, Phase, Planned, Ref};
use crate::contract::event::{Changes, Target};
use crate::contract::identity::{Field, Identity};
use crate::contract::ids;
use crate::contract::inserted::ItemEvents;
use crate::contract::item::Item;
use crate::contract::item_state::ItemState;
use crate::contract::lookup::Names;
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::report::{Change, Told};
use crate::contract::waiting::{Kept, Waiting, missing};
use crate::json::edit::corrected;

impl<O: Observer> Engine<O> {
    /// `response.output_item.added`.
    pub(super) fn announced(
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
        let names = Names::of_item(index, identity);
        let found = self.find_named(names, |found| {
            self.may_be_announced_again(found, item)
                && self.is_of(found, |kind| kind == identity.kind)
        });
        match found.filter(|found| self.is_announced_again(*found, index, item)) {
            Some(Ref::Waiting(key)) => return self.announced_late(key, index, item, number),
            Some(Ref::Item(at)) if self.adds_nothing(at, item) => {
                self.announced_again(at, index, item)?;
                self.observer.dropped(Some(identity));
                return Ok(self.dropped());
            }
            _ => {}
        }
        if self.is_uncounted() {
            let Some(place) = index else {
                return Ok(Draft::default());
            };
            self.reach(place)?;
            self.is_counted = true;
            if let Some(at) = self.unseen_at(index) {
                self.show(at, identity);
                self.name(at);
                let mut changes = Changes::default();
                self.send_item(at, index, item, Told::Added, &mut changes)?;
                return Ok(Draft::send(changes));
            }
        }
        if self.must_wait(identity) {
            let mut waiting = Waiting::new(identity.clone(), index);
            waiting.by_server = true;
            waiting.read(item);
            let key = self.wait(waiting)?;
            let json = item.json.to_vec();
            return self.defer(key, Kept::Announced { index, json }, number);
        }
        let at = self.insert_item(index, identity)?;
        let mut changes = Changes::default();
        self.announce_as(at, index, item, &mut changes)?;
        Ok(Draft::send(changes))
    }

    /// Whether an announcement may be a further one of an item.
    ///
    /// A call that is closed and waits still takes in what goes on with it, but one that is open
    /// does not take in other arguments: they are those of another call.
    fn may_be_announced_again(&self, found: Ref, again: &Item) -> bool {
        let Ref::Waiting(key) = found else {
            return self.is_live(found);
        };
        self.waiting.get(&key).is_some_and(|waiting| {
            if waiting.is_closed {
                again.text().is_some_and(|text| waiting.goes_on_with(&text))
            } else {
                !waiting.by_server || !waiting.says_otherwise(again)
            }
        })
    }

    /// Whether a call cannot be announced yet (C12).
    ///
    /// Nothing is announced in a joined stream, and nothing is put right after a failure.
    fn must_wait(&self, identity: &Identity) -> bool {
        if self.is_joined || self.phase == Phase::Failed {
            return false;
        }
        missing(identity).is_some() || self.repeatable_by(identity).next().is_some()
    }

    /// Whether an announcement of the open item at `at` says nothing that it has not said, or
    /// goes on with it.
    pub(super) fn adds_nothing(&self, at: usize, again: &Item) -> bool {
        let Some(item) = self.items.get(at) else {
            return true;
        };
        if item.has_said(&again.payload) {
            return true;
        }
        // What it adds to what was said reaches the client with the close.
        match again.text() {
            Some(text) => item.said.is_known() && text.starts_with(&item.said.texts()),
            None => !item.said.says_anything() && item.opening.empty,
        }
    }

    /// An open item is announced a second time.
    pub(super) fn announced_again(
        &mut self,
        at: usize,
        index: Option<u64>,
        again: &Item,
    ) -> Result<(), GaveUp> {
        self.learn(at, &again.identity);
        let adds = self
            .items
            .get(at)
            .is_some_and(|item| !item.has_said(&again.payload));
        if adds {
            let corrections = self.corrections(at, &again.identity);
            let json = corrected(again.json, &corrections);
            self.keep(at, json.unwrap_or_else(|| again.json.to_vec()))?;
        }
        if let Some(item) = self.items.get_mut(at) {
            item.server.fill_from(&again.identity);
            item.is_repeated = item.by_server;
            item.by_server = true;
            if adds {
                item.opening = again.payload;
                if let Some(text) = again.text() {
                    item.said.restart(&text);
                }
            }
        }
        self.hold(at);
        if self.by_index.len() > self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        self.place(Ref::Item(at), index);
        Ok(())
    }

    /// The announcement of an item that was inserted at `at` is sent.
    pub(super) fn announce_as(
        &mut self,
        at: usize,
        index: Option<u64>,
        announced: &Item,
        changes: &mut Changes,
    ) -> Result<(), GaveUp> {
        if let Some(item) = self.items.get_mut(at) {
            item.by_server = true;
            item.opening = announced.payload;
        }
        self.send_item(at, index, announced, Told::Added, changes)
    }

    /// Sends a whole item, in its announcement or close, under its identity.
    pub(super) fn send_item(
        &mut self,
        at: usize,
        index: Option<u64>,
        said: &Item,
        told: Told,
        changes: &mut Changes,
    ) -> Result<(), GaveUp> {
        self.move_to(at, index, changes);
        if let Some(item) = self.items.get(at) {
            let wanted = &item.identity;
            self.observer.described(at, index, &said.identity, wanted);
        }
        let corrections = self.correct(at, &said.identity, told);
        let json = corrected(said.json, &corrections);
        self.keep(at, json.unwrap_or_else(|| said.json.to_vec()))?;
        changes.correct(Target::Item, corrections);
        Ok(())
    }

    /// The corrections that a whole item needs, counted.
    pub(super) fn correct(
        &mut self,
        at: usize,
        carried: &Identity,
        told: Told,
    ) -> Vec<(Field, String)> {
        let corrections = self.corrections(at, carried);
        if !corrections.is_empty() {
            self.count(Change::IdentityKept);
        }
        let kind = self.items.get(at).map(|item| &*item.identity.kind);
        let label = label(kind.unwrap_or_default());
        for (field, _) in &corrections {
            self.report.count_field(told, *field);
            *self.repaired.entry((told, *field, label)).or_default() += 1;
            self.last.repaired.push((told, *field, label));
        }
        corrections
    }

    /// An event goes to the item at `at`, wherever the server placed it.
    pub(super) fn move_to(&mut self, at: usize, index: Option<u64>, changes: &mut Changes) {
        let place = u64::try_from(at).unwrap_or(u64::MAX);
        if index == Some(place) {
            return;
        }
        self.count(Change::IndexMoved);
        if let Some(item) = self.items.get(at) {
            self.observer.misplaced(at, index, &item.identity);
        }
        changes.set_number("output_index", place);
    }

    /// Gives an item the next index, under an id that no other item of the response has.
    pub(super) fn insert_item(
        &mut self,
        index: Option<u64>,
        server: &Identity,
    ) -> Result<usize, GaveUp> {
        if self.items.len() >= self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        self.check(server)?;
        let at = self.items.len();
        let mut identity = server.clone();
        let wanted = server.id.as_ref().or(server.call_id.as_ref());
        let wanted = wanted.map(|id| {
            if self.policy.conventional_ids {
                ids::conventional(&server.kind, id)
            } else {
                id.clone()
            }
        });
        identity.id = Some(self.usable_id(at, &server.kind, wanted));
        if is_call(&server.kind) && server.call_id.is_some() {
            identity.call_id = Some(self.usable_call_id(at, server.call_id.clone()));
        }
        let arrival = self.arrive();
        let mut item = ItemState::new(server.clone(), index, arrival);
        self.answer_to(at, server);
        self.answer_to(at, &identity);
        item.identity = identity;
        self.items.push(item);
        self.open.insert(at);
        self.place(Ref::Item(at), index);
        Ok(at)
    }

    /// Inserts the announcement of an item that the server has not announced.
    pub(super) fn insert_announcement(
        &mut self,
        at: usize,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        self.count(Change::AnnouncedLate);
        let Some(item) = self.items.get(at) else {
            return Ok(());
        };
        self.observer.unannounced(at, &item.server);
        let events = self.events_of(at, item);
        steps.push(Planned::Insert(events.announce()));
        let blank = events.blank().into_bytes();
        self.keep(at, blank)
    }

    /// Makes events of an item.
    pub(super) fn events_of<'a>(&self, at: usize, item: &'a ItemState) -> ItemEvents<'a> {
        ItemEvents {
            index: at,
            identity: &item.identity,
            reasoning_parts: self.policy.reasoning_parts,
        }
    }

    /// Fills in what the item at `at` was announced without (C1).
    pub(super) fn learn(&mut self, at: usize, later: &Identity) {
        let Some(item) = self.items.get(at) else {
            return;
        };
        let mut filled = later.clone();
        let is_new = is_call(&item.identity.kind) && item.identity.call_id.is_none();
        if is_new && later.call_id.is_some() {
            filled.call_id = Some(self.usable_call_id(at, later.call_id.clone()));
        }
        self.answer_to(at, later);
        if let Some(item) = self.items.get_mut(at) {
            item.identity.fill_from(&filled);
        }
    }

    /// Gives the item at `at` an id if it has none.
    fn name(&mut self, at: usize) {
        let unnamed = self.items.get(at).map(|item| &item.identity);
        let unnamed = unnamed.filter(|identity| identity.id.is_none());
        let Some(kind) = unnamed.map(|identity| identity.kind.clone()) else {
            return;
        };
        let id = self.usable_id(at, &kind, None);
        if let Some(item) = self.items.get_mut(at) {
            item.identity.id = Some(id);
        }
    }

    /// The item at `index` that is still unknown, in a joined stream.
    pub(super) fn unseen_at(&self, index: Option<u64>) -> Option<usize> {
        let there = self.by_index.get(&index?)?;
        there.iter().find_map(|found| match *found {
            Ref::Item(at) if self.items.get(at)?.is_unseen() => Some(at),
            _ => None,
        })
    }

    /// The server has placed an item at `index`.
    pub(super) fn place(&mut self, item: Ref, index: Option<u64>) {
        if let Some(index) = index {
            let there = self.by_index.entry(index).or_default();
            if !there.contains(&item) {
                there.push(item);
            }
        }
    }

    fn usable_id(&mut self, at: usize, kind: &str, wanted: Option<String>) -> String {
        let (id, minted) = self.ids.take(wanted, |attempt| {
            ids::item_id(kind, &self.response_id, at, attempt)
        });
        if minted {
            self.count(Change::Minted);
        }
        id
    }

    pub(super) fn usable_call_id(&mut self, at: usize, wanted: Option<String>) -> String {
        let (id, minted) = self.call_ids.take(wanted, |attempt| {
            ids::call_id(&self.response_id, at, attempt)
        });
        if minted {
            self.count(Change::Minted);
        }
        id
    }
}
