//! `DropWatch`: where the kernel drops the test frames of a trial, each with its identity (`bpf/drops.c`).
//!
//! Memory is fixed when it is opened: a trial keeps the identities of the first four million drops and counts all. It
//! decides nothing, and what it cannot watch on this kernel it names. All programs end with the value.

#[cfg(bpf)]
mod attached;
pub mod dropped;
#[cfg(bpf)]
pub mod tracing;
#[cfg(bpf)]
pub mod types;

/// Replaces `attached` in builds without the compiled programs.
#[cfg(not(bpf))]
mod attached {
    use std::io;

    use super::dropped::Dropped;

    pub enum Attached {}

    impl Attached {
        pub fn new(_: &[(Option<String>, String)]) -> io::Result<Self> {
            Err(io::Error::other(
                "keisoku was built without clang and libbpf's headers, so it has no BPF programs",
            ))
        }

        pub fn begin(&mut self, _: u16, _: u32) -> io::Result<()> {
            match *self {}
        }

        pub fn end(&mut self) -> io::Result<(Dropped, &[u8])> {
            match *self {}
        }
    }
}

/// Python's `keisoku._core.DropWatch`.
pub mod python {
    use std::io;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    use super::attached::Attached;

    /// Watches where the kernel drops test frames; `ports` are the tester's own, each with the file of its namespace.
    ///
    /// It ends by `close()` or with the object. Raises RuntimeError if the kernel refuses the programs.
    #[pyclass(frozen)]
    pub struct DropWatch {
        attached: Mutex<Option<Attached>>,
    }

    #[pymethods]
    impl DropWatch {
        #[new]
        fn new(py: Python<'_>, ports: Vec<(Option<String>, String)>) -> PyResult<Self> {
            let attached = py.detach(|| Attached::new(&ports)).map_err(failed)?;
            Ok(DropWatch {
                attached: Mutex::new(Some(attached)),
            })
        }

        /// Counts what becomes of the frames of `streams` streams, the first of which has this number, until `end`.
        fn begin(&self, py: Python<'_>, first_stream: u16, streams: u32) -> PyResult<()> {
            py.detach(|| {
                self.lock()
                    .as_mut()
                    .map_or_else(closed, |own| own.begin(first_stream, streams))
            })
            .map_err(failed)
        }

        /// JSON of `Dropped`, and 16 bytes for each of the first drops: stream << 48 | number, time << 16 | place, where
        /// the time is CLOCK_MONOTONIC in ns without its upper 16 bits.
        fn end<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>)> {
            let mut guard = self.lock();
            let own = guard
                .as_mut()
                .ok_or_else(|| PyRuntimeError::new_err("it is closed"))?;
            let (dropped, drops) = own.end().map_err(failed)?;
            let told = serde_json::to_string(&dropped)
                .map_err(io::Error::other)
                .map_err(failed)?;
            Ok((told, PyBytes::new(py, drops)))
        }

        /// Ends all programs; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            py.detach(|| drop(self.lock().take()));
        }
    }

    impl DropWatch {
        fn lock(&self) -> MutexGuard<'_, Option<Attached>> {
            self.attached.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    fn closed() -> io::Result<()> {
        Err(io::Error::other("it is closed"))
    }

    fn failed(error: io::Error) -> PyErr {
        PyRuntimeError::new_err(error.to_string())
    }
}
