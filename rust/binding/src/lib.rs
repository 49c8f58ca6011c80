//! `vllm_stable_ids._core`: the Python binding of `sse_rewrite`.
//!
//! Thin on purpose: it turns Python values into the core's and back, and decides nothing.

mod check;
mod encode;
mod objects;
mod proxy;
mod reading;
mod rewriter;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::check::PyChecker;
    #[pymodule_export]
    use super::encode::PyDeltaEncoder;
    #[pymodule_export]
    use super::objects::PyEngine;
    #[pymodule_export]
    use super::proxy::run;
    #[pymodule_export]
    use super::rewriter::PySseRewriter;
}
