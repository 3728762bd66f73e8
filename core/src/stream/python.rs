//! Python's `keisoku._core.StreamEnd`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;

use super::end;
use super::report::Task;

/// One end of all flows of a measurement, on connected sockets whose descriptors `tasks_json` names.
///
/// Raises ValueError for invalid tasks, OSError if a socket cannot be used.
#[pyclass(frozen)]
pub struct StreamEnd {
    end: Mutex<Option<end::StreamEnd>>,
}

#[pymethods]
impl StreamEnd {
    #[new]
    fn new(py: Python<'_>, tasks_json: &str) -> PyResult<Self> {
        let tasks: Vec<Task> = serde_json::from_str(tasks_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let end = py.detach(|| end::StreamEnd::new(tasks)).map_err(os_error)?;
        Ok(StreamEnd {
            end: Mutex::new(Some(end)),
        })
    }

    /// Sends on every flow for `duration_s`, waits for it, and returns a report of each as JSON.
    fn send(&self, py: Python<'_>, duration_s: f64) -> PyResult<String> {
        let duration = seconds(duration_s)?;
        py.detach(|| self.with(|end| end.send(duration).map_err(os_error)))
            .and_then(|reports| json(&reports?))
    }

    /// Waits for every receiver; `offered` are datagrams by flow. Returns a report of each as JSON.
    fn received(
        &self,
        py: Python<'_>,
        offered: Vec<(u32, u64)>,
        quiet_s: f64,
        patience_s: f64,
    ) -> PyResult<String> {
        let (quiet, patience) = (seconds(quiet_s)?, seconds(patience_s)?);
        py.detach(|| self.with(|end| end.received(&offered, quiet, patience)))
            .and_then(|reports| json(&reports))
    }

    /// What the kernel reports about every connection that sent, as JSON of (flow, facts).
    fn connections(&self) -> PyResult<String> {
        self.with(|end| end.connections())
            .and_then(|told| json(&told))
    }

    /// Ends the threads and closes the sockets; closing twice is no error.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl StreamEnd {
    fn with<T>(&self, work: impl FnOnce(&mut end::StreamEnd) -> T) -> PyResult<T> {
        match self.lock().as_mut() {
            Some(end) => Ok(work(end)),
            None => Err(PyRuntimeError::new_err("the streams are closed")),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<end::StreamEnd>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn os_error(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn json<T: Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
