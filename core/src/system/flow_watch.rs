//! `FlowWatch`: what a port of a switch shows of the client behind it, counted by `bpf/flows.c`.
//!
//! It reads counters and interprets none, and the programs let every frame pass. The programs are removed when the
//! value is dropped, at the latest when the process ends.

use serde::Serialize;

use crate::latency::histogram::Buckets;

/// The same as `struct totals` of the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[repr(C)]
pub struct Totals {
    pub opened: u64,
    /// SYNs that repeat an earlier SYN.
    pub reopened: u64,
    /// Connections that were answered and closed.
    pub completed: u64,
    /// Connections that ended without an answer.
    pub broken: u64,
    pub answers: u64,
    /// From each request (from the first SYN, if that was repeated) to the first byte of its answer.
    pub answering_ns: u64,
    pub open: u64,
    /// Sums of the times at which open connections began, and of the ages of those that have ended, both modulo 2^64.
    pub open_since_ns: u64,
    pub closed_ns: u64,
    /// Connections that are not counted, because the table was full.
    pub untracked: u64,
    pub to_frames: u64,
    pub to_bytes: u64,
    pub from_frames: u64,
    pub from_bytes: u64,
}

/// The counters at one moment.
#[derive(Debug, Serialize)]
pub struct Counters {
    /// In ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub totals: Totals,
    /// Times from the first SYN to the client's FIN, of connections that completed since the previous reading.
    pub durations: Buckets,
}

#[cfg(bpf)]
mod attached {
    use std::fs::File;

    use aya::maps::{Array, HashMap, MapData};
    use aya::programs::tc::{SchedClassifier, TcAttachType, qdisc_add_clsact};
    use aya::util::KernelVersion;
    use aya::{Ebpf, EbpfLoader, Pod};

    use super::{Counters, Totals};
    use crate::host::kernel_clock::monotonic_ns;
    use crate::host::netns;
    use crate::latency::histogram::Histogram;

    static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/flows.o"));
    const BUCKETS: usize = 41 << 7;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Durations([u64; BUCKETS]);

    /// The same as `struct flow_key`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Key([u8; 12]);

    /// The same as `struct flow`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Flow {
        first_ns: u64,
        asked_ns: u64,
        last_ns: u64,
        sequence: u32,
        answered: u8,
        reopened: u8,
        unused: [u8; 2],
    }

    impl Flow {
        /// True if the client has given up without a FIN or RST: an unanswered SYN is repeated after a second, and
        /// then each time after twice as long (RFC 6298 §2, §5.5).
        fn is_given_up(&self, now_ns: u64) -> bool {
            let silent_ns = now_ns.saturating_sub(self.last_ns);
            let tried_ns = self.last_ns - self.first_ns;
            self.asked_ns == 0 && self.answered == 0 && silent_ns > 2 * tried_ns + SILENCE_NS
        }
    }

    /// The first repetition is due after one second; twice as much is allowed for a slow client.
    const SILENCE_NS: u64 = 3_000_000_000;
    /// At most this many abandoned connections are removed in one reading.
    const MOST_GIVEN_UP: usize = 100_000;

    // SAFETY: bytes, any of which are valid.
    unsafe impl Pod for Key {}
    // SAFETY: plain integers without padding, any bits are valid.
    unsafe impl Pod for Flow {}
    // SAFETY: plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for Totals {}
    // SAFETY: as above.
    unsafe impl Pod for Durations {}

    type LoadError = Box<dyn std::error::Error + Send + Sync>;

    pub struct Attached {
        namespace: Option<String>,
        program: Option<Ebpf>,
        before: Histogram,
        /// Connections that were removed here and that the programs still count as open: their number, the sum of the
        /// times at which they began, and the sum of their ages.
        given_up: u64,
        given_up_since_ns: u64,
        given_up_ns: u64,
    }

    impl Attached {
        pub fn new(namespace: Option<&str>, interface: &str) -> Result<Self, LoadError> {
            if let Some(path) = namespace {
                File::open(path)?;
            }
            let program = netns::within(namespace, || Ok(attach(interface)))??;
            Ok(Attached {
                namespace: namespace.map(str::to_owned),
                program: Some(program),
                before: Histogram::default(),
                given_up: 0,
                given_up_since_ns: 0,
                given_up_ns: 0,
            })
        }

        pub fn read(&mut self) -> Result<Counters, LoadError> {
            let program = self.program.as_mut().ok_or("the watch is closed")?;
            let given_up = forget(program)?;
            self.given_up += given_up.count;
            self.given_up_since_ns = self.given_up_since_ns.wrapping_add(given_up.since_ns);
            self.given_up_ns = self.given_up_ns.wrapping_add(given_up.ages_ns);
            let totals = program.map("totals").ok_or("no map `totals`")?;
            let durations = program.map("durations").ok_or("no map `durations`")?;
            let mut totals = Array::<_, Totals>::try_from(totals)?.get(&0, 0)?;
            let at_ns = monotonic_ns();
            totals.open = totals.open.wrapping_sub(self.given_up);
            totals.open_since_ns = totals.open_since_ns.wrapping_sub(self.given_up_since_ns);
            totals.closed_ns = totals.closed_ns.wrapping_add(self.given_up_ns);
            totals.broken += self.given_up;
            let seen = Array::<_, Durations>::try_from(durations)?.get(&0, 0)?;
            let seen = Histogram::from_counts(&seen.0);
            let reading = Counters {
                at_ns,
                totals,
                durations: seen.buckets_since(&self.before),
            };
            self.before = seen;
            Ok(reading)
        }
    }

    impl Drop for Attached {
        fn drop(&mut self) {
            // Before TCX links (Linux 6.6) a filter is removed by netlink, which acts on the thread's namespace.
            let program = self.program.take();
            let _ = netns::within(self.namespace.as_deref(), || {
                drop(program);
                Ok(())
            });
        }
    }

    #[derive(Default)]
    struct GivenUp {
        count: u64,
        since_ns: u64,
        ages_ns: u64,
    }

    /// Removes connections from the table that their clients have abandoned.
    fn forget(program: &mut Ebpf) -> Result<GivenUp, LoadError> {
        let map = program.map_mut("flows").ok_or("no map `flows`")?;
        let mut flows = HashMap::<&mut MapData, Key, Flow>::try_from(map)?;
        let now_ns = monotonic_ns();
        // The programs may remove entries at the same time, which is no error.
        let silent: Vec<(Key, Flow)> = flows
            .iter()
            .filter_map(Result::ok)
            .filter(|(_, flow)| flow.is_given_up(now_ns))
            .take(MOST_GIVEN_UP)
            .collect();
        let mut gone = GivenUp::default();
        for (key, flow) in silent {
            if flows.remove(&key).is_ok() {
                gone.count += 1;
                gone.since_ns = gone.since_ns.wrapping_add(flow.first_ns);
                // The age ends when the client would have tried again.
                gone.ages_ns = gone.ages_ns.wrapping_add(flow.last_ns - flow.first_ns);
            }
        }
        Ok(gone)
    }

    fn attach(interface: &str) -> Result<Ebpf, LoadError> {
        let mut program = EbpfLoader::new().load(OBJECT)?;
        if KernelVersion::current()? < KernelVersion::new(6, 6, 0) {
            // An error means that the qdisc exists already; it holds any number of programs.
            let _ = qdisc_add_clsact(interface);
        }
        for (name, way) in [
            ("from_client", TcAttachType::Ingress),
            ("to_client", TcAttachType::Egress),
        ] {
            let classifier: &mut SchedClassifier = program
                .program_mut(name)
                .ok_or("the object lacks a program")?
                .try_into()?;
            classifier.load()?;
            classifier.attach(interface, way)?;
        }
        Ok(program)
    }
}

/// Replaces `attached` in builds without the compiled programs.
#[cfg(not(bpf))]
mod attached {
    use super::Counters;

    pub enum Attached {}

    impl Attached {
        pub fn new(_: Option<&str>, _: &str) -> Result<Self, &'static str> {
            Err("keisoku was built without clang and libbpf's headers, so it has no BPF programs")
        }

        pub fn read(&mut self) -> Result<Counters, &'static str> {
            match *self {}
        }
    }
}

/// Python's `keisoku._core.FlowWatch`.
pub mod python {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    use super::attached::Attached;

    /// Counts what passes an interface of a namespace (None: the own one). It ends by `close()` or with the object.
    ///
    /// Raises RuntimeError if the kernel refuses the programs.
    #[pyclass(frozen)]
    pub struct FlowWatch {
        attached: Mutex<Option<Attached>>,
    }

    #[pymethods]
    impl FlowWatch {
        #[new]
        fn new(py: Python<'_>, namespace: Option<&str>, interface: &str) -> PyResult<Self> {
            let attached = py
                .detach(|| Attached::new(namespace, interface))
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            Ok(FlowWatch {
                attached: Mutex::new(Some(attached)),
            })
        }

        /// The counters now, as JSON of `Counters`. Raises RuntimeError once closed.
        fn read(&self, py: Python<'_>) -> PyResult<String> {
            let failed = |error: String| PyRuntimeError::new_err(error);
            py.detach(|| {
                let mut guard = self.lock();
                let attached = guard.as_mut().ok_or("the watch is closed")?;
                let reading = attached.read().map_err(|error| error.to_string())?;
                serde_json::to_string(&reading).map_err(|error| error.to_string())
            })
            .map_err(failed)
        }

        /// Takes the programs off the interface; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            py.detach(|| drop(self.lock().take()));
        }
    }

    impl FlowWatch {
        fn lock(&self) -> MutexGuard<'_, Option<Attached>> {
            self.attached.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
