//! Python's `keisoku._core.HttpLoad`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::{Plan, Stop};

/// A load of HTTP requests according to a plan in JSON (`Plan`). It ends by itself, by `stop()` or with the object.
///
/// Raises ValueError for an invalid plan, OSError if its threads cannot be started.
#[pyclass(frozen)]
pub struct HttpLoad {
    load: Mutex<Option<super::HttpLoad>>,
    stop: Stop,
}

#[pymethods]
impl HttpLoad {
    #[new]
    fn new(plan_json: &str) -> PyResult<Self> {
        let plan: Plan = serde_json::from_str(plan_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let load = super::HttpLoad::new(plan).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
            _ => PyOSError::new_err(error.to_string()),
        })?;
        let stop = load.stop();
        Ok(HttpLoad {
            load: Mutex::new(Some(load)),
            stop,
        })
    }

    /// Waits for the end and returns what was seen, as JSON of `LoadCounts`. Raises RuntimeError the second time,
    /// OSError if a thread failed.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let load = self.lock().take();
        let load = load.ok_or_else(|| PyRuntimeError::new_err("the load is finished"))?;
        let counts = py
            .detach(|| load.finish())
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        counts
            .to_json()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Ends it early; `finish` then returns what was seen.
    fn stop(&self) {
        self.stop.now();
    }
}

impl HttpLoad {
    fn lock(&self) -> MutexGuard<'_, Option<super::HttpLoad>> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
