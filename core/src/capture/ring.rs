//! `keisoku._core.CaptureRing`: a ring of captured frames on its way from a port to a capture.

#[cfg(bpf)]
use std::sync::Mutex;

#[cfg(bpf)]
use crate::capture::source::{Direction, PortRing};
#[cfg(bpf)]
use crate::interface::place::Place;

/// The frames of some ports that packet sockets do not see. The ports create it, and it is given to one `Capture`.
#[cfg_attr(feature = "python", pyo3::pyclass(frozen))]
pub struct CaptureRing {
    #[cfg(bpf)]
    pub(super) served: Mutex<Option<Served>>,
}

#[cfg(bpf)]
pub(super) struct Served {
    pub(super) ring: Box<dyn PortRing>,
    pub(super) places: Vec<Place>,
    pub(super) direction: Direction,
}

#[cfg(bpf)]
impl CaptureRing {
    /// `places`: the ports that the program serves, all in one namespace.
    pub fn new(ring: Box<dyn PortRing>, places: Vec<Place>, direction: Direction) -> Self {
        CaptureRing {
            served: Mutex::new(Some(Served {
                ring,
                places,
                direction,
            })),
        }
    }
}
