//! Python's `keisoku._core.OutageNear` and `keisoku._core.OutageFar`.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;

use super::far::{Far, Wanted};
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

    /// Packets from now on belong to this session.
    fn renew(&self, token: u64) {
        locked(&self.near).renew(token);
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

/// The other end, at UDP port `port` of the addresses that clients reached, in a namespace (a path) or here.
///
/// Raises OSError if it cannot begin.
#[pyclass(frozen, module = "keisoku._core")]
pub struct OutageFar {
    far: Mutex<Far>,
}

#[pymethods]
impl OutageFar {
    #[new]
    fn new(namespace: Option<String>, port: u16, most_per_second: u64) -> PyResult<Self> {
        let far = Far::begin(namespace, port, most_per_second).map_err(os_error)?;
        Ok(OutageFar {
            far: Mutex::new(far),
        })
    }

    /// Opens the socket at an address of this host; returns its port. Raises ValueError for text that is no address,
    /// OSError if it cannot be opened.
    fn listen(&self, local: &str) -> PyResult<u16> {
        locked(&self.far).listen(address(local)?).map_err(os_error)
    }

    /// Lets a client at `peer` in, which reached this host at `local`; returns JSON of `Opened`. `wanted_json`: a `Wanted`.
    ///
    /// Raises ValueError for JSON that is no wish, OSError with a sentence for the client if it is refused.
    fn open(&self, py: Python<'_>, wanted_json: &str, peer: &str, local: &str) -> PyResult<String> {
        let wanted: Wanted = serde_json::from_str(wanted_json).map_err(invalid)?;
        let (peer, local) = (address(peer)?, address(local)?);
        let opened = py.detach(|| locked(&self.far).open(&wanted, peer, local));
        json(&opened.map_err(PyOSError::new_err)?)
    }

    /// JSON of `FarRecord`; None if there is no such session.
    fn record(&self, py: Python<'_>, token: u64) -> PyResult<Option<String>> {
        let record = py.detach(|| locked(&self.far).record(token));
        record.map(|record| json(&record)).transpose()
    }

    /// Ends a session and forgets it.
    fn close(&self, token: u64) {
        locked(&self.far).close(token);
    }

    /// Ends it all; the second time nothing happens. Raises OSError if it failed.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.far).end()).map_err(os_error)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(text: &str) -> PyResult<IpAddr> {
    let plain = text.split('%').next().unwrap_or(text);
    plain
        .parse()
        .map_err(|_| invalid(format!("{text} is no address")))
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
