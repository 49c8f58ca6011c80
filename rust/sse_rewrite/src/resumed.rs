//! A stream that is joined after its beginning: a replay with `starting_after`.
//!
//! What was announced before is not seen, so it must be neither announced again nor moved.
//! Such an item has an entry from the first sign of it, without an identity (no type) until
//! an event of it shows one; from then on that identity is kept like an announced one (C1).

use crate::entry::Entry;
use crate::identity::{Field, Identity};
use crate::ledger::Ledger;
use crate::pairing::is_call;
use crate::policy::GaveUp;
use crate::vocabulary::{Family, Scope};

impl Entry {
    /// Whether the item was announced before the stream was joined, and is still unknown.
    pub(crate) fn is_unseen(&self) -> bool {
        self.identity.kind.is_empty()
    }
}

impl Ledger {
    /// The stream does not start with `response.created`: its items may be announced already.
    pub fn resume(&mut self) {
        self.resumed = true;
    }

    /// Whether items may have been announced that the ledger does not know of.
    ///
    /// The first announcement that is seen tells how many there were before it.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.resumed && !self.counted
    }

    /// Gives every item announced before the one at `end` an entry.
    pub(crate) fn reach(&mut self, end: u64) -> Result<(), GaveUp> {
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        if end > self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        for slot in self.entries.len()..end {
            let index = u64::try_from(slot).ok();
            self.by_index.extend(index.map(|index| (index, slot)));
            self.entries.push(Entry::new(Identity::default(), index));
        }
        Ok(())
    }

    /// Learns what the unknown item in `slot` is from an event of it.
    ///
    /// An id that another item has is not taken for its own (C11).
    pub(crate) fn adopt(&mut self, slot: usize, seen: &Identity) {
        let Some(entry) = self.entries.get_mut(slot) else {
            return;
        };
        let mut seen = seen.clone();
        if entry.identity.id.is_none() {
            seen.id = seen.id.filter(|id| self.ids.take_free(id));
        }
        entry.identity.kind.clone_from(&seen.kind);
        entry.identity.fill_from(&seen);
        entry.upstream = entry.identity.clone();
        if let Some(id) = &seen.id {
            self.ids.claim_vacant(id, slot);
        }
        if is_call(&seen.kind) {
            self.answer_to(slot, &[&seen.call_id]);
        }
    }

    /// What an item-scoped event shows of its item.
    pub(crate) fn shown_by(
        &self,
        scope: &Scope,
        item_id: Option<&str>,
    ) -> Result<Identity, GaveUp> {
        let mut seen = Identity::of_kind(match &scope.family {
            // A part of a message, or one of reasoning that does not say so.
            Family::Part => "",
            family => family.kind(),
        });
        seen.set(Field::Id, item_id.map(str::to_owned));
        self.check(&seen)?;
        Ok(seen)
    }
}
