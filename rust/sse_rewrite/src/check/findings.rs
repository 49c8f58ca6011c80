//! The list of what was found in a stream: bounded, with what repeats told once.

use crate::check::breach::{Breach, Fault, Found, Rule};
use crate::check::verdict::{Broken, Note};

/// How many breaches, and how many items, a verdict lists; the rest is counted.
pub(super) const LISTED: usize = 1000;

/// How many of the breaches listed last are looked at for the same one.
const LOOKED_BACK: usize = 16;

/// The event that is being decided on.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) response: u64,
    pub(super) event: u64,
    pub(super) event_type: String,
    pub(super) number: Option<u64>,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) breaches: Vec<Breach>,
    pub(super) more_breaches: u64,
    pub(super) notes: Vec<Note>,
    counts: [u64; Rule::ALL.len()],
    /// What was found in the last event, and where it is listed.
    latest: Vec<(Fault, Option<usize>)>,
}

impl Findings {
    /// Another event comes.
    pub(super) fn next_event(&mut self) {
        self.latest.clear();
    }

    /// Another event comes that is like the last one but for its number.
    pub(super) fn same_event(&mut self) {
        self.latest.retain(|(fault, _)| *fault != Fault::Number);
        for (fault, listed) in std::mem::take(&mut self.latest) {
            self.again(fault, listed);
        }
    }

    pub(super) fn raise(&mut self, place: &Place, found: Found) {
        let response = place.response;
        let recent = self.breaches.iter().enumerate().rev().take(LOOKED_BACK);
        let mut recent = recent.filter(|(_, breach)| breach.response == response);
        if let Some((listed, _)) = recent.find(|(_, breach)| found.repeats(breach)) {
            return self.again(found.fault, Some(listed));
        }
        if self.breaches.len() == LISTED {
            return self.again(found.fault, None);
        }
        self.breaches.push(Breach {
            rule: found.fault.rule(),
            fault: found.fault,
            event: place.event,
            event_type: place.event_type.clone(),
            sequence_number: place.number,
            times: 0,
            response,
            output_index: found.slot,
            mended: found.is_mended,
            sentence: found.sentence(),
            telling: found.telling,
            item_type: found.kind,
            field: found.field,
            announced: found.announced,
            said: found.said,
        });
        self.again(found.fault, Some(self.breaches.len() - 1));
    }

    /// What is listed there was seen once more, or something beyond the list was.
    fn again(&mut self, fault: Fault, listed: Option<usize>) {
        if let Some(count) = self.counts.get_mut(fault.rule() as usize) {
            *count += 1;
        }
        match listed.and_then(|listed| self.breaches.get_mut(listed)) {
            Some(breach) => breach.times += 1,
            None => self.more_breaches += 1,
        }
        self.latest.push((fault, listed));
    }

    /// Something that is no breach; it is told once.
    pub(super) fn remark(
        &mut self,
        event: u64,
        note: &'static str,
        sentence: impl FnOnce() -> String,
    ) {
        if let Some(known) = self.notes.iter_mut().find(|known| known.note == note) {
            known.times += 1;
            return;
        }
        self.notes.push(Note {
            note,
            event,
            times: 1,
            sentence: sentence(),
        });
    }

    /// How often each rule was broken, of those that were.
    pub(super) fn broken(&self) -> Vec<Broken> {
        let counts = Rule::ALL.into_iter().zip(self.counts);
        let broken = counts.filter(|&(_, count)| count > 0);
        broken
            .map(|(rule, count)| Broken {
                rule,
                count,
                title: rule.title(),
            })
            .collect()
    }
}
