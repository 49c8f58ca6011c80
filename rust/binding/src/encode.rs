//! Frames of deltas, for Python.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyType};
use sse_rewrite::Template;

/// Writes the frames of deltas; see the stub for its methods.
#[pyclass(name = "DeltaEncoder")]
pub(crate) struct PyDeltaEncoder {
    learnt: Option<Learnt>,
    /// What one call returns, kept so that the next one need not make room again.
    out: String,
}

/// How much of that room is kept.
const KEPT_ROOM: usize = 64 << 10;

/// The last event whose frame is known.
struct Learnt {
    class: Py<PyType>,
    fields: Vec<(Py<PyString>, Field)>,
    template: Template,
}

/// What a field of an event like it must be.
enum Field {
    /// The text of the delta.
    Text,
    /// The sequence number.
    Number,
    /// The same string, integer or nothing.
    Same(Py<PyAny>),
    /// A list without elements, such as `logprobs` that nobody asked for.
    EmptyList,
}

#[pymethods]
impl PyDeltaEncoder {
    #[new]
    fn new() -> Self {
        Self {
            learnt: None,
            out: String::new(),
        }
    }

    fn encode<'py>(&mut self, event: &Bound<'py, PyAny>) -> Option<Bound<'py, PyString>> {
        let learnt = self.learnt.as_ref()?;
        if !event.get_type().is(&learnt.class) {
            return None;
        }
        let (text, number) = learnt.read(&fields(event)?)?;
        self.out.clear();
        self.out.shrink_to(KEPT_ROOM);
        learnt
            .template
            .write(text.to_str().ok()?, number, &mut self.out);
        Some(PyString::new(event.py(), &self.out))
    }

    fn learn(&mut self, event: &Bound<'_, PyAny>, frame: &str) -> bool {
        self.learnt = Learnt::of(event, frame);
        self.learnt.is_some()
    }
}

impl Learnt {
    fn of(event: &Bound<'_, PyAny>, frame: &str) -> Option<Self> {
        let (mut text, mut number) = (None, None);
        let mut known = Vec::new();
        for (key, value) in fields(event)? {
            let key = key.cast_into_exact::<PyString>().ok()?;
            let field = match key.to_str().ok()? {
                "delta" => {
                    text = Some(value.cast_into_exact::<PyString>().ok()?);
                    Field::Text
                }
                "sequence_number" => {
                    number = Some(integer(&value)?);
                    Field::Number
                }
                _ if value.is_none()
                    || value.is_exact_instance_of::<PyString>()
                    || value.is_exact_instance_of::<PyInt>() =>
                {
                    Field::Same(value.unbind())
                }
                _ if is_empty_list(&value) => Field::EmptyList,
                _ => return None,
            };
            known.push((key.unbind(), field));
        }
        Some(Self {
            class: event.get_type().unbind(),
            fields: known,
            template: Template::of(frame, text?.to_str().ok()?, number?)?,
        })
    }

    /// Text and number of an event that is otherwise the one that was learnt from.
    fn read<'py>(&self, fields: &Bound<'py, PyDict>) -> Option<(Bound<'py, PyString>, i64)> {
        if fields.len() != self.fields.len() {
            return None;
        }
        let (mut text, mut number) = (None, None);
        for ((key, value), (name, field)) in fields.iter().zip(&self.fields) {
            if !is_same(&key, name.as_any()) {
                return None;
            }
            match field {
                Field::Text => text = Some(value.cast_into_exact::<PyString>().ok()?),
                Field::Number => number = Some(integer(&value)?),
                Field::Same(known) if is_same(&value, known) => (),
                Field::EmptyList if is_empty_list(&value) => (),
                Field::Same(_) | Field::EmptyList => return None,
            }
        }
        Some((text?, number?))
    }
}

/// The fields of a pydantic model; `None` where it has others than those of its class.
fn fields<'py>(event: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let py = event.py();
    let extra = event.getattr(intern!(py, "__pydantic_extra__")).ok()?;
    let none_extra = match extra.cast_exact::<PyDict>() {
        Ok(extra) => extra.is_empty(),
        Err(_) => extra.is_none(),
    };
    if !none_extra {
        return None;
    }
    let fields = event.getattr(intern!(py, "__dict__")).ok()?;
    fields.cast_into_exact().ok()
}

/// Whether two values, of which the second is a string, an integer or nothing, are the same.
fn is_same(value: &Bound<'_, PyAny>, known: &Py<PyAny>) -> bool {
    let known = known.bind(value.py());
    value.is(known) || (value.get_type().is(known.get_type()) && value.eq(known).unwrap_or(false))
}

fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

fn is_empty_list(value: &Bound<'_, PyAny>) -> bool {
    value
        .cast_exact::<PyList>()
        .is_ok_and(pyo3::types::PyListMethods::is_empty)
}
