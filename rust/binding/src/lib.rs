//! `vllm_stable_ids._core`: the Python binding of `sse_rewrite`.
//!
//! Thin on purpose: it turns Python values into the core's and back, and decides nothing.

mod check;
mod encode;
mod proxy;
mod rewriter;

use std::collections::BTreeMap;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use sse_rewrite::{
    Decision, Event, EventKind, Insert, Item, Lifecycle, Parts, Policy, ReasoningParts, Sequence,
    Source, Step, classify,
};

// Tuples, since Python takes them apart at once: to look up fields takes longer than some decisions.

/// Events to send first, as (type, JSON).
type Before = Vec<(&'static str, String)>;

/// The identity fields of an item to replace, with their announced values.
type Corrections = BTreeMap<&'static str, String>;

/// What to do with an event that has an item: where to send it, after which events, and what to
/// replace in the item.
type Decided = (Option<usize>, Before, Corrections);

/// What to do with an event that only names its item: where to send it, under which id and
/// `content_index`, and after which events.
type Mention = (Option<usize>, String, Option<i64>, Before);

/// What becomes of a terminal event: where each slot's item is in the rebuilt output, what to
/// replace in it, and what to insert, as (slot, whole).
type Terminal = (Vec<Option<usize>>, Vec<Corrections>, Vec<(usize, bool)>);

/// The ledger and the numbering of one stream.
#[pyclass(name = "Ledger")]
struct PyLedger {
    ledger: sse_rewrite::Ledger,
    sequence: Sequence,
    reasoning_parts: ReasoningParts,
    /// The content parts of the item in each slot.
    parts: BTreeMap<usize, Parts>,
}

#[pymethods]
impl PyLedger {
    #[new]
    #[pyo3(signature = (*, conventional_ids, openai_vocabulary))]
    fn new(conventional_ids: bool, openai_vocabulary: bool) -> Self {
        Self {
            ledger: sse_rewrite::Ledger::new(Policy {
                conventional_ids,
                empty_items_in_gaps: false,
                ..Policy::default()
            }),
            sequence: Sequence::of_trusted_upstream(),
            reasoning_parts: if openai_vocabulary {
                ReasoningParts::ContentPart
            } else {
                ReasoningParts::ReasoningPart
            },
            parts: BTreeMap::new(),
        }
    }

    fn created(&mut self, response_id: Option<&str>) -> bool {
        self.ledger.created(response_id)
    }

    fn added(&mut self, output_index: Option<u64>, item: &str) -> PyResult<Decided> {
        let item = Item::from_json(item).ok();
        let decision = self
            .ledger
            .added(output_index, item.as_ref())
            .map_err(gave_up)?;
        self.decided(decision, item.as_ref())
    }

    fn done(&mut self, output_index: Option<u64>, item: &str) -> PyResult<Decided> {
        let item = Item::from_json(item).ok();
        let decision = self
            .ledger
            .done(output_index, item.as_ref())
            .map_err(gave_up)?;
        self.decided(decision, item.as_ref())
    }

    fn mentioned(
        &mut self,
        event_type: &str,
        part_type: Option<&str>,
        output_index: Option<u64>,
        item_id: Option<&str>,
        content_index: Option<i64>,
        text: Option<&str>,
    ) -> PyResult<Option<Mention>> {
        let EventKind::Scoped(scope) = classify(event_type, part_type) else {
            return Ok(None);
        };
        let decision = self
            .ledger
            .mentioned(&scope.with_text(text), output_index, item_id)
            .map_err(gave_up)?;
        let (slot, before, _) = self.decided(decision, None)?;
        let identity = slot.and_then(|slot| self.ledger.identity(slot));
        let item_id = identity.and_then(|identity| identity.id.clone());
        let content_index =
            content_index.map(|said| slot.map_or(said, |slot| self.place(slot, event_type, said)));
        Ok(Some((
            slot,
            item_id.unwrap_or_default(),
            content_index,
            before,
        )))
    }

    fn terminal(&mut self, items: Vec<String>) -> PyResult<Terminal> {
        let items: Vec<Item> = items
            .into_iter()
            .map(|text| Item::from_json(&text))
            .collect::<Result<_, _>>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let terminal = self.ledger.terminal(&items).map_err(gave_up)?;
        let sources = terminal.output.into_iter().map(|source| match source {
            Source::Rebuilt(index) => Some(index),
            Source::Streamed => None,
        });
        let output: Vec<Option<usize>> = sources.collect();
        let rebuilt = output.iter().map(|source| items.get((*source)?));
        let corrections = rebuilt
            .enumerate()
            .map(|(slot, item)| {
                item.map_or_else(Corrections::new, |item| self.corrected(slot, item))
            })
            .collect();
        let inserts = terminal.inserts.into_iter().map(|insert| match insert {
            Insert::Close { slot, .. } => (slot, false),
            Insert::Whole { slot, .. } => (slot, true),
        });
        Ok((output, corrections, inserts.collect()))
    }

    fn corrections(&mut self, slot: usize, item: &str) -> PyResult<Corrections> {
        let item =
            Item::from_json(item).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.corrected(slot, &item))
    }

    fn whole(&self, slot: usize, item: &str) -> PyResult<Before> {
        Ok(as_json(self.lifecycle(slot)?.whole(item)))
    }

    fn inserted(&mut self, before: u64) -> u64 {
        self.sequence.inserted(before)
    }

    fn dropped(&mut self) {
        self.sequence.dropped();
    }

    #[getter]
    fn shift(&self) -> i64 {
        self.sequence.shift()
    }

    fn report(&self) -> BTreeMap<&'static str, u64> {
        self.ledger.report().counts().collect()
    }
}

impl PyLedger {
    fn decided(&mut self, decision: Decision, carried: Option<&Item>) -> PyResult<Decided> {
        let (slot, announce) = match decision {
            Decision::Send { slot, announce } => (slot, announce),
            Decision::Drop => return Ok((None, Before::new(), Corrections::new())),
            Decision::Pass => {
                return Err(PyValueError::new_err(
                    "the stream was joined after its start",
                ));
            }
        };
        let before = match announce {
            Some(announce) => as_json(self.lifecycle(slot)?.announce(announce.open_part)),
            None => Before::new(),
        };
        let corrections = carried
            .map(|item| self.corrected(slot, item))
            .unwrap_or_default();
        Ok((Some(slot), before, corrections))
    }

    /// The `content_index` to send an event of the item in `slot` under.
    fn place(&mut self, slot: usize, event_type: &str, said: i64) -> i64 {
        let parts = self.parts.entry(slot).or_default();
        Step::of(event_type)
            .and_then(|step| parts.place(step, u64::try_from(said).ok()))
            .and_then(|place| i64::try_from(place).ok())
            .unwrap_or(said)
    }

    fn corrected(&mut self, slot: usize, item: &Item) -> Corrections {
        let corrections = self.ledger.corrections(slot, &item.identity);
        corrections
            .into_iter()
            .map(|(field, value)| (field.key(), value))
            .collect()
    }

    fn lifecycle(&self, slot: usize) -> PyResult<Lifecycle<'_>> {
        Ok(Lifecycle {
            slot,
            identity: self.ledger.identity(slot).ok_or_else(|| no_slot(slot))?,
            reasoning_parts: self.reasoning_parts,
        })
    }
}

/// Each event's type and JSON; the caller numbers it when it sends it.
fn as_json(events: Vec<Event>) -> Before {
    events
        .into_iter()
        .map(|event| (event.event_type, event.to_json(Some(0))))
        .collect()
}

fn gave_up(error: sse_rewrite::GaveUp) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn no_slot(slot: usize) -> PyErr {
    PyIndexError::new_err(format!("no item was announced at output_index {slot}"))
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::PyLedger;
    #[pymodule_export]
    use super::check::PyChecker;
    #[pymodule_export]
    use super::encode::PyDeltaEncoder;
    #[pymodule_export]
    use super::proxy::run;
    #[pymodule_export]
    use super::rewriter::PySseRewriter;
}
