//! Whether a call under a `call_id` that is taken repeats the call that has it (C11).

use crate::contract::engine::Engine;
use crate::contract::identity::Identity;
use crate::contract::item_state::ItemState;
use crate::contract::observer::Observer;
use crate::contract::waiting::Rival;

/// What a call under a taken `call_id` turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetition {
    /// The call that was there first, again.
    Yes(usize),
    /// A call of its own.
    No,
    /// It does not show yet.
    Undecided,
}

impl<O: Observer> Engine<O> {
    /// The announced calls that one of this identity may repeat.
    pub(super) fn repeatable_by<'a>(
        &'a self,
        identity: &'a Identity,
    ) -> impl Iterator<Item = usize> + 'a {
        let call_id = identity.call_id.as_deref();
        let owners = call_id.map_or(&[][..], |call_id| self.call_ids.owners(call_id));
        let may_repeat = |at: &usize| {
            let first = self.items.get(*at);
            first.is_some_and(|first| is_alike(first, identity))
        };
        owners.iter().copied().filter(may_repeat)
    }

    /// Whether a waiting call repeats another.
    pub(super) fn repetition(&mut self, key: u64) -> Repetition {
        let Some(waiting) = self.waiting.get(&key) else {
            return Repetition::No;
        };
        if waiting.is_closed {
            let says = waiting.says();
            let mut same = self.repeatable_by(&waiting.seen).filter(|&at| {
                let first = self.items.get(at);
                first.is_some_and(|first| first.has_said(&says))
            });
            return same.next().map_or(Repetition::No, Repetition::Yes);
        }
        self.compare(key);
        let waiting = self.waiting.get(&key);
        if waiting.is_none_or(|waiting| waiting.rivals.left.is_empty()) {
            Repetition::No
        } else {
            Repetition::Undecided
        }
    }

    /// The call that a waiting one repeats, when nothing more of it can come.
    pub(super) fn repetition_at_end(&mut self, key: u64) -> Option<usize> {
        match self.repetition(key) {
            Repetition::Yes(first) => Some(first),
            Repetition::No => self.repeats_unnamed(key),
            Repetition::Undecided => {
                let waiting = self.waiting.get_mut(&key)?;
                let length = waiting.said().len();
                let mut left = waiting.rivals.left.iter();
                let repeated = left.find(|rival| rival.has_said(length))?;
                Some(repeated.item)
            }
        }
    }

    /// The call that one which nobody has named repeats: it has the same id and index, and says
    /// nothing new.
    pub(super) fn repeats_unnamed(&self, key: u64) -> Option<usize> {
        let waiting = self.waiting.get(&key)?;
        waiting.missing()?;
        let says = waiting.says();
        let call_id = waiting.seen.call_id.as_ref();
        let mut owners = self.ids.owners(waiting.seen.id.as_deref()?).iter().copied();
        owners.find(|&at| {
            self.items.get(at).is_some_and(|first| {
                let may_be = call_id.is_none() || first.server.call_id.as_ref() == call_id;
                let is_here = first.server_index == waiting.server_index;
                may_be && is_here && is_alike(first, &waiting.seen) && first.has_said(&says)
            })
        })
    }

    /// Compares what is new of a waiting call with the calls that it may repeat, which leaves
    /// those whose text begins as its own does.
    fn compare(&mut self, key: u64) {
        let Some(waiting) = self.waiting.get_mut(&key) else {
            return;
        };
        let call_id = waiting.seen.call_id.as_deref();
        let owners = call_id.map_or(&[][..], |call_id| self.call_ids.owners(call_id));
        let new = owners.get(waiting.rivals.seen..).unwrap_or_default();
        let new = new.iter().filter_map(|&at| {
            let first = self.items.get(at)?;
            is_alike(first, &waiting.seen).then(|| Rival::new(at, first.is_open()))
        });
        waiting.rivals.left.extend(new);
        waiting.rivals.seen = owners.len();
        let mut left = std::mem::take(&mut waiting.rivals.left);
        let text = waiting.said();
        left.retain_mut(|rival| {
            let Some(first) = self.items.get_mut(rival.item) else {
                return false;
            };
            if rival.is_open != first.is_open() {
                *rival = Rival::new(rival.item, first.is_open());
            }
            rival.compare(text, first.call_texts());
            rival.is_left()
        });
        waiting.rivals.left = left;
    }
}

/// Whether the announced call `first` may be the one that is meant by `identity`.
fn is_alike(first: &ItemState, identity: &Identity) -> bool {
    let first = &first.identity;
    let same_name = identity.name.is_none() || first.name == identity.name;
    first.kind == identity.kind && same_name
}
