//! Which item an event is about.
//!
//! An event names its item by `item_id` and `output_index`; a whole item names itself by `call_id`
//! and `id`, too. Servers get each of them wrong, so an item must also be of a type that fits, and
//! one that is still open comes before one that is closed.

use crate::contract::catalogue::is_call;
use crate::contract::engine::{Engine, Ref};
use crate::contract::identity::{Field, Identity};
use crate::contract::item::Item;
use crate::contract::item_state::{ItemState, Life};
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;
use crate::contract::waiting::Waiting;

/// What an event names its item by.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Names<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) call_id: Option<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn of_item(index: Option<u64>, identity: &'a Identity) -> Self {
        Self {
            index,
            id: identity.id.as_deref(),
            call_id: identity.call_id.as_deref(),
        }
    }
}

impl<O: Observer> Engine<O> {
    /// The item that an event is about; one that is open or waits where there is any.
    ///
    /// Where several items have its id, it is one of those at its index, if there are any.
    pub(super) fn find(&self, names: Names, fits: impl Fn(&str) -> bool) -> Option<Ref> {
        if let Some(closed) = self.closed_of_several(names, &fits) {
            return Some(closed);
        }
        let is_live = |found| self.is_live(found) && self.is_of(found, &fits);
        self.find_named(names, is_live)
            .or_else(|| self.last_live(names, is_live))
            .or_else(|| self.find_named(names, |found| self.is_of(found, &fits)))
    }

    /// The item that a whole item is about, which is closed.
    ///
    /// One that names a closed item is never that of an open one which has another name of its
    /// own: it closes the first once more.
    pub(super) fn find_closed(&self, names: Names, fits: impl Fn(&str) -> bool) -> Option<Ref> {
        let Some((field, name)) = self.names_closed(names, &fits) else {
            return self.find(names, fits);
        };
        let may = |found| {
            let own = self.called(found).and_then(|called| called.get(field));
            self.is_live(found) && self.is_of(found, &fits) && own.is_none_or(|own| own == name)
        };
        self.find_named(names, may)
            .or_else(|| self.last_live(names, may))
            .or_else(|| self.find_named(names, |found| self.is_of(found, &fits)))
    }

    /// The closed item that has the id and the index of an event, where another item with that id
    /// is open elsewhere.
    fn closed_of_several(&self, names: Names, fits: &impl Fn(&str) -> bool) -> Option<Ref> {
        let id = names.id.filter(|id| self.ids.owners(id).len() > 1)?;
        let there = self.by_index.get(&names.index?)?;
        if names.call_id.is_some() {
            return None;
        }
        let here = there.iter().rev().copied().filter(|&found| {
            let called = self.called(found).and_then(|called| called.get(Field::Id));
            called == Some(id) && self.is_of(found, fits)
        });
        let mut here = here.peekable();
        let newest = here.peek().copied();
        here.all(|found| !self.is_live(found)).then_some(newest?)
    }

    /// What an event names closed items by, where those that were called so all are closed.
    fn names_closed<'a>(
        &self,
        names: Names<'a>,
        fits: &impl Fn(&str) -> bool,
    ) -> Option<(Field, &'a str)> {
        let by_name = [
            (Field::CallId, names.call_id, &self.call_ids),
            (Field::Id, names.id, &self.ids),
        ];
        for (field, name, registry) in by_name {
            let Some(name) = name else { continue };
            let is_called = |found: &Ref| {
                let called = self.called(*found).and_then(|called| called.get(field));
                called == Some(name) && self.is_of(*found, fits)
            };
            let items = registry.owners(name).iter().map(|&at| Ref::Item(at));
            let waiting = self.waiting.keys().map(|&key| Ref::Waiting(key));
            let mut called = items.chain(waiting).filter(is_called).peekable();
            if called.peek().is_some() {
                return called
                    .all(|found| !self.is_live(found))
                    .then_some((field, name));
            }
        }
        None
    }

    /// What the server has called an item first.
    fn called(&self, found: Ref) -> Option<&Identity> {
        match found {
            Ref::Item(at) => self.items.get(at).map(|item| &item.server),
            Ref::Waiting(key) => self.waiting.get(&key).map(|waiting| &waiting.seen),
        }
    }

    /// The item that an event names and that fits: by `call_id`, else by `id`, else by index.
    ///
    /// Of several it is the newest that the server placed at the index, or else the newest.
    pub(super) fn find_named(&self, names: Names, fits: impl Fn(Ref) -> bool) -> Option<Ref> {
        let choose = |items: &[usize], is_named: &dyn Fn(&Waiting) -> bool| {
            let waiting = self.waiting.iter().rev();
            let waiting = waiting.filter(|(_, waiting)| is_named(waiting));
            let items = items.iter().rev().map(|&at| Ref::Item(at));
            self.choose(
                waiting.map(|(&key, _)| Ref::Waiting(key)).chain(items),
                names.index,
                &fits,
            )
        };
        let by_call_id = |call_id| {
            // Under a call_id that is taken, a call may be one of its own.
            let is_named = |waiting: &Waiting| waiting.seen.call_id.as_deref() == Some(call_id);
            choose(self.call_ids.owners(call_id), &is_named)
        };
        let by_id = |id| {
            let mut owners = self.ids.owners(id);
            if owners.is_empty() {
                // Some servers name a call by its call_id where its id belongs.
                owners = self.call_ids.owners(id);
            }
            let is_named = |waiting: &Waiting| {
                let seen = &waiting.seen;
                seen.id.as_deref() == Some(id)
                    || (seen.id.is_none() && seen.call_id.as_deref() == Some(id))
            };
            choose(owners, &is_named)
        };
        let by_index = |index| {
            let there = self.by_index.get(&index)?;
            self.choose(there.iter().rev().copied(), Some(index), &fits)
        };
        names
            .call_id
            .and_then(by_call_id)
            .or_else(|| names.id.and_then(by_id))
            .or_else(|| names.index.and_then(by_index))
    }

    /// Of the items that fit, newest first, the first that the server placed at `index`, or else
    /// the first.
    fn choose(
        &self,
        mut items: impl Iterator<Item = Ref>,
        index: Option<u64>,
        fits: &impl Fn(Ref) -> bool,
    ) -> Option<Ref> {
        let newest = items.find(|&found| fits(found))?;
        let is_here = |found| index.is_some() && self.server_index(found) == index;
        if index.is_none() || is_here(newest) {
            return Some(newest);
        }
        let here = items.find(|&found| is_here(found) && fits(found));
        Some(here.unwrap_or(newest))
    }

    /// The newest item that is not closed, of those at `index` where there is one.
    ///
    /// Several items may be open at one index, where a server counts carelessly. What has no index
    /// may be at any, unless it has another id.
    fn last_live(&self, names: Names, fits: impl Fn(Ref) -> bool) -> Option<Ref> {
        let here = |other: Option<u64>, called: &Identity| match (names.index, other) {
            (Some(index), Some(other)) => index == other,
            (Some(_), None) => match (names.id, called.id.as_deref()) {
                (Some(id), Some(own)) => id == own,
                _ => true,
            },
            (None, _) => true,
        };
        let mut waiting = self.waiting.iter().rev();
        let waiting = waiting.find(|(key, waiting)| {
            here(waiting.server_index, &waiting.seen) && fits(Ref::Waiting(**key))
        });
        let mut open = self.open.iter().rev();
        let item = open.find_map(|&at| {
            let item = self.items.get(at)?;
            (here(item.server_index, &item.server) && fits(Ref::Item(at))).then_some((at, item))
        });
        match (waiting, item) {
            (Some((&key, _)), Some((_, item))) if item.arrival < key => Some(Ref::Waiting(key)),
            (_, Some((at, _))) => Some(Ref::Item(at)),
            (waiting, None) => waiting.map(|(&key, _)| Ref::Waiting(key)),
        }
    }

    /// Whether an item is not closed.
    pub(super) fn is_live(&self, found: Ref) -> bool {
        match found {
            Ref::Item(at) => self.items.get(at).is_some_and(|item| !item.is_closed()),
            Ref::Waiting(key) => self.waiting.get(&key).is_some_and(|call| !call.is_closed),
        }
    }

    /// Whether an item is of a type that fits; an unseen one may be of any.
    pub(super) fn is_of(&self, found: Ref, fits: impl Fn(&str) -> bool) -> bool {
        let kind = self.kind_of(found);
        kind.is_some_and(|kind| kind.is_empty() || fits(kind))
    }

    fn server_index(&self, found: Ref) -> Option<u64> {
        match found {
            Ref::Item(at) => self.items.get(at)?.server_index,
            Ref::Waiting(key) => self.waiting.get(&key)?.server_index,
        }
    }

    /// The type of an item; that of an unseen one is empty.
    fn kind_of(&self, found: Ref) -> Option<&str> {
        match found {
            Ref::Item(index) => self.items.get(index).map(|item| &*item.identity.kind),
            Ref::Waiting(key) => self.waiting.get(&key).map(|waiting| &*waiting.seen.kind),
        }
    }

    /// Whether items may have been announced that the engine does not know of.
    ///
    /// The first announcement that is seen tells how many there were before it.
    pub(super) fn is_uncounted(&self) -> bool {
        self.is_joined && !self.is_counted
    }

    /// Whether what is not known may have been announced before the stream was joined.
    pub(super) fn may_be_unseen(&self) -> bool {
        let has_unseen = || self.items.iter().any(ItemState::is_unseen);
        self.is_joined && (!self.is_counted || has_unseen())
    }

    /// Makes places for the items of a joined stream that were announced before `end`.
    pub(super) fn reach(&mut self, end: u64) -> Result<(), GaveUp> {
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        if end > self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        for index in self.items.len()..end {
            let server_index = u64::try_from(index).ok();
            if let Some(server_index) = server_index {
                let there = self.by_index.entry(server_index).or_default();
                there.push(Ref::Item(index));
            }
            let arrival = self.arrive();
            self.items.push(ItemState::unseen(server_index, arrival));
        }
        Ok(())
    }

    /// The unseen item at `index` of a joined stream shows what it is.
    ///
    /// An id that another item has is not taken for its own (C11).
    pub(super) fn show(&mut self, index: usize, seen: &Identity) {
        let Some(item) = self.items.get_mut(index).filter(|item| item.is_unseen()) else {
            return;
        };
        let mut seen = seen.clone();
        if item.identity.id.is_none() {
            seen.id = seen.id.filter(|id| !self.ids.is_taken(id));
            if let Some(id) = &seen.id {
                self.ids.take(Some(id.clone()), |_| id.clone());
            }
        }
        item.identity.kind.clone_from(&seen.kind);
        item.identity.fill_from(&seen);
        item.server = item.identity.clone();
        if !seen.kind.is_empty() {
            item.life = Life::Open;
            self.open.insert(index);
        }
        self.answer_to(index, &seen);
        self.observer.shows(index, &seen);
    }

    /// The server has called the item at `index` so.
    pub(super) fn answer_to(&mut self, index: usize, seen: &Identity) {
        if let Some(id) = &seen.id {
            self.ids.add(id, index);
        }
        if let Some(call_id) = seen.call_id.as_ref().filter(|_| is_call(&seen.kind)) {
            self.call_ids.add(call_id, index);
        }
    }

    /// Whether an announcement repeats that of an item which is still open.
    ///
    /// Its index must be the same. Of a call, so must its `call_id`.
    pub(super) fn is_announced_again(&self, found: Ref, index: Option<u64>, item: &Item) -> bool {
        let again = &item.identity;
        let (first, server_index) = match found {
            Ref::Item(at) => match self.items.get(at).filter(|item| item.is_open()) {
                Some(item) => (&item.server, item.server_index),
                None => return false,
            },
            Ref::Waiting(key) => match self.waiting.get(&key) {
                Some(waiting) => (&waiting.seen, waiting.server_index),
                None => return false,
            },
        };
        let differs = |one: &Option<String>, other: &Option<String>| {
            one.is_some() && other.is_some() && one != other
        };
        first.kind == again.kind
            && first.id == again.id
            && (again.id.is_some() || again.call_id.is_some() && first.call_id == again.call_id)
            && (index.is_none() || server_index.is_none() || index == server_index)
            && !differs(&first.call_id, &again.call_id)
            && !differs(&first.name, &again.name)
    }
}
