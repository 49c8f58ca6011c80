//! What is read of one of vLLM's events.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString};
use sse_rewrite::contract::catalogue::{Effect, EventKind, classify};
use sse_rewrite::encode::write_string;
use sse_rewrite::{Event, Item, Scoped};

/// The fields of an event, as far as the contract speaks about them.
pub(crate) struct Reading<'py> {
    pub(crate) fields: Bound<'py, PyDict>,
    pub(crate) number: Option<u64>,
    event_type: Bound<'py, PyString>,
    part_type: Option<Bound<'py, PyString>>,
    item_id: Option<Bound<'py, PyString>>,
    name: Option<Bound<'py, PyString>>,
    call_id: Option<Bound<'py, PyString>>,
    response_id: Option<Bound<'py, PyString>>,
    item: Option<Bound<'py, PyBytes>>,
    part: Option<Bound<'py, PyBytes>>,
    text: Option<String>,
}

impl<'py> Reading<'py> {
    /// Reads an event: a pydantic model with a `type`.
    pub(crate) fn of(event: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = event.py();
        let fields = event
            .getattr(intern!(py, "__dict__"))?
            .cast_into::<PyDict>()?;
        let event_type = get(&fields, intern!(py, "type"))
            .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err("type"))?
            .cast_into::<PyString>()?;
        let mut reading = Self {
            number: count(&fields, intern!(py, "sequence_number")),
            part_type: None,
            item_id: None,
            name: None,
            call_id: None,
            response_id: None,
            item: None,
            part: None,
            text: None,
            event_type,
            fields,
        };
        reading.read(event)?;
        Ok(reading)
    }

    fn read(&mut self, event: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = event.py();
        let fields = &self.fields;
        let string = |name| {
            let value = get(fields, name)?;
            value.cast_into::<PyString>().ok()
        };
        let part = get(fields, intern!(py, "part"));
        if let Some(part) = &part {
            let kind = part.getattr(intern!(py, "type")).ok();
            self.part_type = kind.and_then(|kind| kind.cast_into::<PyString>().ok());
        }
        let event_type = self.event_type.to_str()?;
        let part_type = self.part_type.as_ref().map(|kind| kind.to_str());
        match classify(event_type, part_type.transpose()?) {
            EventKind::Created => {
                let response = get(fields, intern!(py, "response"));
                let id = response.and_then(|response| response.getattr(intern!(py, "id")).ok());
                self.response_id = id.and_then(|id| id.cast_into::<PyString>().ok());
            }
            EventKind::Added | EventKind::Done => {
                let item = get(fields, intern!(py, "item"));
                self.item = item.map(|item| json(&item)).transpose()?;
            }
            EventKind::Scoped(scope) => {
                self.item_id = string(intern!(py, "item_id"));
                self.name = string(intern!(py, "name"));
                if scope.effect == Effect::Whole && self.name.is_none() {
                    // Older classes do not have it.
                    self.name = extra(event, intern!(py, "name"));
                }
                self.call_id = string(intern!(py, "call_id"));
                self.part = part.map(|part| json(&part)).transpose()?;
                let text = match (scope.effect, scope.text) {
                    (Effect::Delta, _) => string(intern!(py, "delta")),
                    (Effect::Whole, Some(key)) => string(&PyString::intern(py, key)),
                    _ => None,
                };
                if let Some(text) = text {
                    let text = text.to_str()?;
                    let mut quoted = String::with_capacity(text.len() + 2);
                    write_string(text, &mut quoted);
                    self.text = Some(quoted);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The event, as the engine takes it.
    pub(crate) fn event(&self) -> PyResult<Event<'_>> {
        let py = self.fields.py();
        let event_type = self.event_type.to_str()?;
        let part_type = text(self.part_type.as_ref())?;
        let index = count(&self.fields, intern!(py, "output_index"));
        let item = || {
            let item = self.item.as_ref()?;
            Item::read(item.as_bytes()).ok()
        };
        Ok(match classify(event_type, part_type) {
            EventKind::Created => Event::Created {
                response_id: text(self.response_id.as_ref())?,
            },
            EventKind::Progress => Event::Progress,
            EventKind::Added => Event::Announced {
                index,
                item: item(),
            },
            EventKind::Done => Event::Closed {
                index,
                item: item(),
            },
            EventKind::Terminal { failed } => Event::Terminal {
                failed,
                output: Vec::new(),
            },
            EventKind::Error => Event::Error,
            EventKind::Other => Event::OfResponse,
            EventKind::Scoped(_) => Event::Scoped(Scoped {
                event_type,
                part_type,
                index,
                item_id: text(self.item_id.as_ref())?,
                content_index: part_index(&self.fields, intern!(py, "content_index")),
                summary_index: part_index(&self.fields, intern!(py, "summary_index")),
                name: text(self.name.as_ref())?,
                call_id: text(self.call_id.as_ref())?,
                text: self.text.as_deref().map(str::as_bytes),
                part: self.part.as_ref().map(|part| part.as_bytes()),
                annotation: None,
            }),
        })
    }
}

/// The JSON of a pydantic model as the client will get it.
pub(crate) fn json<'py>(model: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    static BY_ALIAS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = model.py();
    let by_alias = BY_ALIAS.get_or_try_init(py, || -> PyResult<Py<PyDict>> {
        let arguments = PyDict::new(py);
        arguments.set_item("by_alias", true)?;
        Ok(arguments.unbind())
    })?;
    // pydantic does not ask the methods of a model that is inside an event either.
    let serializer = model.getattr(intern!(py, "__pydantic_serializer__"))?;
    let to_json = serializer.getattr(intern!(py, "to_json"))?;
    let text = to_json.call((model,), Some(by_alias.bind(py)))?;
    Ok(text.cast_into::<PyBytes>()?)
}

fn get<'py>(fields: &Bound<'py, PyDict>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    let value = fields.get_item(name).ok().flatten()?;
    (!value.is_none()).then_some(value)
}

/// A string that an event has and its class has not.
fn extra<'py>(
    event: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> Option<Bound<'py, PyString>> {
    let extra = event
        .getattr(intern!(event.py(), "__pydantic_extra__"))
        .ok()?;
    let extra = extra.cast_into::<PyDict>().ok()?;
    get(&extra, name)?.cast_into::<PyString>().ok()
}

fn count(fields: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> Option<u64> {
    let value = get(fields, name)?;
    value.cast_into::<PyInt>().ok()?.extract().ok()
}

/// An index of a part: one that is no count, such as -1, is beyond all others.
fn part_index(fields: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> Option<u64> {
    let value = get(fields, name)?;
    Some(value.extract().unwrap_or(u64::MAX))
}

fn text<'a>(value: Option<&'a Bound<'_, PyString>>) -> PyResult<Option<&'a str>> {
    value.map(|value| value.to_str()).transpose()
}
