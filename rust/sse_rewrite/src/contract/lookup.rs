//! Which item an event is about.
//!
//! An event names its item by `item_id` and `output_index`; a whole item names itself by `call_id`
//! and `id`, too. Servers get each of them wrong, so an item must also be of a type that fits, and
//! one that is still open comes before one that is closed.

use crate::contract::catalogue::is_call;
use crate::contract::engine::{Engine, Ref};
use crate::contract::identity::Identity;
use crate::contract::item::Item;
use crate::contract::item_state::{ItemState, Life};
use crate::contract::observer::Observer;
use crate::contract::policy::GaveUp;

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
    pub(super) fn find(&self, names: Names, fits: impl Fn(&str) -> bool) -> Option<Ref> {
        self.find_live(names, &fits)
            .or_else(|| self.find_closed(names, &fits))
    }

    /// An item that is not closed.
    pub(super) fn find_live(&self, names: Names, fits: &dyn Fn(&str) -> bool) -> Option<Ref> {
        let is_live = |found: &Ref| match *found {
            Ref::Waiting(_) => true,
            Ref::Item(index) => self.items.get(index).is_some_and(|item| !item.is_closed()),
        };
        let all = self.named(names, fits);
        for candidates in all {
            let live: Vec<Ref> = candidates.into_iter().filter(is_live).collect();
            if let Some(found) = self.choose(&live, names.index) {
                return Some(found);
            }
        }
        self.last_live(names.index, fits)
    }

    /// An item that is closed.
    fn find_closed(&self, names: Names, fits: &dyn Fn(&str) -> bool) -> Option<Ref> {
        let all = self.named(names, fits);
        all.into_iter()
            .find_map(|candidates| self.choose(&candidates, names.index))
    }

    /// The items that fit: by `call_id`, by `id`, by index.
    fn named(&self, names: Names, fits: &dyn Fn(&str) -> bool) -> [Vec<Ref>; 3] {
        let fitting = |found: &Ref| {
            let kind = self.kind_of(*found);
            kind.is_some_and(|kind| kind.is_empty() || fits(kind))
        };
        let by_call_id = names.call_id.map_or_else(Vec::new, |call_id| {
            let items = self.call_ids.owners(call_id).iter();
            let items = items.map(|&index| Ref::Item(index));
            let waiting = self.waiting.iter().filter(|(_, waiting)| {
                // Under a call_id that is taken, a call may be one of its own.
                waiting.seen.call_id.as_deref() == Some(call_id)
            });
            items
                .chain(waiting.map(|(&key, _)| Ref::Waiting(key)))
                .filter(fitting)
                .collect()
        });
        let by_id = names.id.map_or_else(Vec::new, |id| {
            let mut owners = self.ids.owners(id);
            if owners.is_empty() {
                // Some servers name a call by its call_id where its id belongs.
                owners = self.call_ids.owners(id);
            }
            let items = owners.iter().map(|&index| Ref::Item(index));
            let waiting = self.waiting.iter().filter(|(_, waiting)| {
                let seen = &waiting.seen;
                seen.id.as_deref() == Some(id)
                    || (seen.id.is_none() && seen.call_id.as_deref() == Some(id))
            });
            items
                .chain(waiting.map(|(&key, _)| Ref::Waiting(key)))
                .filter(fitting)
                .collect()
        });
        let by_index = names.index.map_or_else(Vec::new, |index| {
            let there = self.by_index.get(&index).into_iter().flatten();
            there.copied().filter(fitting).collect()
        });
        [by_call_id, by_id, by_index]
    }

    /// The one that is meant: the only one, or the newest at the index, or the newest.
    fn choose(&self, candidates: &[Ref], index: Option<u64>) -> Option<Ref> {
        let at_index = candidates.iter().rev().find(|found| {
            index.is_some()
                && match found {
                    Ref::Item(item) => self.items.get(*item).and_then(|item| item.server_index),
                    Ref::Waiting(key) => self.waiting.get(key).and_then(|call| call.server_index),
                } == index
        });
        at_index.or_else(|| candidates.last()).copied()
    }

    /// The newest item that is not closed, of those at `index` where there is one.
    ///
    /// Several items may be open at one index, where a server counts carelessly.
    fn last_live(&self, index: Option<u64>, fits: &dyn Fn(&str) -> bool) -> Option<Ref> {
        let here = |other: Option<u64>| index.is_none() || other.is_none() || other == index;
        let waiting = self
            .waiting
            .iter()
            .rev()
            .find(|(_, waiting)| here(waiting.server_index) && fits(&waiting.seen.kind));
        let item = self.items.iter().rposition(|item| {
            here(item.server_index) && item.is_open() && fits(&item.identity.kind)
        });
        match (waiting, item) {
            (Some((&key, _)), Some(index)) => {
                let item = self.items.get(index);
                let is_older = item.is_some_and(|item| item.arrival < key);
                Some(if is_older {
                    Ref::Waiting(key)
                } else {
                    Ref::Item(index)
                })
            }
            (Some((&key, _)), None) => Some(Ref::Waiting(key)),
            (None, item) => item.map(Ref::Item),
        }
    }

    /// The type of an item; an unseen one may be of any.
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
        }
        self.answer_to(index, &seen);
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
