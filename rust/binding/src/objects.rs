//! The codec of objects: vLLM's own events in, the same objects out, changed in place.
//!
//! It has no rule of the contract: it reads the fields of pydantic models, asks the engine, and
//! sets fields. Fields are set without pydantic's checks: what is set has been decided, and the
//! checks take longer than the decision.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use sse_rewrite::encode::write_string;
use sse_rewrite::{
    Action, Changes, Engine, Fate, Item, Listed, Policy, ReasoningParts, Run, Step, Target, Ticket,
    Value, with_member,
};

use crate::reading::{self, Reading};

/// An event to build (type, JSON, number), or one that has waited.
type Before = Vec<Py<PyAny>>;

/// What further deltas like an event have and are to have: `item_id` and `output_index`.
type RunFields = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);

/// What to do with an event: what to send first, whether to send it, under which type if that is
/// another, and what holds for further deltas like it.
type Decided = (Before, bool, Option<&'static str>, Option<RunFields>);

/// What the terminal output lists: a position in the server's output, or an item as it was
/// streamed (its `output_index`, its JSON).
type ListedEntry = (Option<usize>, Option<(usize, String)>);

/// The engine of one stream of vLLM's events; see the stub for its methods.
#[pyclass(name = "Engine")]
pub(crate) struct PyEngine {
    engine: Engine,
    run: Option<Run>,
    waiting: BTreeMap<Ticket, Py<PyAny>>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (*, openai_vocabulary))]
    fn new(openai_vocabulary: bool) -> Self {
        Self {
            engine: Engine::of_trusted_numbers(Policy {
                conventional_ids: true,
                empty_items_in_gaps: false,
                openai_vocabulary,
                restore_lost_text: true,
                reasoning_parts: if openai_vocabulary {
                    ReasoningParts::ContentPart
                } else {
                    ReasoningParts::ReasoningPart
                },
                ..Policy::default()
            }),
            run: None,
            waiting: BTreeMap::new(),
        }
    }

    /// Decides on an event, and changes it; `said` is what the deltas since the last one said.
    fn take<'py>(
        &mut self,
        event: &Bound<'py, PyAny>,
        said: &str,
        undo: &Bound<'py, PyList>,
    ) -> PyResult<Option<Decided>> {
        let py = event.py();
        self.say(said);
        self.run = None;
        let reading = Reading::of(event)?;
        let action = self.engine.take(&reading.event()?, reading.number);
        let action = action.map_err(gave_up)?;
        let Action { steps, this, run } = action;
        if let Fate::Wait(ticket) = this {
            self.waiting.insert(ticket, event.clone().unbind());
        }
        let before = self.before(py, steps, undo)?;
        let Fate::Send(changes) = this else {
            return Ok(Some((before, false, None, None)));
        };
        if before.is_empty() && changes.is_empty() && run.is_none() {
            return Ok(None);
        }
        let fields = run
            .filter(|_| changes.members.iter().all(|change| is_of_run(change.key)))
            .filter(|_| changes.event_type.is_none());
        let from = fields.map(|_| place(&reading.fields)).transpose()?;
        apply(event, &changes, undo)?;
        self.run = run;
        let run = match from {
            Some((id, index)) => {
                let (to_id, to_index) = place(&reading.fields)?;
                Some((id, index, to_id, to_index))
            }
            None => None,
        };
        Ok(Some((before, true, changes.event_type, run)))
    }

    /// Decides on the terminal output, whose items are changed in place.
    fn reconcile<'py>(
        &mut self,
        items: &Bound<'py, PyList>,
        said: &str,
        failed: bool,
        undo: &Bound<'py, PyList>,
    ) -> PyResult<(Vec<ListedEntry>, Vec<(&'static str, String)>)> {
        self.say(said);
        self.run = None;
        let texts: Vec<Bound<'py, PyBytes>> = items
            .iter()
            .map(|item| reading::json(&item))
            .collect::<Result<_, _>>()?;
        let read: Vec<Item> = texts
            .iter()
            .map(|text| Item::read(text.as_bytes()))
            .collect::<Result<_, _>>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let listed = self.engine.reconcile(failed, &read).map_err(gave_up)?;
        let mut entries = Vec::with_capacity(listed.len());
        for entry in listed {
            entries.push(match entry {
                Listed::Rebuilt {
                    position,
                    corrections,
                } => {
                    let item = items.get_item(position)?;
                    for (field, value) in corrections {
                        set(
                            &item,
                            field.key(),
                            PyString::new(items.py(), &value).into_any(),
                            undo,
                        )?;
                    }
                    (Some(position), None)
                }
                Listed::Streamed { index, json } => (None, Some((index, text(json)))),
            });
        }
        let inserted = self.engine.reconciled();
        let inserted = inserted.map(|event| (event.event_type, event.to_json(Some(0))));
        Ok((entries, inserted.collect()))
    }

    /// The events that end a stream which the server has broken off.
    fn break_off(
        &mut self,
        py: Python<'_>,
        said: &str,
        undo: &Bound<'_, PyList>,
    ) -> PyResult<Before> {
        self.say(said);
        self.run = None;
        let action = self.engine.break_off().map_err(gave_up)?;
        self.before(py, action.steps, undo)
    }

    /// The events that wait, in order; from now on none does. The last decision was not carried out.
    fn give_up(&mut self) -> Vec<Py<PyAny>> {
        self.engine.take_back_counts();
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// The server has made this many events that are not shown here, and not sent.
    fn left_out(&mut self, count: usize) {
        (0..count).for_each(|_| self.engine.left_out());
    }

    /// What to add to the numbers of events that are not shown here.
    #[getter]
    fn shift(&self) -> i64 {
        self.engine.shift()
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::rewriter::report(
            py,
            self.engine.report(),
            self.engine.repaired(),
            self.engine.inserted(),
            None,
        )
    }
}

impl PyEngine {
    /// Takes in what the deltas of a run have said.
    fn say(&mut self, said: &str) {
        let Some(run) = self.run.filter(|_| !said.is_empty()) else {
            return;
        };
        let mut quoted = String::with_capacity(said.len() + 2);
        write_string(said, &mut quoted);
        let raw = quoted.get(1..quoted.len().saturating_sub(1));
        self.engine.say(run, raw.unwrap_or_default().as_bytes());
    }

    fn before(
        &mut self,
        py: Python<'_>,
        steps: Vec<Step>,
        undo: &Bound<'_, PyList>,
    ) -> PyResult<Before> {
        let mut before = Vec::with_capacity(steps.len());
        for step in steps {
            match step {
                Step::Insert(event, number) => {
                    let parts = (event.event_type, event.to_json(number), number);
                    before.push(parts.into_pyobject(py)?.into_any().unbind());
                }
                Step::Release(ticket, changes) => {
                    let event = self.waiting.remove(&ticket);
                    let event = event.ok_or_else(|| PyKeyError::new_err(ticket))?;
                    apply(event.bind(py), &changes, undo)?;
                    before.push(event);
                }
                Step::Discard(ticket) => {
                    self.waiting.remove(&ticket);
                }
            }
        }
        Ok(before)
    }
}

/// Whether a change is one that a run of deltas has, too.
fn is_of_run(key: &str) -> bool {
    matches!(key, "item_id" | "output_index" | "sequence_number")
}

/// Makes changes to an event, each of which `undo` can take back: (fields, key, old value).
fn apply(event: &Bound<'_, PyAny>, changes: &Changes, undo: &Bound<'_, PyList>) -> PyResult<()> {
    let py = event.py();
    for change in &changes.members {
        let target = match change.target {
            Target::Event => event.clone(),
            Target::Part => event.getattr(intern!(py, "part"))?,
            Target::Item => event.getattr(intern!(py, "item"))?,
        };
        let value = match &change.value {
            Value::Number(number) => number.into_pyobject(py)?.into_any(),
            Value::Text(text) => PyString::new(py, text).into_any(),
            Value::Json(json) => parsed(&target, change.key, json)?,
        };
        set(&target, change.key, value, undo)?;
    }
    Ok(())
}

/// The value of a member of a model, given as JSON, as the model's class makes it.
fn parsed<'py>(model: &Bound<'py, PyAny>, key: &str, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let py = model.py();
    let whole = reading::json(model)?;
    let whole = with_member(whole.as_bytes(), key, json);
    let made = model.get_type().call_method1(
        intern!(py, "model_validate_json"),
        (PyBytes::new(py, &whole),),
    )?;
    made.getattr(key)
}

fn set(
    model: &Bound<'_, PyAny>,
    key: &str,
    value: Bound<'_, PyAny>,
    undo: &Bound<'_, PyList>,
) -> PyResult<()> {
    let py = model.py();
    let key = PyString::intern(py, key);
    let mut fields = model
        .getattr(intern!(py, "__dict__"))?
        .cast_into::<PyDict>()?;
    if !fields.contains(&key)? {
        // The model has it, and its class does not: vLLM is newer than its openai.
        fields = model
            .getattr(intern!(py, "__pydantic_extra__"))?
            .cast_into::<PyDict>()?;
    }
    let old = fields.get_item(&key)?;
    undo.append((&fields, &key, old))?;
    fields.set_item(key, value)
}

/// `item_id` and `output_index` of an event.
fn place(fields: &Bound<'_, PyDict>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    let py = fields.py();
    let get = |name: &Bound<'_, PyString>| -> PyResult<Py<PyAny>> {
        let value = fields.get_item(name)?;
        Ok(value
            .ok_or_else(|| PyKeyError::new_err(name.to_string()))?
            .unbind())
    };
    Ok((
        get(intern!(py, "item_id"))?,
        get(intern!(py, "output_index"))?,
    ))
}

fn gave_up(error: sse_rewrite::GaveUp) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn text(json: Vec<u8>) -> String {
    String::from_utf8(json)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
