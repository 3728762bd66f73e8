//! Python's `keisoku._core.transact`.

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::row::bytes_of;
use super::{Plan, client};

/// Carries out the transactions of a plan in JSON (`Plan`) from the calling thread's network namespace.
///
/// Returns the rows as bytes (`Row`), and as JSON what else was seen. Raises ValueError for JSON that is no plan,
/// OSError with a sentence if connections cannot be opened.
#[pyfunction]
pub fn transact<'py>(py: Python<'py>, plan_json: &str) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let plan: Plan = serde_json::from_str(plan_json)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (bytes, report) = py
        .detach(|| client::transact(plan).map(|(rows, report)| (bytes_of(&rows), report)))
        .map_err(PyOSError::new_err)?;
    let report = serde_json::to_string(&report)
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((PyBytes::new(py, &bytes), report))
}
