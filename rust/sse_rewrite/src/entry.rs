//! The items that a ledger holds: how one comes in, what it learns, how it closes.

use crate::identity::Identity;
use crate::item::{Item, Payload};
use crate::ledger::Ledger;
use crate::mint;
use crate::pairing::is_call;
use crate::policy::GaveUp;
use crate::report::Change;

/// An announced item.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) identity: Identity,
    /// As upstream announced it; other ids of upstream are looked up in `Ledger::ids`.
    pub(crate) upstream: Identity,
    /// What it said at its close.
    pub(crate) payload: Option<Payload>,
    /// What it said at its announcement, which closes it if nothing else does.
    pub(crate) opening: Payload,
    pub(crate) closed: bool,
    /// Where upstream placed it first.
    pub(crate) index: Option<u64>,
    /// Whether upstream announced it, as against an event of it that came unannounced.
    pub(crate) announced: bool,
    /// A dropped second announcement is under way; its events are dropped up to its close.
    pub(crate) repeats: bool,
}

impl Entry {
    pub(crate) fn new(upstream: Identity, index: Option<u64>) -> Self {
        Self {
            identity: upstream.clone(),
            upstream,
            payload: None,
            opening: Payload::none(),
            closed: false,
            index,
            announced: false,
            repeats: false,
        }
    }
}

impl Ledger {
    /// Gives an item the next slot, under an id that no other item of the response has.
    pub(crate) fn admit(
        &mut self,
        index: Option<u64>,
        upstream: &Identity,
    ) -> Result<usize, GaveUp> {
        if self.entries.len() >= self.policy.max_items {
            return Err(GaveUp::TooManyItems);
        }
        self.check(upstream)?;
        let slot = self.entries.len();
        let mut identity = upstream.clone();
        let wanted = upstream.id.as_ref().or(upstream.call_id.as_ref());
        let wanted = wanted.map(|id| {
            if self.policy.conventional_ids {
                mint::conventional(&upstream.kind, id)
            } else {
                id.clone()
            }
        });
        identity.id = Some(self.usable_id(slot, &upstream.kind, wanted));
        if is_call(&upstream.kind) && upstream.call_id.is_some() {
            identity.call_id = Some(self.usable_call_id(slot, upstream.call_id.clone()));
        }
        for id in [&upstream.id, &identity.id].into_iter().flatten() {
            self.ids.claim_vacant(id, slot);
        }
        if is_call(&identity.kind) {
            self.answer_to(slot, &[&upstream.call_id, &identity.call_id]);
        }
        self.by_index.extend(index.map(|index| (index, slot)));
        self.entries.push(Entry {
            identity,
            ..Entry::new(upstream.clone(), index)
        });
        Ok(slot)
    }

    /// Whether what names an item is within the limits.
    pub(crate) fn check(&self, upstream: &Identity) -> Result<(), GaveUp> {
        if upstream.longest_field() > self.policy.max_identity_bytes {
            return Err(GaveUp::IdentityTooLong);
        }
        Ok(())
    }

    /// Records what the item in `slot` said and was called at its close.
    pub(crate) fn settle(&mut self, slot: usize, item: &Item) {
        self.learn(slot, &item.identity);
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.payload = Some(item.payload);
        }
        self.shut(slot);
    }

    /// The item in `slot` is closed; a call that a client must answer now has a `call_id`.
    pub(crate) fn shut(&mut self, slot: usize) {
        let Some(entry) = self.entries.get_mut(slot) else {
            return;
        };
        entry.closed = true;
        let answered = matches!(
            entry.identity.kind.as_str(),
            "function_call" | "custom_tool_call"
        );
        if answered && entry.identity.call_id.is_none() {
            let minted = Some(self.usable_call_id(slot, None));
            self.answer_to(slot, &[&minted]);
            if let Some(entry) = self.entries.get_mut(slot) {
                entry.identity.call_id = minted;
            }
        }
    }

    /// Fills in what the item in `slot` was announced without (C1).
    pub(crate) fn learn(&mut self, slot: usize, later: &Identity) {
        let Some(entry) = self.entries.get(slot) else {
            return;
        };
        let mut filled = later.clone();
        if is_call(&entry.identity.kind)
            && entry.identity.call_id.is_none()
            && later.call_id.is_some()
        {
            filled.call_id = Some(self.usable_call_id(slot, later.call_id.clone()));
            self.answer_to(slot, &[&later.call_id, &filled.call_id]);
        }
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.identity.fill_from(&filled);
        }
    }

    /// Gives the item in `slot` an id if it has none.
    pub(crate) fn name(&mut self, slot: usize) {
        let unnamed = self.entries.get(slot).map(|entry| &entry.identity);
        let unnamed = unnamed.filter(|identity| identity.id.is_none());
        let Some(kind) = unnamed.map(|identity| identity.kind.clone()) else {
            return;
        };
        let id = self.usable_id(slot, &kind, None);
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.identity.id = Some(id);
        }
    }

    fn usable_id(&mut self, slot: usize, kind: &str, wanted: Option<String>) -> String {
        let (id, minted) = self.ids.take(wanted, |attempt| {
            mint::item_id(kind, &self.response_id, slot, attempt)
        });
        self.count_if(minted, Change::Minted);
        id
    }

    fn usable_call_id(&mut self, slot: usize, wanted: Option<String>) -> String {
        let (id, minted) = self.call_ids.take(wanted, |attempt| {
            mint::call_id(&self.response_id, slot, attempt)
        });
        self.count_if(minted, Change::Minted);
        id
    }

    pub(crate) fn answer_to(&mut self, slot: usize, call_ids: &[&Option<String>]) {
        for call_id in call_ids.iter().copied().flatten() {
            self.call_ids.claim(call_id, slot);
        }
    }
}
