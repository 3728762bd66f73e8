//! `Throttle`: loads `bpf/throttle.c` for each port of a lab device, and reads what it did there.
//!
//! It decides nothing: Python says how much time a frame takes of a port's capacity and of the device's CPU. The
//! programs are detached when the value is dropped, at the latest when the process ends.

use serde::{Deserialize, Serialize};

/// What a throttled device is given. Without any of `frame_ns` and `byte_ns` nothing is dropped.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Limits {
    /// Time of the capacity that each frame takes, and each byte of it on an Ethernet link.
    pub frame_ns: f64,
    pub byte_ns: f64,
    /// A frame is dropped if those before it would still keep a link of this rate busy for longer.
    pub burst_ns: u64,
    /// Time of the device's CPU that each frame takes; `None`: the program is not there.
    pub cost_ns: Option<u64>,
}

/// What was done to the frames that arrived at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throttled {
    pub passed_frames: u64,
    pub dropped_frames: u64,
    /// The longest that a frame would have waited for those before it; no frame waits in fact.
    pub longest_backlog_ns: u64,
    pub costing_frames: u64,
    /// Time of the device's CPU that these frames took in the program's loop.
    pub cost_spent_ns: u64,
}

const FRACTION_BITS: u32 = 20;
/// Above this a program would hold up its CPU; a backlog of this length fits into its integers.
#[cfg_attr(not(bpf), allow(dead_code))]
const MOST_COST_NS: u64 = 100_000;
#[cfg_attr(not(bpf), allow(dead_code))]
const MOST_BACKLOG_NS: u64 = 1 << 42;

impl Limits {
    /// The times of a frame and of a byte, and the burst, as the program has them: in 2^-20 ns.
    #[cfg_attr(not(bpf), allow(dead_code))]
    fn fixed(&self) -> Result<[u64; 3], String> {
        let longest = self.frame_ns + 65_536.0 * self.byte_ns;
        let sane = |value: f64| value.is_finite() && value >= 0.0;
        if !sane(self.frame_ns) || !sane(self.byte_ns) || longest > MOST_BACKLOG_NS as f64 {
            return Err(format!("a frame cannot take {longest} ns"));
        }
        if self.burst_ns > MOST_BACKLOG_NS {
            return Err(format!("a burst cannot take {} ns", self.burst_ns));
        }
        if self.cost_ns.is_some_and(|cost_ns| cost_ns > MOST_COST_NS) {
            return Err(format!("a frame cannot cost more than {MOST_COST_NS} ns"));
        }
        let fixed = |value: f64| (value * f64::from(1 << FRACTION_BITS)).round() as u64;
        Ok([
            fixed(self.frame_ns),
            fixed(self.byte_ns),
            self.burst_ns << FRACTION_BITS,
        ])
    }

    #[cfg_attr(not(bpf), allow(dead_code))]
    fn polices(&self) -> bool {
        self.frame_ns > 0.0 || self.byte_ns > 0.0
    }
}

/// The programs on their ports, and the maps that they share with this process.
#[cfg(bpf)]
mod attached {
    use std::io;

    use aya::maps::Array;
    use aya::programs::tc::{NlOptions, TcAttachOptions};
    use aya::programs::{SchedClassifier, TcAttachType, Xdp, XdpMode, tc};
    use aya::util::KernelVersion;
    use aya::{Ebpf, EbpfLoader, Pod};

    use super::{FRACTION_BITS, Limits, Throttled};
    use crate::host::netns;

    static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/throttle.o"));
    /// Before the programs of a device, for kernels that order filters by number.
    const FIRST: u16 = 1;

    /// The same as `struct policed` of the program.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Policed {
        passed: u64,
        dropped: u64,
        longest: u64,
        backlog: u64,
        at_ns: u64,
    }

    /// The same as `struct burdened`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Burdened {
        frames: u64,
        spent_ns: u64,
        over_ns: u64,
    }

    // SAFETY: plain integers of one size, no padding, any bits are valid.
    unsafe impl Pod for Policed {}
    // SAFETY: as above.
    unsafe impl Pod for Burdened {}

    type LoadError = Box<dyn std::error::Error + Send + Sync>;

    pub struct Attached {
        namespace: String,
        ports: Vec<Ebpf>,
    }

    impl Attached {
        pub fn new(
            namespace: &str,
            interfaces: &[String],
            limits: &Limits,
        ) -> Result<Self, LoadError> {
            let fixed = limits.fixed()?;
            let ports = netns::within(Some(namespace), || {
                let load = |interface: &String| attach(interface, limits, fixed);
                interfaces
                    .iter()
                    .map(load)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(io::Error::other)
            })?;
            Ok(Self {
                namespace: namespace.into(),
                ports,
            })
        }

        /// What was done so far, port by port.
        pub fn throttled(&self) -> Result<Vec<Throttled>, LoadError> {
            self.ports.iter().map(read).collect()
        }
    }

    impl Drop for Attached {
        fn drop(&mut self) {
            // Before TCX links (Linux 6.6) a filter is removed by netlink, which acts on the namespace
            // of the calling thread. An error means that the namespace is gone, and the filter with it.
            let ports = std::mem::take(&mut self.ports);
            let _ = netns::within(Some(&self.namespace), || {
                drop(ports);
                Ok(())
            });
        }
    }

    fn attach(interface: &str, limits: &Limits, fixed: [u64; 3]) -> Result<Ebpf, LoadError> {
        let [each_frame, each_byte, burst] = fixed;
        let cost_ns = limits.cost_ns.unwrap_or_default();
        let mut object = EbpfLoader::new()
            .override_global("each_frame", &each_frame, true)
            .override_global("each_byte", &each_byte, true)
            .override_global("burst", &burst, true)
            .override_global("cost_ns", &cost_ns, true)
            .load(OBJECT)?;
        if limits.polices() {
            let program = object.program_mut("police").ok_or("no program `police`")?;
            let program: &mut Xdp = program.try_into()?;
            program.load()?;
            program.attach(interface, XdpMode::Driver)?;
        }
        if limits.cost_ns.is_some() {
            let program = object.program_mut("burden").ok_or("no program `burden`")?;
            let program: &mut SchedClassifier = program.try_into()?;
            program.load()?;
            if KernelVersion::current()? >= KernelVersion::new(6, 6, 0) {
                program.attach(interface, TcAttachType::Ingress)?;
            } else {
                tc::qdisc_add_clsact(interface)?;
                let options = TcAttachOptions::Netlink(NlOptions {
                    priority: FIRST,
                    ..NlOptions::default()
                });
                program.attach_with_options(interface, TcAttachType::Ingress, options)?;
            }
        }
        Ok(object)
    }

    fn read(object: &Ebpf) -> Result<Throttled, LoadError> {
        let policed = object.map("policed").ok_or("no map `policed`")?;
        let policed = Array::<_, Policed>::try_from(policed)?.get(&0, 0)?;
        let burdened = object.map("burdened").ok_or("no map `burdened`")?;
        let burdened = Array::<_, Burdened>::try_from(burdened)?.get(&0, 0)?;
        Ok(Throttled {
            passed_frames: policed.passed,
            dropped_frames: policed.dropped,
            longest_backlog_ns: policed.longest >> FRACTION_BITS,
            costing_frames: burdened.frames,
            cost_spent_ns: burdened.spent_ns,
        })
    }
}

/// Python's `keisoku._core.Throttle`.
pub mod python {
    use std::sync::{Mutex, MutexGuard};

    use pyo3::exceptions::{PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    use super::{Limits, attached};

    /// Programs at each of `interfaces` of a namespace that carry out `limits_json`, a `Limits` that
    /// holds at each port by itself. They are removed by `close()` or with the object.
    ///
    /// Raises ValueError for JSON that holds no limits, RuntimeError if the kernel refuses a program.
    #[pyclass]
    pub struct Throttle {
        attached: Mutex<Option<attached::Attached>>,
    }

    #[pymethods]
    impl Throttle {
        #[new]
        fn new(
            py: Python<'_>,
            namespace: &str,
            interfaces: Vec<String>,
            limits_json: &str,
        ) -> PyResult<Self> {
            let limits: Limits = serde_json::from_str(limits_json)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let attached = py
                .detach(|| attached::Attached::new(namespace, &interfaces, &limits))
                .map_err(|error| refused(&error))?;
            Ok(Self {
                attached: Mutex::new(Some(attached)),
            })
        }

        /// JSON: what was done to the frames of each port so far, in the order of the interfaces.
        fn throttled(&self) -> PyResult<String> {
            let guard = self.lock()?;
            let attached = guard
                .as_ref()
                .ok_or_else(|| refused(&"the device is closed"))?;
            let throttled = attached.throttled().map_err(|error| refused(&error))?;
            serde_json::to_string(&throttled).map_err(|error| refused(&error))
        }

        /// Takes the programs off the interfaces; closing twice is no error.
        fn close(&self, py: Python<'_>) -> PyResult<()> {
            let taken = self.lock()?.take();
            py.detach(|| drop(taken));
            Ok(())
        }
    }

    impl Throttle {
        fn lock(&self) -> PyResult<MutexGuard<'_, Option<attached::Attached>>> {
            self.attached.lock().map_err(|error| refused(&error))
        }
    }

    fn refused(error: &impl ToString) -> PyErr {
        PyRuntimeError::new_err(error.to_string())
    }
}

/// Replaces `attached` in builds without the compiled programs.
#[cfg(not(bpf))]
mod attached {
    use super::{Limits, Throttled};

    pub enum Attached {}

    impl Attached {
        pub fn new(_: &str, _: &[String], _: &Limits) -> Result<Self, &'static str> {
            Err("keisoku was built without clang and libbpf's headers, so it has no BPF programs")
        }

        pub fn throttled(&self) -> Result<Vec<Throttled>, &'static str> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FRACTION_BITS, Limits};

    #[test]
    fn a_rate_is_kept_to_a_millionth() {
        let limits = Limits {
            frame_ns: 1e9 / 148_809_523.0,
            burst_ns: 2_000_000,
            ..Limits::default()
        };
        let [frame, byte, burst] = limits.fixed().unwrap();
        let rate = 1e9 * f64::from(1 << FRACTION_BITS) / frame as f64;
        assert!((rate / 148_809_523.0 - 1.0).abs() < 1e-6, "{rate}");
        assert_eq!((byte, burst), (0, 2_000_000 << FRACTION_BITS));
    }

    #[test]
    fn what_does_not_fit_the_program_is_refused() {
        let none = Limits::default();
        for limits in [
            Limits {
                frame_ns: f64::NAN,
                ..none
            },
            Limits {
                frame_ns: -1.0,
                ..none
            },
            Limits {
                byte_ns: 1e12,
                ..none
            },
            Limits {
                burst_ns: u64::MAX,
                ..none
            },
            Limits {
                cost_ns: Some(100_001),
                ..none
            },
        ] {
            assert!(limits.fixed().is_err(), "{limits:?}");
        }
    }
}
