//! The `faulty` device: loads `bpf/faulty.c`, attaches it to two ports of a namespace and reads its counters.
//!
//! It decides nothing: Python says in JSON which frames suffer a fault, and the program counts the faults that it
//! applied. The program is detached when the value is dropped, at the latest when the process ends.

use serde::{Deserialize, Serialize};

/// What the program does to one frame.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Drop,
    Duplicate,
    /// The frame changes places with the next frame of its stream.
    Swap,
    Corrupt,
    /// The frame has other headers.
    Rewrite,
}

/// One fault that is to be applied.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Fault {
    /// `None`: the frame with this sequence number in every stream.
    pub stream: Option<u16>,
    pub sequence: u64,
    pub action: Action,
    /// For `Corrupt`: 1 is the last byte of the frame without its FCS.
    #[serde(default)]
    pub byte_from_end: u32,
    /// For `Corrupt`: the bits of that byte to flip.
    #[serde(default)]
    pub flip: u8,
    /// For `Rewrite`: by how many bytes the frame becomes longer at its front.
    #[serde(default)]
    pub grow: u32,
    /// For `Rewrite`: bytes of the frame that is then sent, each with its place from the front.
    #[serde(default)]
    pub patches: Vec<(u16, u8)>,
}

/// Of a stream, one frame in `every` is rewritten, beginning with the frame `first`.
#[derive(Clone, Debug, Deserialize)]
pub struct Rule {
    pub stream: u16,
    pub first: u64,
    pub every: u64,
    pub grow: u32,
    pub patches: Vec<(u16, u8)>,
}

/// The most outages that the program can be given.
pub const OUTAGES: usize = 64;

/// Every frame of the streams from `first_stream` to `last_stream` is dropped from one time to another, on
/// CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Deserialize)]
#[repr(C)]
pub struct Outage {
    pub first_stream: u64,
    pub last_stream: u64,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// What the program did to the frames of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Applied {
    pub seen: u64,
    pub dropped: u64,
    pub duplicated: u64,
    pub swapped: u64,
    pub corrupted: u64,
    pub rewritten: u64,
    /// Frames held back for a swap after which no frame of the stream came.
    pub held: u64,
    /// Intended faults that the kernel refused.
    pub failed: u64,
}

impl Applied {
    /// The counts with their names, as Python gets them.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("seen", self.seen),
            ("dropped", self.dropped),
            ("duplicated", self.duplicated),
            ("swapped", self.swapped),
            ("corrupted", self.corrupted),
            ("rewritten", self.rewritten),
            ("held", self.held),
            ("failed", self.failed),
        ]
    }
}

/// The stream number that Python gets for frames without a signature.
pub const UNSIGNED: i64 = -1;

/// The program on its two ports, and the maps that it shares with this process.
#[cfg(bpf)]
mod attached {
    use std::collections::BTreeMap;
    use std::ffi::CString;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::thread;

    use aya::maps::{Array, HashMap};
    use aya::programs::{SchedClassifier, TcAttachType, tc};
    use aya::util::KernelVersion;
    use aya::{Ebpf, EbpfLoader, Pod};

    use super::{Action, Applied, Fault, OUTAGES, Outage, Rule, UNSIGNED};

    static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/faulty.o"));
    /// The most bytes that one rewriting writes.
    const PATCHES: usize = 64;
    const REWRITE: u32 = 5;
    const ANY_STREAM: u64 = u64::MAX;
    const UNSIGNED_STREAM: u64 = u64::MAX - 1;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct FaultKey {
        stream: u64,
        sequence: u64,
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct FaultValue {
        action: u32,
        byte_from_end: u32,
        flip: u32,
        grow: u32,
        patches: u32,
        patch: [u32; PATCHES],
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct RuleValue {
        first: u64,
        every: u64,
        fault: FaultValue,
        unused: u32,
    }

    // SAFETY: plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for FaultValue {}
    // SAFETY: two words, then an even number of half words: no padding, any bits are valid.
    unsafe impl Pod for RuleValue {}
    // SAFETY: two plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for FaultKey {}
    // SAFETY: four plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for Outage {}
    // SAFETY: eight plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for Applied {}

    type LoadError = Box<dyn std::error::Error + Send + Sync>;

    pub struct Attached {
        namespace: File,
        program: Option<Ebpf>,
    }

    impl Attached {
        pub fn new(namespace: &str, ports: [&str; 2], faults: &[Fault]) -> Result<Self, LoadError> {
            let namespace = File::open(namespace)?;
            let program = within(&namespace, || attach(ports, faults))??;
            Ok(Self {
                namespace,
                program: Some(program),
            })
        }

        /// Replaces the outages; there may be at most `OUTAGES`.
        pub fn interrupt(&mut self, outages: &[Outage]) -> Result<(), LoadError> {
            let Some(program) = &mut self.program else {
                return Ok(());
            };
            let map = program
                .map_mut("outages")
                .ok_or("the program has no map `outages`")?;
            let mut map: Array<_, Outage> = Array::try_from(map)?;
            let none = Outage {
                first_stream: 0,
                last_stream: 0,
                from_ns: 0,
                to_ns: 0,
            };
            // The program reads up to the first entry without an end: that entry is written last.
            for place in (0..OUTAGES).rev() {
                map.set(place as u32, outages.get(place).unwrap_or(&none), 0)?;
            }
            Ok(())
        }

        /// Replaces the rules; the last one of a stream holds.
        pub fn rewrite(&mut self, rules: &[Rule]) -> Result<(), LoadError> {
            let Some(program) = &mut self.program else {
                return Ok(());
            };
            let map = program
                .map_mut("rules")
                .ok_or("the program has no map `rules`")?;
            let mut map: HashMap<_, u64, RuleValue> = HashMap::try_from(map)?;
            let before: Vec<u64> = map.keys().collect::<Result<_, _>>()?;
            for stream in before {
                map.remove(&stream)?;
            }
            for rule in rules {
                let made = RuleValue {
                    first: rule.first,
                    every: rule.every,
                    fault: rewriting(rule.grow, &rule.patches)?,
                    unused: 0,
                };
                map.insert(u64::from(rule.stream), made, 0)?;
            }
            Ok(())
        }

        /// What was done so far, by stream number.
        pub fn applied(&self) -> Result<BTreeMap<i64, Applied>, LoadError> {
            let Some(program) = &self.program else {
                return Ok(BTreeMap::new());
            };
            let map = program
                .map("applied")
                .ok_or("the program has no map `applied`")?;
            let map: HashMap<_, u64, Applied> = HashMap::try_from(map)?;
            let mut streams = BTreeMap::new();
            for entry in map.iter() {
                let (stream, applied) = entry?;
                streams.insert(
                    if stream == UNSIGNED_STREAM {
                        UNSIGNED
                    } else {
                        stream as i64
                    },
                    applied,
                );
            }
            Ok(streams)
        }
    }

    impl Drop for Attached {
        fn drop(&mut self) {
            // Before TCX links (Linux 6.6) a filter is removed by netlink, which acts on the namespace
            // of the calling thread. An error means that the namespace is gone, and the filter with it.
            let program = self.program.take();
            let _ = within(&self.namespace, || drop(program));
        }
    }

    /// Runs `work` on a thread of its own inside `namespace`; the caller stays where it is.
    fn within<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: the descriptor is open for the whole call; only this short-lived thread moves.
                if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(work())
            });
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn attach(ports: [&str; 2], faults: &[Fault]) -> Result<Ebpf, LoadError> {
        let [port_a, port_b] = [interface_index(ports[0])?, interface_index(ports[1])?];
        let mut program = EbpfLoader::new()
            .override_global("port_a", &port_a, true)
            .override_global("port_b", &port_b, true)
            .map_max_entries("faults", faults.len().max(1) as u32)
            .load(OBJECT)?;
        let map = program
            .map_mut("faults")
            .ok_or("the program has no map `faults`")?;
        let mut map: HashMap<_, FaultKey, FaultValue> = HashMap::try_from(map)?;
        for fault in faults {
            let key = FaultKey {
                stream: fault.stream.map_or(ANY_STREAM, u64::from),
                sequence: fault.sequence,
            };
            map.insert(key, value(fault)?, 0)?;
        }
        let classifier: &mut SchedClassifier = program
            .program_mut("faulty")
            .ok_or("the object has no program `faulty`")?
            .try_into()?;
        classifier.load()?;
        let links_without_qdisc = KernelVersion::current()? >= KernelVersion::new(6, 6, 0);
        for port in ports {
            if !links_without_qdisc {
                // An error means that the qdisc exists already; it holds any number of programs.
                let _ = tc::qdisc_add_clsact(port);
            }
            classifier.attach(port, TcAttachType::Ingress)?;
        }
        Ok(program)
    }

    fn value(fault: &Fault) -> Result<FaultValue, LoadError> {
        let action = match fault.action {
            Action::Drop => 1,
            Action::Duplicate => 2,
            Action::Swap => 3,
            Action::Corrupt => 4,
            Action::Rewrite => REWRITE,
        };
        Ok(FaultValue {
            action,
            byte_from_end: fault.byte_from_end,
            flip: u32::from(fault.flip),
            ..rewriting(fault.grow, &fault.patches)?
        })
    }

    fn rewriting(grow: u32, patches: &[(u16, u8)]) -> Result<FaultValue, LoadError> {
        let mut patch = [0; PATCHES];
        if patches.len() > PATCHES {
            return Err(format!(
                "a rewriting of {} bytes is more than {PATCHES}",
                patches.len()
            )
            .into());
        }
        for (place, (offset, byte)) in patch.iter_mut().zip(patches) {
            *place = u32::from(*offset) << 8 | u32::from(*byte);
        }
        Ok(FaultValue {
            action: REWRITE,
            byte_from_end: 0,
            flip: 0,
            grow,
            patches: patches.len() as u32,
            patch,
        })
    }

    fn interface_index(name: &str) -> Result<u32, LoadError> {
        let name = CString::new(name)?;
        // SAFETY: `name` is a string ended by zero that lives across the call.
        match unsafe { libc::if_nametoindex(name.as_ptr()) } {
            0 => Err(io::Error::last_os_error().into()),
            index => Ok(index),
        }
    }
}

/// Python's `keisoku._core.Faulty`.
pub mod python {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use pyo3::exceptions::{PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    #[cfg(not(bpf))]
    use super::absent as attached;
    #[cfg(bpf)]
    use super::attached;
    use super::{Applied, Fault, OUTAGES, Outage, Rule};

    /// A program on two interfaces of a namespace that forwards between them and applies `faults_json`,
    /// a list of `Fault`. It is removed by `close()` or with the object.
    ///
    /// Raises ValueError for JSON that is no list of faults, RuntimeError if the kernel refuses the program.
    #[pyclass]
    pub struct Faulty {
        attached: Mutex<Option<attached::Attached>>,
    }

    #[pymethods]
    impl Faulty {
        #[new]
        fn new(
            py: Python<'_>,
            namespace: &str,
            interface_a: &str,
            interface_b: &str,
            faults_json: &str,
        ) -> PyResult<Self> {
            let faults: Vec<Fault> = serde_json::from_str(faults_json)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let attached = py
                .detach(|| attached::Attached::new(namespace, [interface_a, interface_b], &faults))
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            Ok(Self {
                attached: Mutex::new(Some(attached)),
            })
        }

        /// Counts of what was really done: stream number to name to count; stream -1 holds the frames
        /// without a signature, of which only `seen` is counted.
        fn applied(&self) -> PyResult<BTreeMap<i64, BTreeMap<&'static str, u64>>> {
            let guard = self
                .attached
                .lock()
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let attached = guard
                .as_ref()
                .ok_or_else(|| PyRuntimeError::new_err("the device is closed"))?;
            let streams = attached
                .applied()
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let named = |applied: Applied| applied.named().into_iter().collect();
            Ok(streams
                .into_iter()
                .map(|(stream, applied)| (stream, named(applied)))
                .collect())
        }

        /// Drops every frame of some streams for a while: `outages_json` is a list of `Outage`, which replaces the one
        /// before. Raises ValueError for JSON that is no such list or too long a one.
        fn interrupt(&self, outages_json: &str) -> PyResult<()> {
            let outages: Vec<Outage> = serde_json::from_str(outages_json)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            if outages.len() > OUTAGES {
                return Err(PyValueError::new_err(format!(
                    "more than {OUTAGES} outages"
                )));
            }
            self.with(|attached| attached.interrupt(&outages))
        }

        /// Rewrites frames of streams by their number: `rules_json` is a list of `Rule`, which replaces the one before.
        /// Raises ValueError for JSON that is no such list, RuntimeError if one writes too many bytes.
        fn rewrite(&self, rules_json: &str) -> PyResult<()> {
            let rules: Vec<Rule> = serde_json::from_str(rules_json)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            self.with(|attached| attached.rewrite(&rules))
        }

        /// Takes the program off its interfaces; closing twice is no error.
        fn close(&self, py: Python<'_>) -> PyResult<()> {
            let taken = self
                .attached
                .lock()
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?
                .take();
            py.detach(|| drop(taken));
            Ok(())
        }
    }

    impl Faulty {
        /// What the program is asked to do while it is there.
        fn with<E: ToString>(
            &self,
            work: impl FnOnce(&mut attached::Attached) -> Result<(), E>,
        ) -> PyResult<()> {
            let mut guard = self
                .attached
                .lock()
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let attached = guard
                .as_mut()
                .ok_or_else(|| PyRuntimeError::new_err("the device is closed"))?;
            work(attached).map_err(|error| PyRuntimeError::new_err(error.to_string()))
        }
    }
}

/// Replaces `attached` in builds without the compiled program.
#[cfg(not(bpf))]
mod absent {
    use std::collections::BTreeMap;

    use super::{Applied, Fault, Outage, Rule};

    pub enum Attached {}

    impl Attached {
        pub fn new(_: &str, _: [&str; 2], _: &[Fault]) -> Result<Self, &'static str> {
            Err("keisoku was built without clang and libbpf's headers, so it has no BPF programs")
        }

        pub fn interrupt(&mut self, _: &[Outage]) -> Result<(), &'static str> {
            match *self {}
        }

        pub fn rewrite(&mut self, _: &[Rule]) -> Result<(), &'static str> {
            match *self {}
        }

        pub fn applied(&self) -> Result<BTreeMap<i64, Applied>, &'static str> {
            match *self {}
        }
    }
}
