//! `HopWatch`: when the test frames of a trial pass the points of the kernel's way through this host (`bpf/hops.c`).
//!
//! The kernel keeps the points of its latest frames only, in fixed memory; the account of a trial copies those of the
//! frames that it finds slow. It decides nothing, and what it cannot watch on this kernel it names. All programs end with
//! the value.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::account::late::{Followed, Late, LateFrame};
use crate::drops::dropped::Absent;

/// An interface that test frames passed.
#[derive(Debug, Serialize)]
pub struct Interface {
    pub namespace: u32,
    pub interface: u32,
    pub name: String,
    /// The kind of its root qdisc.
    pub qdisc: String,
    /// The function that takes what it receives, as that of a bridge; 0: none.
    pub handler: u64,
}

/// What was seen in a trial beside the hops.
#[derive(Debug, Default, Serialize)]
pub struct Passed {
    pub interfaces: Vec<Interface>,
    /// Packets whose end could not be read: nobody knows whether they were test frames.
    pub unread: u64,
    pub absent: Vec<Absent>,
}

/// The slowest frames of a trial, and a sample of all.
type Frames = (Vec<LateFrame>, Vec<LateFrame>);

/// What the account of a trial needs: where hops are, and a place for the slowest frames.
pub struct Hops {
    followed: Arc<dyn Followed>,
    kept: Mutex<Option<Frames>>,
}

impl Hops {
    pub fn late(&self) -> Late {
        Late::new(self.followed.clone())
    }

    pub fn keep(&self, late: Late) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(late.finish());
    }

    fn take(&self) -> Frames {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take().unwrap_or_default()
    }
}

#[cfg(bpf)]
mod attached {
    use std::io;
    use std::mem::offset_of;
    use std::sync::Arc;
    use std::sync::atomic::{Ordering, fence};

    use aya::maps::{HashMap, MapData};
    use aya::{Btf, Ebpf, EbpfLoader, Pod};

    use super::{Interface, Passed};
    use crate::account::late::{Followed, Hop};
    use crate::chance::GOLDEN;
    use crate::drops::dropped::Absent;
    use crate::drops::tracing::{self, Event, Kernel, Link, OfKernel};
    use crate::drops::types::{FUNCTION, TYPEDEF};
    use crate::port::bpf::mapped::Mapped;
    use crate::port::bpf::program::cause;

    static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/hops.o"));

    /// As in `hops.c`.
    const SLOT_BITS: u32 = 16;
    const SLOTS: usize = 1 << SLOT_BITS;
    const HOPS: usize = 16;
    const INTERFACES: usize = 1024;
    /// Programs and the kernel's events.
    const EVENTS: [(&str, &str); 5] = [
        ("backlog", "netif_rx"),
        ("polled", "napi_gro_receive_entry"),
        ("received", "netif_receive_skb"),
        ("queued", "net_dev_queue"),
        ("started", "net_dev_start_xmit"),
    ];

    #[repr(C)]
    struct Control {
        watching: u64,
        first_stream: u32,
        streams: u32,
        pad: [u8; 112],
        unread: u64,
        unnamed: u64,
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Stamp {
        time_and_packet: u64,
        namespace: u32,
        interface_and_point: u32,
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Slot {
        stream_and_sequence: u64,
        passed: u64,
        hops: [Stamp; HOPS],
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Key {
        namespace: u32,
        interface: u32,
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Value {
        handler: u64,
        name: [u8; 16],
        qdisc: [u8; 16],
    }

    // SAFETY: integers without padding between them, any bits are valid.
    unsafe impl Pod for Key {}
    // SAFETY: as above.
    unsafe impl Pod for Value {}

    struct Slots(Mapped<Slot>);

    impl Slots {
        fn of(&self, frame: u64) -> *mut Slot {
            self.0
                .at((frame.wrapping_mul(GOLDEN) >> (u64::BITS - SLOT_BITS)) as usize)
        }
    }

    impl Followed for Slots {
        fn hops(&self, frame: u64) -> Vec<Hop> {
            // SAFETY: inside the mapping, plain integers; what the kernel changes meanwhile is found out below.
            let slot = unsafe { self.of(frame).read_volatile() };
            fence(Ordering::Acquire);
            // SAFETY: as above.
            let still =
                unsafe { (&raw const (*self.of(frame)).stream_and_sequence).read_volatile() };
            if slot.stream_and_sequence != frame || still != frame {
                return Vec::new();
            }
            let kept = (slot.passed as usize).min(HOPS);
            let hop = |stamp: &Stamp| Hop {
                time_ns: stamp.time_and_packet >> 16,
                packet: stamp.time_and_packet as u16,
                namespace: stamp.namespace,
                interface_and_point: stamp.interface_and_point,
            };
            slot.hops[..kept].iter().map(hop).collect()
        }
    }

    pub struct Attached {
        control: Mapped<Control>,
        slots: Arc<Slots>,
        known: Mapped<u64>,
        maps: Ebpf,
        absent: Vec<Absent>,
        _links: Vec<Link>,
    }

    impl Attached {
        pub fn new() -> io::Result<Self> {
            let btf = Btf::from_sys_fs().map_err(io::Error::other)?;
            let of_kernel = OfKernel::alone()?;
            let mut loader = EbpfLoader::new();
            let maps = loader.btf(Some(&btf)).load(OBJECT).map_err(cause)?;
            let object = tracing::fitted(OBJECT, &maps, &of_kernel)?;
            let missing = || io::Error::other("a map is not in the object");
            let control = Mapped::new(maps.map("control").ok_or_else(missing)?, 1)?;
            let slots = Mapped::new(maps.map("slots").ok_or_else(missing)?, SLOTS)?;
            let known = Mapped::new(maps.map("known").ok_or_else(missing)?, INTERFACES)?;
            let mut kernel = Kernel {
                has_reasons: false,
                dynptr_from_skb: of_kernel.types.number(FUNCTION, "bpf_dynptr_from_skb"),
            };
            let (mut absent, mut links) = (Vec::new(), Vec::new());
            for (program, event) in EVENTS {
                let number = of_kernel
                    .types
                    .number(TYPEDEF, &format!("btf_trace_{event}"));
                let Some(number) = number else {
                    absent.push((event, "this kernel has no such event".into()));
                    continue;
                };
                let point = Event::Tracepoint(number);
                // Before Linux 6.11 such a program may not ask the kernel for a packet's bytes.
                let linked =
                    tracing::attach(&object, program, point, &of_kernel, kernel).or_else(|error| {
                        if kernel.dynptr_from_skb.take().is_none() {
                            return Err(error);
                        }
                        tracing::attach(&object, program, point, &of_kernel, kernel)
                    });
                match linked {
                    Ok(link) => links.push(link),
                    // The first refusal is that of all, as a rule.
                    Err(error) if links.is_empty() => return Err(error),
                    Err(error) => absent.push((event, error.to_string())),
                }
            }
            if links.is_empty() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            if kernel.dynptr_from_skb.is_none() {
                absent.push(("pages", String::new()));
            }
            Ok(Attached {
                control,
                slots: Arc::new(Slots(slots)),
                known,
                maps,
                absent,
                _links: links,
            })
        }

        pub fn followed(&self) -> Arc<dyn Followed> {
            self.slots.clone()
        }

        /// Follows frames of these streams from now on.
        pub fn begin(&mut self, first_stream: u16, streams: u32) -> io::Result<()> {
            let mut interfaces = self.interfaces()?;
            let keys: Vec<Key> = interfaces.keys().filter_map(Result::ok).collect();
            for key in keys {
                interfaces.remove(&key).map_err(io::Error::other)?;
            }
            // SAFETY: inside the mappings; no program writes while nothing is watched.
            unsafe {
                self.slots.0.at(0).write_bytes(0, SLOTS);
                self.known.at(0).write_bytes(0, INTERFACES);
                let control = self.control.at(0);
                (*control).first_stream = u32::from(first_stream);
                (*control).streams = streams;
                ((*control).unread, (*control).unnamed) = (0, 0);
            }
            self.control.store(offset_of!(Control, watching), 1);
            Ok(())
        }

        pub fn end(&mut self) -> io::Result<Passed> {
            self.control.store(offset_of!(Control, watching), 0);
            let unread = self.control.load(offset_of!(Control, unread));
            let mut absent = self.absent.clone();
            if self.control.load(offset_of!(Control, unnamed)) > 0 {
                absent.push(("interfaces", String::new()));
            }
            let found: Vec<_> = self.interfaces()?.iter().filter_map(Result::ok).collect();
            let mut interfaces: Vec<_> = found
                .iter()
                .map(|(key, value)| Interface {
                    namespace: key.namespace,
                    interface: key.interface,
                    name: tracing::text(&value.name),
                    qdisc: tracing::text(&value.qdisc),
                    handler: value.handler,
                })
                .collect();
            interfaces.sort_by_key(|one| (one.namespace, one.interface));
            Ok(Passed {
                interfaces,
                unread,
                absent,
            })
        }

        fn interfaces(&mut self) -> io::Result<HashMap<&mut MapData, Key, Value>> {
            let map = self.maps.map_mut("interfaces");
            HashMap::try_from(map.ok_or(io::ErrorKind::NotFound)?).map_err(io::Error::other)
        }
    }
}

/// Replaces `attached` in builds without the compiled programs.
#[cfg(not(bpf))]
mod attached {
    use std::io;
    use std::sync::Arc;

    use super::Passed;
    use crate::account::late::Followed;

    pub enum Attached {}

    impl Attached {
        pub fn new() -> io::Result<Self> {
            Err(io::Error::other(
                "keisoku was built without clang and libbpf's headers, so it has no BPF programs",
            ))
        }

        pub fn followed(&self) -> Arc<dyn Followed> {
            match *self {}
        }

        pub fn begin(&mut self, _: u16, _: u32) -> io::Result<()> {
            match *self {}
        }

        pub fn end(&mut self) -> io::Result<Passed> {
            match *self {}
        }
    }
}

/// Watches the points of the kernel that test frames pass.
///
/// It ends by `close()` or with the object. Raises RuntimeError if the kernel refuses the programs.
#[pyclass(frozen)]
pub struct HopWatch {
    attached: Mutex<Option<attached::Attached>>,
    hops: Arc<Hops>,
}

#[pymethods]
impl HopWatch {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let attached = py.detach(attached::Attached::new).map_err(failed)?;
        let followed = attached.followed();
        Ok(HopWatch {
            attached: Mutex::new(Some(attached)),
            hops: Arc::new(Hops {
                followed,
                kept: Mutex::new(None),
            }),
        })
    }

    /// Follows the frames of `streams` streams, the first of which has this number, until `end`.
    fn begin(&self, py: Python<'_>, first_stream: u16, streams: u32) -> PyResult<()> {
        py.detach(|| {
            let mut guard = self.lock();
            let own = guard.as_mut().ok_or_else(closed)?;
            own.begin(first_stream, streams)
        })
        .map_err(failed)
    }

    /// JSON of `Passed`, and as native 64-bit integers rows of frames and rows of their hops.
    ///
    /// A frame: whether it is one of the slowest (1) or of the sample (0), stream, number, port, when it was sent and its
    /// latency, in ns. The slowest come first. A hop: index of the frame's row, time (modulo 2^48), bits of the packet's
    /// address, namespace, interface << 8 | point.
    fn end<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(String, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let mut guard = self.lock();
        let own = guard.as_mut().ok_or_else(closed).map_err(failed)?;
        let passed = own.end().map_err(failed)?;
        let text = serde_json::to_string(&passed)
            .map_err(std::io::Error::other)
            .map_err(failed)?;
        let (slowest, sample) = self.hops.take();
        let (mut frames, mut hops) = (Vec::new(), Vec::new());
        let slow = slowest.iter().map(|frame| (1, frame));
        for (row, (kind, frame)) in slow.chain(sample.iter().map(|one| (0, one))).enumerate() {
            frames.extend([
                kind,
                (frame.frame >> 48) as i64,
                (frame.frame & crate::frame::signature::MASK_48) as i64,
                frame.port as i64,
                frame.sent_ns as i64,
                frame.latency_ns,
            ]);
            for hop in &frame.hops {
                hops.extend([
                    row as i64,
                    hop.time_ns as i64,
                    i64::from(hop.packet),
                    i64::from(hop.namespace),
                    i64::from(hop.interface_and_point),
                ]);
            }
        }
        let bytes =
            |rows: Vec<i64>| -> Vec<u8> { rows.into_iter().flat_map(i64::to_ne_bytes).collect() };
        Ok((
            text,
            PyBytes::new(py, &bytes(frames)),
            PyBytes::new(py, &bytes(hops)),
        ))
    }

    /// Ends all programs; closing twice is no error.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl HopWatch {
    pub fn hops(&self) -> Arc<Hops> {
        self.hops.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<attached::Attached>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> std::io::Error {
    std::io::Error::other("it is closed")
}

fn failed(error: std::io::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
