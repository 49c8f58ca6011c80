//! The rewriter of bytes, for Python.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sse_rewrite::report::{Repaired, Report};
use sse_rewrite::{GaveUp, Policy, SseRewriter};

/// Rewrites the bytes of one event stream; see the stub for its methods.
#[pyclass(name = "SseRewriter")]
pub(crate) struct PySseRewriter {
    rewriter: SseRewriter,
    /// What one call returns, kept so that the next one need not make room again.
    out: Vec<u8>,
}

/// How much of that room is kept.
const KEPT_ROOM: usize = 64 << 10;

#[pymethods]
impl PySseRewriter {
    #[new]
    #[pyo3(signature = (
        *,
        max_items = None,
        max_identity_bytes = None,
        max_frame_bytes = None,
        max_held_bytes = None,
        openai_vocabulary = false,
    ))]
    fn new(
        max_items: Option<usize>,
        max_identity_bytes: Option<usize>,
        max_frame_bytes: Option<usize>,
        max_held_bytes: Option<usize>,
        openai_vocabulary: bool,
    ) -> Self {
        let default = Policy::default();
        Self {
            rewriter: SseRewriter::new(Policy {
                max_items: max_items.unwrap_or(default.max_items),
                max_identity_bytes: max_identity_bytes.unwrap_or(default.max_identity_bytes),
                max_frame_bytes: max_frame_bytes.unwrap_or(default.max_frame_bytes),
                max_held_bytes: max_held_bytes.unwrap_or(default.max_held_bytes),
                openai_vocabulary,
                ..default
            }),
            out: Vec::new(),
        }
    }

    fn feed<'py>(&mut self, py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
        self.rewriter.feed_into(data, &mut self.out);
        self.take(py)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.rewriter.finish_into(&mut self.out);
        self.take(py)
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(
            py,
            self.rewriter.report(),
            self.rewriter.repaired(),
            self.rewriter.inserted(),
            self.rewriter.gave_up(),
        )
    }
}

/// What was done to a stream; see `RewriterReport` of the stub.
pub(crate) fn report<'py>(
    py: Python<'py>,
    changes: &Report,
    repaired: &Repaired,
    inserted: &BTreeMap<&'static str, u64>,
    gave_up: Option<GaveUp>,
) -> PyResult<Bound<'py, PyDict>> {
    let changes: BTreeMap<&str, u64> = changes.counts().collect();
    let repaired: BTreeMap<_, _> = repaired
        .iter()
        .map(|(&(told, field, kind), &count)| ((field.key(), told.name(), kind), count))
        .collect();
    let report = PyDict::new(py);
    report.set_item("changes", changes)?;
    report.set_item("repaired", repaired)?;
    report.set_item("inserted", inserted)?;
    report.set_item("gave_up", gave_up.map(|reason| reason.to_string()))?;
    report.set_item("limit", gave_up.map(GaveUp::name))?;
    Ok(report)
}

impl PySseRewriter {
    fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let sent = PyBytes::new(py, &self.out);
        self.out.clear();
        self.out.shrink_to(KEPT_ROOM);
        sent
    }
}
