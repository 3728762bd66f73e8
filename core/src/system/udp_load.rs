//! `UdpLoad`: datagrams of one size at a constant rate from a namespace, whether or not the destination receives
//! them.
//!
//! It is background load for other measurements. It counts the datagrams that the kernel accepted and never receives.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::host::netns;

const PAUSE: Duration = Duration::from_millis(1);
/// The most that is made up for after an interruption of the host; more would be a burst that was not requested.
const MOST_LATE: Duration = Duration::from_millis(20);

pub struct UdpLoad {
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl UdpLoad {
    /// Sends `bytes` of UDP payload each to `to` from the namespace `from`, `per_second` of them.
    pub fn new(
        from: Option<&str>,
        to: SocketAddrV4,
        bytes: usize,
        per_second: f64,
    ) -> io::Result<Self> {
        let socket = netns::within(from, || {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(to)?;
            Ok(socket)
        })?;
        let (sent, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (count, end) = (sent.clone(), stop.clone());
        let gap = Duration::from_secs_f64(1.0 / per_second);
        let work = move || {
            let payload = vec![0; bytes];
            let mut due = Instant::now();
            while !end.load(Ordering::Relaxed) {
                let now = Instant::now();
                due = due.max(now.checked_sub(MOST_LATE).unwrap_or(now));
                while due <= now {
                    // If no program listens at the port, the next call fails although its datagram was sent.
                    if socket.send(&payload).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    due += gap;
                }
                thread::sleep(PAUSE.max(due.saturating_duration_since(Instant::now())));
            }
        };
        let thread = thread::Builder::new()
            .name("keisoku-udp-load".into())
            .spawn(work)?;
        Ok(UdpLoad {
            sent,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for UdpLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic of a thread has been printed already.
            let _ = thread.join();
        }
    }
}

/// Python's `keisoku._core.UdpLoad`.
pub mod python {
    use std::net::SocketAddrV4;
    use std::sync::atomic::Ordering;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    /// Datagrams at a constant rate from a namespace (its path). They end by `close()` or with the object.
    ///
    /// Raises ValueError for an invalid address or rate, OSError if the socket cannot be opened.
    #[pyclass(frozen)]
    pub struct UdpLoad {
        load: Mutex<Option<super::UdpLoad>>,
    }

    #[pymethods]
    impl UdpLoad {
        #[new]
        fn new(
            py: Python<'_>,
            namespace: Option<&str>,
            address: &str,
            payload_bytes: usize,
            per_second: f64,
        ) -> PyResult<Self> {
            let to: SocketAddrV4 = address
                .parse()
                .map_err(|_| PyValueError::new_err(format!("{address} is no address and port")))?;
            if !(per_second > 0.0 && per_second < 1e9) {
                return Err(PyValueError::new_err("a rate is above zero"));
            }
            let load = py
                .detach(|| super::UdpLoad::new(namespace, to, payload_bytes, per_second))
                .map_err(|error| PyOSError::new_err(error.to_string()))?;
            Ok(UdpLoad {
                load: Mutex::new(Some(load)),
            })
        }

        /// Datagrams that the kernel accepted. Raises RuntimeError once closed.
        fn sent(&self) -> PyResult<u64> {
            let sent = self
                .lock()
                .as_ref()
                .map(|load| load.sent.load(Ordering::Relaxed));
            sent.ok_or_else(|| PyRuntimeError::new_err("the load is closed"))
        }

        /// Ends the load; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            py.detach(|| drop(self.lock().take()));
        }
    }

    impl UdpLoad {
        fn lock(&self) -> MutexGuard<'_, Option<super::UdpLoad>> {
            self.load.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
