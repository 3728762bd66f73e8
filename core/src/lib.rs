//! `keisoku._core`: the hot loops of keisoku and nothing else.
//!
//! It has no opinion on methods or reports. Values cross to Python as JSON of the
//! types in `record` and `simulated`; the interpreter lock is released in every loop.

pub mod faulty;
pub mod gaps;
pub mod histogram;
pub mod latency;
pub mod ranges;
pub mod record;
pub mod series;
pub mod signature;
pub mod tracking;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<faulty::python::Faulty>()
}
