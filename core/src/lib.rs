//! `keisoku._core`: the hot loops of keisoku and nothing else.
//!
//! It has no opinion on methods or reports. Values cross to Python as JSON of the
//! types in `record` and `simulated`; the interpreter lock is released in every loop.

pub mod affinity;
pub mod bitmap;
pub mod carry;
pub mod clock;
pub mod extent;
pub mod faulty;
pub mod gaps;
pub mod histogram;
pub mod latency;
pub mod netns;
pub mod pacing;
pub mod port;
pub mod ranges;
pub mod record;
pub mod series;
pub mod signature;
pub mod simulated;
pub mod tracking;
pub mod watch;
pub mod wire;

#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::faulty::python::Faulty;
    #[pymodule_export]
    use crate::simulated::python::Simulation;
    #[pymodule_export]
    use crate::wire::Wire;
}
