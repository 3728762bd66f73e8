//! `keisoku._core`: the hot loops of keisoku and nothing else.
//!
//! It never decides what is measured and never computes a result. Values cross to Python as JSON of the types in
//! `trial`, `account::record` and `simulated`. The interpreter lock is released in every loop.
//!
//! Without the feature `python` it is a library of Rust alone, for the far end (`far/`): no interpreter, no programs for the
//! kernel.

#![cfg_attr(
    not(feature = "python"),
    allow(dead_code, reason = "what only Python calls")
)]

pub mod account;
pub mod capture;
pub mod chance;
pub mod clock;
#[cfg(feature = "python")]
pub mod drops;
pub mod error;
pub mod frame;
pub mod hiccup;
#[cfg(feature = "python")]
pub mod hops;
pub mod host;
pub mod interface;
#[cfg(feature = "python")]
pub mod lab;
pub mod latency;
pub mod marker;
pub mod outage;
pub mod port;
pub mod reordering;
#[cfg(feature = "python")]
pub mod simulated;
pub mod stamped_socket;
pub mod stream;
#[cfg(feature = "python")]
pub mod system;
pub mod transaction;
pub mod trial;
#[cfg(feature = "python")]
pub mod wire;

#[cfg(feature = "python")]
#[pyo3::pymodule]
mod _core {
    /// Whether the programs for the kernel are built in, and with them the engines `xdp` and `afxdp`.
    #[pymodule_export]
    const HAS_BPF: bool = cfg!(bpf);

    #[pymodule_export]
    use crate::capture::python::{Capture, find_frames, recorded_frames};
    #[pymodule_export]
    use crate::capture::ring::CaptureRing;
    #[pymodule_export]
    use crate::clock::python::{
        clock_brackets, clock_costs, clock_counter, clock_read_costs, clock_ticks,
    };
    #[pymodule_export]
    use crate::drops::python::DropWatch;
    #[pymodule_export]
    use crate::hiccup::look::python::look_at_cpus;
    #[pymodule_export]
    use crate::hiccup::python::Hiccups;
    #[pymodule_export]
    use crate::hiccup::speed::python::speed_of_cpu;
    #[pymodule_export]
    use crate::hops::HopWatch;
    #[pymodule_export]
    use crate::interface::neighbour::python::Neighbours;
    #[pymodule_export]
    use crate::lab::faulty::python::Faulty;
    #[pymodule_export]
    use crate::lab::serial_link::python::SerialLinks;
    #[pymodule_export]
    use crate::lab::throttle::python::Throttle;
    #[pymodule_export]
    use crate::lab::vlan_tags::python::VlanTags;
    #[pymodule_export]
    use crate::outage::python::OutageNear;
    #[pymodule_export]
    use crate::simulated::python::Simulation;
    #[pymodule_export]
    use crate::stamped_socket::python::{IcmpMessage, ReceivedPacket, SentPacket, StampedSocket};
    #[pymodule_export]
    use crate::stream::python::StreamEnd;
    #[pymodule_export]
    use crate::system::bulk_flow::python::BulkFlow;
    #[pymodule_export]
    use crate::system::flow_watch::python::FlowWatch;
    #[pymodule_export]
    use crate::system::http_load::python::HttpLoad;
    #[pymodule_export]
    use crate::system::udp_load::python::UdpLoad;
    #[pymodule_export]
    use crate::transaction::python::transact;
    #[pymodule_export]
    use crate::wire::Wire;

    /// Finds the class of errors now, so that a program that gave up its rights since can still be told what went wrong.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::error::python::find_class(pyo3::Bound::py(module))
    }
}
