//! The reverse proxy, for the command line.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the proxy as `args` say, the name of the program first; returns its exit status.
#[pyfunction]
#[pyo3(name = "run_proxy")]
pub(crate) fn run(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| stable_ids_proxy::run(args))
}
