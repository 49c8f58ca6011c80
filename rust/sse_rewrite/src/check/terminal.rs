//! Puts names to what is decided on a terminal event.

use crate::check::breach::{Fault, Found, Telling};
use crate::check::recorder::Recorder;
use crate::ledger::Ledger;
use crate::output::{Output, Piece};
use crate::reconcile::{Insert, Source, Terminal};

impl Recorder {
    /// A terminal event with `output`, decided so; `pieces` is what is sent, slot by slot.
    pub(crate) fn terminal(
        &mut self,
        decided: &Terminal,
        output: Option<&Output>,
        pieces: &[Option<Piece>],
        ledger: &Ledger,
    ) {
        if self.ends() {
            self.raise(Found::new(Fault::EndsTwice, Telling::Terminal));
        }
        for insert in &decided.inserts {
            match *insert {
                Insert::Close { slot, .. } => self.find(Fault::NeverClosed, slot, |found| found),
                Insert::Whole { slot, .. } => {
                    if let Some(late) = ledger.identity(slot) {
                        self.show_kind(slot, late);
                    }
                    self.find(Fault::OnlyAtEnd, slot, |found| found);
                }
            }
        }
        let Some(output) = output else {
            return self.raise(Found::new(Fault::NoResponse, Telling::Terminal));
        };
        let mut told = vec![false; output.items.len()];
        let mut place = 0;
        for (slot, source) in decided.output.iter().enumerate() {
            let at = match source {
                Source::Rebuilt(at) => Some(*at),
                Source::Streamed => decided.pairs.get(slot).copied().flatten(),
            };
            let is_sent = pieces.get(slot).is_some_and(Option::is_some);
            if let Some(at) = at {
                if let Some(told) = told.get_mut(at) {
                    *told = true;
                }
                self.entry(slot, at, *source, output, ledger);
                if is_sent && at != place {
                    self.moved(slot, place, at, ledger);
                }
            } else if is_sent {
                self.find(Fault::Missing, slot, |found| found);
            }
            place += usize::from(is_sent);
        }
        let untold = output.items.iter().zip(told).filter(|(_, told)| !told);
        for (item, _) in untold {
            let found = Found::new(Fault::Unstreamed, Telling::Terminal);
            self.raise(found.field("type", None::<&str>, Some(&item.identity.kind)));
        }
        if output.has_others {
            self.raise(Found::new(Fault::NotAnItem, Telling::Terminal));
        }
    }

    /// The entry at `at` of the output, which tells of the item in `slot`.
    fn entry(&mut self, slot: usize, at: usize, source: Source, output: &Output, ledger: &Ledger) {
        let Some(said) = output.items.get(at).map(|item| &item.identity) else {
            return;
        };
        let Some(wanted) = ledger.identity(slot) else {
            // Told again after the end, or maybe told before the stream was joined.
            return;
        };
        self.told(slot, u64::try_from(at).ok(), said, Some(wanted));
        if source != Source::Streamed {
            return;
        }
        if wanted.kind != said.kind {
            self.find(Fault::Type, slot, |found| {
                found.field("type", Some(&wanted.kind), Some(&said.kind))
            });
        } else if wanted.name.is_none() || wanted.name == said.name {
            self.find(Fault::Payload, slot, |found| Found {
                field: Some("payload"),
                ..found
            });
            let listed = self.table.listed(slot);
            if let Some(told) = listed.and_then(|item| item.terminal.as_mut()) {
                told.differs("payload");
            }
        }
    }

    /// The entry at `at` of the output belongs to `place`.
    fn moved(&mut self, slot: usize, place: usize, at: usize, ledger: &Ledger) {
        if ledger.identity(slot).is_some() {
            self.find(Fault::Position, slot, |found| {
                found.field("position", Some(place), Some(at))
            });
        } else {
            let found = Found::new(Fault::Position, Telling::Terminal);
            self.raise(found.field("position", Some(place), Some(at)));
        }
    }
}
