//! `VlanTags`: frames between an interface with VLAN tags and one without, by `bpf/tags.c`, also on a kernel without 8021q.
//!
//! The programs are removed when the value is dropped, at the latest when the process ends; where the kernel has no links
//! for them (before 6.6), with the interfaces.

/// An ethertype, and priority and number, as they are in a frame.
pub type Tag = (u16, u16);

/// The same as MOST_TAGS of the programs.
pub const MOST_TAGS: usize = 2;

#[cfg(bpf)]
mod attached {
    use std::ffi::CString;
    use std::fs::File;

    use aya::programs::tc::{SchedClassifier, TcAttachType, qdisc_add_clsact};
    use aya::util::KernelVersion;
    use aya::{Ebpf, EbpfLoader, Pod};

    use super::{MOST_TAGS, Tag};
    use crate::host::netns;

    static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tags.o"));

    /// The same as `struct tags`.
    #[derive(Clone, Copy, Default)]
    #[repr(C)]
    struct Tags([[u16; 2]; MOST_TAGS]);

    // SAFETY: integers of one size, no padding, any bits are valid.
    unsafe impl Pod for Tags {}

    type LoadError = Box<dyn std::error::Error + Send + Sync>;

    pub struct Attached {
        _program: Ebpf,
    }

    impl Attached {
        pub fn new(
            namespace: Option<&str>,
            outside: &str,
            inside: &str,
            tags: &[Tag],
        ) -> Result<Self, LoadError> {
            if tags.len() > MOST_TAGS {
                return Err(format!("{MOST_TAGS} tags at most").into());
            }
            let mut wanted = Tags::default();
            for (place, &(ethertype, control)) in wanted.0.iter_mut().zip(tags) {
                *place = [ethertype, control];
            }
            if let Some(path) = namespace {
                File::open(path)?;
            }
            let program = netns::within(namespace, || Ok(attach(outside, inside, &wanted)))??;
            Ok(Attached { _program: program })
        }
    }

    fn attach(outside: &str, inside: &str, tags: &Tags) -> Result<Ebpf, LoadError> {
        let mut program = EbpfLoader::new()
            .override_global("tags", tags, true)
            .override_global("outside", &index(outside)?, true)
            .override_global("inside", &index(inside)?, true)
            .load(OBJECT)?;
        if KernelVersion::current()? < KernelVersion::new(6, 6, 0) {
            // An error means that the qdisc exists already; it holds any number of programs.
            let _ = (qdisc_add_clsact(outside), qdisc_add_clsact(inside));
        }
        for (name, interface) in [("arrive", outside), ("leave", inside)] {
            let classifier: &mut SchedClassifier = program
                .program_mut(name)
                .ok_or("the object lacks a program")?
                .try_into()?;
            classifier.load()?;
            classifier.attach(interface, TcAttachType::Ingress)?;
        }
        Ok(program)
    }

    fn index(interface: &str) -> Result<u32, LoadError> {
        let name = CString::new(interface)?;
        // SAFETY: the call reads the name.
        match unsafe { libc::if_nametoindex(name.as_ptr()) } {
            0 => Err(std::io::Error::last_os_error().into()),
            index => Ok(index),
        }
    }
}

/// Replaces `attached` in builds without the compiled programs.
#[cfg(not(bpf))]
mod attached {
    use super::Tag;

    pub enum Attached {}

    impl Attached {
        pub fn new(_: Option<&str>, _: &str, _: &str, _: &[Tag]) -> Result<Self, &'static str> {
            Err("keisoku was built without clang and libbpf's headers, so it has no BPF programs")
        }
    }
}

/// Python's `keisoku._core.VlanTags`.
pub mod python {
    use std::sync::{Mutex, PoisonError};

    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    use super::Tag;
    use super::attached::Attached;

    /// Carries frames between an interface that is `outside`, with these tags, the outermost first, and one that is
    /// `inside`, both of a namespace (None: the own one). It ends by `close()` or with the object.
    ///
    /// Raises RuntimeError if the kernel refuses the programs.
    #[pyclass(frozen)]
    pub struct VlanTags {
        attached: Mutex<Option<Attached>>,
    }

    #[pymethods]
    impl VlanTags {
        #[new]
        fn new(
            py: Python<'_>,
            namespace: Option<&str>,
            outside: &str,
            inside: &str,
            tags: Vec<Tag>,
        ) -> PyResult<Self> {
            let attached = py
                .detach(|| Attached::new(namespace, outside, inside, &tags))
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            Ok(VlanTags {
                attached: Mutex::new(Some(attached)),
            })
        }

        /// Takes the programs off the interfaces; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            py.detach(|| {
                drop(
                    self.attached
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .take(),
                );
            });
        }
    }
}
