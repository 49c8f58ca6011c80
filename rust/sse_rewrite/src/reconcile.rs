//! The terminal event: its output becomes the list of what was streamed (C4, C5, C6).

use std::collections::HashSet;

use crate::entry::Entry;
use crate::item::Item;
use crate::ledger::Ledger;
use crate::pairing::{self, Candidate, is_call};
use crate::policy::GaveUp;
use crate::report::Change;

/// Where the caller finds an item to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// At this position of the terminal output as upstream built it.
    Rebuilt(usize),
    /// In the item's close event, or in its announcement where it was never closed. Neither
    /// was seen of an item announced before the stream was joined: nothing can be sent.
    Streamed,
}

/// An event, or a run of events, to send before the terminal event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insert {
    /// Close the open item in `slot`.
    Close {
        /// The item's place.
        slot: usize,
        /// What it closes with.
        source: Source,
    },
    /// Announce, stream and close an item that only the terminal output has.
    Whole {
        /// The item's new place.
        slot: usize,
        /// Its position in the terminal output as upstream built it.
        rebuilt: usize,
    },
}

/// What becomes of a terminal event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The terminal output: for each slot in turn, where its item comes from.
    pub output: Vec<Source>,
    /// For each slot that was streamed, the position where upstream's output tells of it.
    pub pairs: Vec<Option<usize>>,
    /// What to send before the terminal event, in order.
    pub inserts: Vec<Insert>,
}

impl Ledger {
    /// `response.completed`, `.incomplete` or `.failed` with the output `rebuilt` by upstream.
    ///
    /// Every item sent from the result carries the identity that [`Ledger::corrections`] gives
    /// for its slot. Where an end is told twice, the second lists the same items.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn terminal(&mut self, rebuilt: &[Item]) -> Result<Terminal, GaveUp> {
        for item in rebuilt {
            self.check(&item.identity)?;
        }
        let pairs = self.pair(rebuilt);
        let mut leftover: Vec<bool> = vec![true; rebuilt.len()];
        let mut result = Terminal {
            output: Vec::with_capacity(pairs.len()),
            pairs,
            inserts: Vec::new(),
        };
        for slot in 0..result.pairs.len() {
            let pair = result.pairs.get(slot).copied().flatten();
            let twin = pair.and_then(|index| Some((index, rebuilt.get(index)?)));
            if let Some(unpaired) = pair.and_then(|index| leftover.get_mut(index)) {
                *unpaired = false;
            }
            let source = self.source(slot, twin);
            let is_open = |entry: &Entry| !entry.closed && !entry.is_unseen();
            if self.entries.get(slot).is_some_and(is_open) {
                self.close_late(slot, source, rebuilt);
                result.inserts.push(Insert::Close { slot, source });
            }
            result.output.push(source);
        }
        let gaps = self.gaps(rebuilt.len());
        for (index, item) in rebuilt.iter().enumerate() {
            let unpaired = leftover.get(index).copied().unwrap_or(false);
            if !unpaired {
                continue;
            }
            if self.is_uncounted() || self.finished {
                // It may well have been announced before the stream was joined; and after an
                // end, which is told again here, nothing can be announced any more.
                result.output.push(Source::Rebuilt(index));
                continue;
            }
            let fills_gap = self.policy.empty_items_in_gaps && gaps.contains(&index);
            let is_wanted = item.carries_anything() || fills_gap;
            if !is_wanted || self.is_told(item) {
                self.report.count(Change::Dropped);
                continue;
            }
            let slot = self.admit(None, &item.identity)?;
            self.settle(slot, item);
            self.report.count(Change::AnnouncedLate);
            result.inserts.push(Insert::Whole {
                slot,
                rebuilt: index,
            });
            result.output.push(Source::Rebuilt(index));
        }
        self.finished = true;
        Ok(result)
    }

    fn pair(&self, rebuilt: &[Item]) -> Vec<Option<usize>> {
        let streamed: Vec<Candidate> = self
            .entries
            .iter()
            .map(|entry| Candidate {
                identity: &entry.identity,
                upstream: &entry.upstream,
                payload: entry.payload,
            })
            .collect();
        let rebuilt: Vec<Candidate> = rebuilt
            .iter()
            .map(|item| Candidate {
                identity: &item.identity,
                upstream: &item.identity,
                payload: Some(item.payload),
            })
            .collect();
        let mut pairs = pairing::pair(&streamed, &rebuilt);
        self.place_unseen(&mut pairs, rebuilt.len());
        pairs
    }

    /// Gives the items announced before the stream was joined what is left, in order.
    fn place_unseen(&self, pairs: &mut [Option<usize>], rebuilt: usize) {
        if !self.resumed {
            return;
        }
        let mut taken = vec![false; rebuilt];
        for index in pairs.iter().flatten() {
            if let Some(taken) = taken.get_mut(*index) {
                *taken = true;
            }
        }
        let mut free = (0..).zip(taken).filter(|(_, taken)| !taken);
        for (pair, entry) in pairs.iter_mut().zip(&self.entries) {
            if pair.is_none() && entry.is_unseen() {
                *pair = free.next().map(|(index, _)| index);
            }
        }
    }

    /// The positions below `end` that upstream counted an `output_index` for and left free.
    fn gaps(&self, end: usize) -> HashSet<usize> {
        let highest = self.by_index.keys().max().copied().unwrap_or(0);
        (0..end)
            .zip(0..highest)
            .filter(|(_, index)| !self.by_index.contains_key(index))
            .map(|(position, _)| position)
            .collect()
    }

    /// The rebuilt item where it says the same, else the streamed one (C6).
    fn source(&mut self, slot: usize, twin: Option<(usize, &Item)>) -> Source {
        let Some(entry) = self.entries.get(slot) else {
            return Source::Streamed;
        };
        if entry.is_unseen() {
            return twin.map_or(Source::Streamed, |(index, _)| Source::Rebuilt(index));
        }
        let Some((index, twin)) = twin else {
            self.report.count(Change::PutBack);
            return Source::Streamed;
        };
        // An item that was never closed has said nothing that could stand instead.
        let same_name = entry.identity.name.is_none() || entry.identity.name == twin.identity.name;
        let same = entry
            .payload
            .is_none_or(|said| same_name && said.is_kept_by(&twin.payload));
        if entry.identity.kind == twin.identity.kind && same {
            self.learn(slot, &twin.identity);
            Source::Rebuilt(index)
        } else {
            self.report.count(Change::StreamedStands);
            Source::Streamed
        }
    }

    fn close_late(&mut self, slot: usize, source: Source, rebuilt: &[Item]) {
        self.report.count(Change::ClosedLate);
        if let Source::Rebuilt(item) = source {
            if let Some(item) = rebuilt.get(item) {
                self.settle(slot, item);
            }
        } else {
            if let Some(entry) = self.entries.get_mut(slot) {
                entry.payload = Some(entry.opening);
            }
            self.shut(slot);
        }
    }

    /// Whether a rebuilt item that pairs with nothing only repeats one that was streamed.
    fn is_told(&self, item: &Item) -> bool {
        if !is_call(&item.identity.kind) {
            return false;
        }
        let first = item
            .identity
            .call_id
            .as_deref()
            .and_then(|id| self.caller_of(id));
        first
            .and_then(|slot| self.entries.get(slot))
            .is_some_and(|first| {
                first.upstream.kind == item.identity.kind
                    && first.upstream.id == item.identity.id
                    && first.upstream.name == item.identity.name
            })
    }
}
