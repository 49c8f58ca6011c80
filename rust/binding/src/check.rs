//! The checker, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sse_rewrite::{Checker, Policy};

/// Judges the bytes of one event stream; see the stub for its methods.
#[pyclass(name = "Checker")]
pub(crate) struct PyChecker {
    checker: Option<Checker>,
}

#[pymethods]
impl PyChecker {
    #[new]
    fn new() -> Self {
        Self {
            checker: Some(Checker::new(Policy::default())),
        }
    }

    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let checker = self.checker.as_mut().ok_or_else(has_ended)?;
        py.detach(|| checker.feed(data));
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        let checker = self.checker.take().ok_or_else(has_ended)?;
        Ok(py.detach(|| checker.finish().to_json()))
    }
}

fn has_ended() -> PyErr {
    PyValueError::new_err("the stream has ended")
}
