//! Python's `keisoku._core.SerialLinks`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::{Bed, Links};

/// Serialising links between TUN devices that it creates. They are removed by `close()`, with the object or with the
/// process.
///
/// `bed_json`: a `bed::Bed`. Raises ValueError for JSON that is no bed, OSError if a device cannot be created.
#[pyclass(frozen)]
pub struct SerialLinks {
    links: Mutex<Option<Links>>,
}

#[pymethods]
impl SerialLinks {
    #[new]
    fn new(py: Python<'_>, bed_json: &str) -> PyResult<Self> {
        let bed: Bed = serde_json::from_str(bed_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let links = py
            .detach(|| Links::new(&bed))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(SerialLinks {
            links: Mutex::new(Some(links)),
        })
    }

    /// Lets the sources send; the hosts that they send to must be ready. After `close()` nothing happens.
    fn begin(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(links) = self.lock().as_ref() {
                links.begin();
            }
        });
    }

    /// All counts at one moment, as JSON of `bed::Truth`. Raises RuntimeError once closed.
    fn truth(&self, py: Python<'_>) -> PyResult<String> {
        let truth = py.detach(|| self.lock().as_ref().and_then(Links::truth));
        let truth = truth.ok_or_else(|| PyRuntimeError::new_err("the links are closed"))?;
        serde_json::to_string(&truth).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Ends the thread and removes the devices; closing twice is no error.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl SerialLinks {
    fn lock(&self) -> MutexGuard<'_, Option<Links>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
