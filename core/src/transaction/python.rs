//! Python's `keisoku._core.transact` and `keisoku._core.TransactionServer`.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::row::bytes_of;
use super::{Plan, Service, client, server};

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

/// Answers requests at a socket that listens or is bound, on a thread of its own. `service_json`: a `Service`.
///
/// Raises ValueError for JSON that is no service, OSError if the thread cannot be started.
#[pyclass(frozen)]
pub struct TransactionServer {
    server: Mutex<server::Server>,
}

#[pymethods]
impl TransactionServer {
    #[new]
    fn new(py: Python<'_>, service_json: &str, descriptor: i32) -> PyResult<Self> {
        let service: Service = serde_json::from_str(service_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let server = py
            .detach(|| server::Server::new(service, descriptor))
            .map_err(os_error)?;
        Ok(TransactionServer {
            server: Mutex::new(server),
        })
    }

    /// Ends it and returns what it saw, as JSON; the second time nothing but zeros.
    fn end(&self, py: Python<'_>) -> PyResult<String> {
        let report = py
            .detach(|| {
                let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
                server.end()
            })
            .map_err(os_error)?;
        serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

fn os_error(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
