//! The ledger of one response: which items were announced, and what later events must carry.

use std::collections::{BTreeMap, HashMap};

use crate::directory::{Directory, Owner};
use crate::entry::Entry;
use crate::identity::{Field, Identity};
use crate::item::Item;
use crate::mint;
use crate::pairing::is_call;
use crate::policy::{GaveUp, Policy};
use crate::report::{Change, Report, Told};
use crate::vocabulary::{Effect, PartKind, Scope};

/// What to do with one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send it as an event of the item in `slot`, which is its `output_index`.
    Send {
        /// The item's place, counted from 0 in order of announcement.
        slot: usize,
        /// The item was never announced: announce it first.
        announce: Option<Announce>,
    },
    /// Do not send it: it repeats, or announces nothing.
    Drop,
    /// Send it as it came: its item was announced before the stream was joined
    /// ([`Ledger::resume`]), and it does not show which one it is.
    Pass,
}

/// How to announce an item that upstream did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announce {
    /// The part that must be opened too, since a client indexes it next.
    pub open_part: Option<PartKind>,
}

/// Learns what was announced and says which identity a later mention must carry.
///
/// One ledger serves one stream. Its callers give it small values and apply what it decides
/// to their own kind of event: objects in process, bytes on the wire.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub(crate) policy: Policy,
    pub(crate) response_id: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) by_index: HashMap<u64, usize>,
    pub(crate) ids: Directory,
    pub(crate) call_ids: Directory,
    pub(crate) finished: bool,
    pub(crate) resumed: bool,
    /// Whether an announcement has shown how many items a resumed stream had before.
    pub(crate) counted: bool,
    pub(crate) report: Report,
    repaired: Repaired,
}

/// How often a field of items of a type was corrected, by where the item was told of.
pub type Repaired = BTreeMap<(Told, Field, &'static str), u64>;

impl Ledger {
    /// An empty ledger under `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// `response.created`: begins a response, or a further round of one without an end yet.
    ///
    /// Returns whether it begins a response. A stream body may hold several, one after the
    /// other; nothing of the last one, its ids included, is remembered.
    pub fn created(&mut self, response_id: Option<&str>) -> bool {
        let begins = self.finished || (self.entries.is_empty() && self.response_id.is_empty());
        if begins {
            let report = self.report;
            let repaired = std::mem::take(&mut self.repaired);
            *self = Self::new(self.policy);
            self.report = report;
            self.repaired = repaired;
            response_id
                .unwrap_or_default()
                .clone_into(&mut self.response_id);
        }
        begins
    }

    /// `response.output_item.added`.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn added(&mut self, index: Option<u64>, item: Option<&Item>) -> Result<Decision, GaveUp> {
        let Some(item) = item else {
            return Ok(self.dropped());
        };
        self.check(&item.identity)?;
        if let Some(slot) = self.repeated(index, &item.identity) {
            self.learn(slot, &item.identity);
            if let Some(entry) = self.entries.get_mut(slot) {
                entry.upstream.fill_from(&item.identity);
                entry.repeats = entry.announced;
                entry.announced = true;
            }
            if self.by_index.len() > self.policy.max_items {
                return Err(GaveUp::TooManyItems);
            }
            self.by_index.extend(index.map(|index| (index, slot)));
            return Ok(self.dropped());
        }
        if self.is_uncounted() {
            let Some(place) = index else {
                return Ok(Decision::Pass);
            };
            self.reach(place)?;
            self.counted = true;
            if let Some(slot) = self.unseen_at(index) {
                self.adopt(slot, &item.identity);
                self.name(slot);
                return Ok(self.mention(index, item.identity.id.as_deref(), slot, true));
            }
        }
        let slot = self.admit(index, &item.identity)?;
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.announced = true;
            entry.opening = item.payload;
        }
        if let Some(id) = &item.identity.id {
            self.ids.claim(id, slot);
        }
        self.moved(index, slot);
        Ok(Decision::Send {
            slot,
            announce: None,
        })
    }

    /// An item-scoped event that names its item by `output_index` and `item_id`.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn mentioned(
        &mut self,
        scope: &Scope,
        index: Option<u64>,
        item_id: Option<&str>,
    ) -> Result<Decision, GaveUp> {
        let must_name = scope.names_item(index, item_id);
        let item_id = item_id.filter(|id| !id.is_empty());
        if let Some(index) = index.filter(|_| self.is_uncounted()) {
            self.reach(index.saturating_add(1))?;
        }
        let named = item_id.and_then(|id| self.owner_of(id));
        let placed = index.and_then(|index| self.by_index.get(&index).copied());
        for slot in [named, placed].into_iter().flatten() {
            let Some(entry) = self.entries.get(slot) else {
                continue;
            };
            if entry.is_unseen() {
                let seen = self.shown_by(scope, item_id)?;
                self.adopt(slot, &seen);
                return Ok(self.mention(index, item_id, slot, must_name));
            }
            // Some servers close reasoning as a message that says nothing.
            let meant = named == Some(slot) && placed == Some(slot) && !entry.closed;
            if meant && scope.denies(&entry.identity.kind) {
                return Ok(self.dropped());
            }
            if !scope.family.fits(&entry.identity.kind) {
                continue;
            }
            if !entry.closed {
                return Ok(self.mention(index, item_id, slot, must_name));
            }
            if entry.repeats || !scope.carries_payload {
                return Ok(self.dropped());
            }
        }
        if let Some(slot) = self.last_open(index, |kind| scope.family.fits(kind)) {
            return Ok(self.mention(index, item_id, slot, must_name));
        }
        if self.is_uncounted() {
            return Ok(Decision::Pass);
        }
        let mut identity = Identity::of_kind(scope.family.kind());
        identity.set(Field::Id, item_id.map(str::to_owned));
        let slot = self.admit(index, &identity)?;
        self.report.count(Change::AnnouncedLate);
        Ok(Decision::Send {
            slot,
            announce: Some(Announce {
                open_part: scope.part.filter(|_| scope.effect != Effect::OpensPart),
            }),
        })
    }

    /// `response.output_item.done`.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn done(&mut self, index: Option<u64>, item: Option<&Item>) -> Result<Decision, GaveUp> {
        let Some(item) = item else {
            return Ok(self.dropped());
        };
        let identity = &item.identity;
        self.check(identity)?;
        if let Some(index) = index.filter(|_| self.is_uncounted()) {
            self.reach(index.saturating_add(1))?;
        }
        let named = identity.id.as_deref().and_then(|id| self.owner_of(id));
        let called = identity
            .call_id
            .as_deref()
            .and_then(|id| self.caller_of(id));
        let placed = index.and_then(|index| self.by_index.get(&index).copied());
        for (slot, by_name) in [(named, true), (called, true), (placed, false)] {
            let Some((slot, entry)) = slot.and_then(|slot| Some((slot, self.entries.get(slot)?)))
            else {
                continue;
            };
            if entry.is_unseen() {
                self.adopt(slot, identity);
                return Ok(self.close(index, slot, item));
            }
            if entry.identity.kind != identity.kind {
                let meant = named == Some(slot) && placed == Some(slot) && !entry.closed;
                if meant && !item.carries_anything() {
                    return Ok(self.dropped());
                }
                continue;
            }
            if !entry.closed {
                return Ok(self.close(index, slot, item));
            }
            let says_nothing_new =
                item.payload.empty || entry.payload.is_some_and(|said| said == item.payload);
            if by_name && (entry.repeats || says_nothing_new) {
                if let Some(entry) = self.entries.get_mut(slot) {
                    entry.repeats = false;
                }
                return Ok(self.dropped());
            }
        }
        if let Some(slot) = self.last_open(index, |kind| kind == identity.kind) {
            return Ok(self.close(index, slot, item));
        }
        if self.is_uncounted() {
            return Ok(Decision::Pass);
        }
        let slot = self.admit(index, identity)?;
        self.report.count(Change::AnnouncedLate);
        self.settle(slot, item);
        Ok(Decision::Send {
            slot,
            announce: Some(Announce { open_part: None }),
        })
    }

    /// What of `carried`, a later mention of the item in `slot`, must be replaced (C1).
    pub fn corrections(&mut self, slot: usize, carried: &Identity) -> Vec<(Field, String)> {
        let Some(entry) = self.entries.get(slot) else {
            return Vec::new();
        };
        let told = match entry.closed {
            _ if self.finished => Told::Terminal,
            true => Told::Done,
            false => Told::Added,
        };
        let corrections: Vec<(Field, String)> = entry
            .identity
            .corrections(carried)
            .map(|(field, value)| (field, value.to_owned()))
            .collect();
        if !corrections.is_empty() {
            self.report.count(Change::IdentityKept);
        }
        for (field, _) in &corrections {
            self.report.count_field(told, *field);
            let key = (told, *field, mint::label(&entry.identity.kind));
            *self.repaired.entry(key).or_default() += 1;
        }
        corrections
    }

    /// Which fields of whole items were corrected so far.
    #[must_use]
    pub fn repaired(&self) -> &Repaired {
        &self.repaired
    }

    /// The announced identity of the item in `slot`.
    #[must_use]
    pub fn identity(&self, slot: usize) -> Option<&Identity> {
        self.entries.get(slot).map(|entry| &entry.identity)
    }

    /// What was changed so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    fn mention(
        &mut self,
        index: Option<u64>,
        item_id: Option<&str>,
        slot: usize,
        must_name: bool,
    ) -> Decision {
        let announced = self.identity(slot).and_then(|one| one.get(Field::Id));
        if must_name && announced != item_id {
            self.report.count(Change::IdentityKept);
            self.report.count_field(Told::Mentioned, Field::Id);
        }
        self.moved(index, slot);
        Decision::Send {
            slot,
            announce: None,
        }
    }

    fn close(&mut self, index: Option<u64>, slot: usize, item: &Item) -> Decision {
        self.settle(slot, item);
        self.moved(index, slot);
        Decision::Send {
            slot,
            announce: None,
        }
    }

    /// The place at `index` whose item is still unknown.
    fn unseen_at(&self, index: Option<u64>) -> Option<usize> {
        let slot = *self.by_index.get(&index?)?;
        self.entries.get(slot)?.is_unseen().then_some(slot)
    }

    /// The item that an announcement repeats: the same call again, or an open item again.
    fn repeated(&self, index: Option<u64>, again: &Identity) -> Option<usize> {
        let call_id = again.call_id.as_deref().filter(|_| is_call(&again.kind));
        if let Some(slot) = call_id.and_then(|call_id| self.caller_of(call_id)) {
            let first = &self.entries.get(slot)?.upstream;
            let same = first.kind == again.kind && first.id == again.id && first.name == again.name;
            return same.then_some(slot);
        }
        let slot = self.owner_of(again.id.as_deref()?)?;
        let entry = self.entries.get(slot)?;
        let here = index.is_some_and(|index| self.by_index.get(&index) == Some(&slot));
        let another_call = call_id.is_some() && entry.upstream.call_id.is_some();
        let same = entry.upstream.kind == again.kind && !another_call;
        (same && here && !entry.closed).then_some(slot)
    }

    fn owner_of(&self, id: &str) -> Option<usize> {
        match self.ids.owner(id) {
            Some(Owner::One(slot)) => Some(slot),
            Some(Owner::Many) => None,
            // Some servers name a call by its call_id where its id belongs.
            None => self.caller_of(id),
        }
    }

    pub(crate) fn caller_of(&self, call_id: &str) -> Option<usize> {
        self.call_ids.sole_owner(call_id)
    }

    /// The newest open item of a fitting type, of those at `index` where there is one.
    ///
    /// Several items may be open at one index, where a server counts carelessly.
    fn last_open(&self, index: Option<u64>, fits: impl Fn(&str) -> bool) -> Option<usize> {
        self.entries.iter().rposition(|entry| {
            let here = index.is_none() || entry.index.is_none() || entry.index == index;
            here && !entry.closed && fits(&entry.identity.kind)
        })
    }

    fn moved(&mut self, index: Option<u64>, slot: usize) {
        self.count_if(index != u64::try_from(slot).ok(), Change::IndexMoved);
    }

    fn dropped(&mut self) -> Decision {
        self.report.count(Change::Dropped);
        Decision::Drop
    }

    pub(crate) fn count_if(&mut self, happened: bool, change: Change) {
        if happened {
            self.report.count(change);
        }
    }
}
