//! Python's `keisoku._core.OutageNear`.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;

use super::near::{Near, Plan};

/// The measuring end of a plan in JSON (`Plan`), which begins to send at once.
///
/// Raises ValueError for JSON that is no plan, OSError if a socket cannot be opened.
#[pyclass(frozen, module = "keisoku._core")]
pub struct OutageNear {
    near: Mutex<Near>,
}

#[pymethods]
impl OutageNear {
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Self> {
        let plan: Plan = serde_json::from_str(plan_json).map_err(invalid)?;
        let near = py.detach(|| Near::begin(plan)).map_err(os_error)?;
        Ok(OutageNear {
            near: Mutex::new(near),
        })
    }

    /// JSON of `Glance`.
    fn glance(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&locked(&self.near).glance()))
    }

    /// JSON of `NearRecord`.
    fn record(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&locked(&self.near).record()))
    }

    /// Packets from now on belong to this session, and go to this address; datagrams only to one of the same family.
    ///
    /// Raises ValueError for a text that is no address with a port.
    fn renew(&self, token: u64, remote: &str) -> PyResult<()> {
        let remote = remote.parse::<SocketAddr>().map_err(invalid)?;
        locked(&self.near).renew(token, remote);
        Ok(())
    }

    /// Sends nothing more; what still comes is kept.
    fn quiet(&self) {
        locked(&self.near).quiet();
    }

    /// Ends it; the second time nothing happens. Raises OSError if it failed.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.near).end()).map_err(os_error)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn os_error(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
