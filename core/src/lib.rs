//! `keisoku._core`: the hot loops of keisoku and nothing else.
//!
//! It never decides what is measured and never computes a result. Values cross to Python as JSON of the types in
//! `record` and `simulated`. The interpreter lock is released in every loop.

pub mod account;
pub mod affinity;
pub mod bitmap;
pub mod bulk_flow;
pub mod capture;
pub mod carry;
pub mod chance;
pub mod changes;
pub mod clock;
pub mod density;
pub mod departures;
pub mod egress;
pub mod error;
pub mod extent;
pub mod faulty;
pub mod flow_watch;
pub mod frame_log;
pub mod gaps;
pub mod hiccup;
pub mod histogram;
pub mod http_load;
pub mod latency;
pub mod link_watch;
pub mod log_linear;
pub mod loss_watch;
pub mod marker;
pub mod marks;
pub mod neighbour;
pub mod netns;
pub mod occupancy;
pub mod pacing;
pub mod packed;
pub mod port;
pub mod precedence;
pub mod ranges;
pub mod record;
pub mod reordering;
pub mod serial_link;
pub mod series;
pub mod signature;
pub mod signed_histogram;
pub mod simulated;
pub mod stamped_socket;
pub mod stamping;
pub mod stream;
pub mod switches;
pub mod table;
pub mod throttle;
pub mod tracking;
pub mod transaction;
pub mod udp_load;
pub mod variation;
pub mod view;
pub mod vlan_tags;
pub mod watch;
pub mod wire;

#[pyo3::pymodule]
mod _core {
    /// Whether the programs for the kernel are built in, and with them the engines `xdp` and `afxdp`.
    #[pymodule_export]
    const HAS_BPF: bool = cfg!(bpf);

    #[pymodule_export]
    use crate::bulk_flow::python::BulkFlow;
    #[pymodule_export]
    use crate::capture::python::{Capture, CaptureRing, find_frames, recorded_frames};
    #[pymodule_export]
    use crate::clock::clock_costs;
    #[pymodule_export]
    use crate::clock::python::{clock_brackets, clock_counter, clock_read_costs, clock_ticks};
    #[pymodule_export]
    use crate::faulty::python::Faulty;
    #[pymodule_export]
    use crate::flow_watch::python::FlowWatch;
    #[pymodule_export]
    use crate::hiccup::look::python::look_at_cpus;
    #[pymodule_export]
    use crate::hiccup::python::Hiccups;
    #[pymodule_export]
    use crate::hiccup::speed::python::speed_of_cpu;
    #[pymodule_export]
    use crate::http_load::python::HttpLoad;
    #[pymodule_export]
    use crate::neighbour::python::Neighbours;
    #[pymodule_export]
    use crate::serial_link::python::SerialLinks;
    #[pymodule_export]
    use crate::simulated::python::Simulation;
    #[pymodule_export]
    use crate::stamped_socket::python::{IcmpMessage, ReceivedPacket, SentPacket, StampedSocket};
    #[pymodule_export]
    use crate::stream::python::StreamEnd;
    #[pymodule_export]
    use crate::throttle::python::Throttle;
    #[pymodule_export]
    use crate::transaction::python::{TransactionServer, transact};
    #[pymodule_export]
    use crate::udp_load::python::UdpLoad;
    #[pymodule_export]
    use crate::vlan_tags::python::VlanTags;
    #[pymodule_export]
    use crate::wire::Wire;

    /// Finds the class of errors now, so that a program that gave up its rights since can still be told what went wrong.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::error::find_class(pyo3::Bound::py(module))
    }
}
