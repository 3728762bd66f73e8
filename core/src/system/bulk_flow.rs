//! `BulkFlow`: one TCP connection between the kernels of two network namespaces, over which data is sent without a
//! pause.
//!
//! It is background load for other measurements. It counts bytes and measures nothing.

use std::io;
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::host::netns;
use crate::stream::socket::set;
use crate::stream::tcp;

const CHUNK: usize = 64 * 1024;
/// Timeout for connecting and for unacknowledged data: a path may lose every packet, and the kernel's own timeout is
/// two minutes.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct BulkFlow {
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    ends: [TcpStream; 2],
    threads: Vec<JoinHandle<()>>,
}

impl BulkFlow {
    /// Connects from namespace `from` to `to`, where it listens at `at`, and begins. `bytes_per_second` paces the
    /// sender (as IP bytes without headers), None leaves it to `congestion`, an algorithm of the kernel's.
    pub fn new(
        from: &str,
        to: &str,
        at: SocketAddrV4,
        bytes_per_second: Option<u64>,
        congestion: &str,
    ) -> io::Result<Self> {
        let listener = netns::within(Some(to), || TcpListener::bind(at))?;
        let at = listener.local_addr()?;
        let sender = netns::within(Some(from), || connect(at, bytes_per_second, congestion))?;
        let (receiver, _) = listener.accept()?;
        let (sent, received) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let source = sender.try_clone()?;
        let sink = receiver.try_clone()?;
        let (counts_sent, counts_received) = (sent.clone(), received.clone());
        let stop = Arc::<AtomicBool>::default();
        let ended = stop.clone();
        // A path may lose every packet, so that writing and reading both block; closing the stream ends either loop.
        // `stop` ends a loop that is not blocked.
        let sending = move || {
            tcp::send(source.as_fd(), CHUNK, None, &ended, &counts_sent);
        };
        let ended = stop.clone();
        let receiving = move || {
            tcp::receive(
                sink.as_fd(),
                CHUNK,
                Instant::now(),
                &ended,
                &counts_received,
            );
        };
        let named = |name: &str| thread::Builder::new().name(name.into());
        // If the second thread cannot be started, the first one ends because the streams at its far end are dropped.
        let threads = vec![
            named("keisoku-bulk-tx").spawn(sending)?,
            named("keisoku-bulk-rx").spawn(receiving)?,
        ];
        Ok(BulkFlow {
            sent,
            received,
            stop,
            ends: [sender, receiver],
            threads,
        })
    }

    /// Bytes of the stream that the sending kernel took and that the receiver read.
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.sent.load(Ordering::Relaxed),
            self.received.load(Ordering::Relaxed),
        )
    }
}

impl Drop for BulkFlow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for end in &self.ends {
            // An error means that the peer has closed the connection already.
            let _ = end.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            // The panic of a thread has been printed already.
            let _ = thread.join();
        }
    }
}

fn connect(
    at: SocketAddr,
    bytes_per_second: Option<u64>,
    congestion: &str,
) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    set(
        stream.as_fd(),
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        congestion.as_bytes(),
    )?;
    if let Some(rate) = bytes_per_second {
        set(
            stream.as_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            &rate.to_ne_bytes(),
        )?;
    }
    Ok(stream)
}

/// Python's `keisoku._core.BulkFlow`.
pub mod python {
    use std::net::SocketAddrV4;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    /// A TCP connection between two namespaces (given as paths) over which data is always sent. It ends by `close()`
    /// or with the object.
    ///
    /// Raises ValueError for an address that cannot be parsed (expected: '198.19.1.2:5001'), OSError if the
    /// connection fails.
    #[pyclass(frozen)]
    pub struct BulkFlow {
        flow: Mutex<Option<super::BulkFlow>>,
    }

    #[pymethods]
    impl BulkFlow {
        #[new]
        fn new(
            py: Python<'_>,
            sender: &str,
            receiver: &str,
            address: &str,
            bytes_per_second: Option<u64>,
            congestion: &str,
        ) -> PyResult<Self> {
            let at: SocketAddrV4 = address
                .parse()
                .map_err(|_| PyValueError::new_err(format!("{address} is no address and port")))?;
            let flow = py
                .detach(|| super::BulkFlow::new(sender, receiver, at, bytes_per_second, congestion))
                .map_err(|error| PyOSError::new_err(error.to_string()))?;
            Ok(BulkFlow {
                flow: Mutex::new(Some(flow)),
            })
        }

        /// Bytes that the sending kernel took and that the receiver read. Raises RuntimeError once closed.
        fn bytes(&self) -> PyResult<(u64, u64)> {
            let bytes = self.lock().as_ref().map(super::BulkFlow::bytes);
            bytes.ok_or_else(|| PyRuntimeError::new_err("the flow is closed"))
        }

        /// Ends the connection; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            py.detach(|| drop(self.lock().take()));
        }
    }

    impl BulkFlow {
        fn lock(&self) -> MutexGuard<'_, Option<super::BulkFlow>> {
            self.flow.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
