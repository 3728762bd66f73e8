//! What one read of each clock costs here, measured side by side.
//!
//! A figure of this moment and machine: for people and benchmarks, never for a decision.

use std::hint::black_box;

use pyo3::prelude::*;
use serde::Serialize;

use crate::clock::{Clock, ClockFacts, counter, monotonic_ns};

const READS: u64 = 1000;
/// The least of so many runs: an interrupt only ever adds.
const RUNS: usize = 40;

/// ns a read; the counter's are `None` where it is not trusted.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    pub counter_ns: Option<f64>,
    pub counter_ordered_ns: Option<f64>,
    /// The clock of waits and stamps: the counter brought to CLOCK_MONOTONIC, or the kernel's.
    pub clock_ns: f64,
    pub clock_gettime_ns: f64,
    pub clock: ClockFacts,
}

/// Measures for about 5 ms.
pub fn costs() -> Costs {
    let trusted = counter::trusted().is_some();
    let mut clock = Clock::new();
    Costs {
        counter_ns: trusted.then(|| cost(counter::unordered_ticks)),
        counter_ordered_ns: trusted.then(|| cost(counter::ticks)),
        clock_ns: cost(|| clock.now_ns()),
        clock_gettime_ns: cost(monotonic_ns),
        clock: clock.facts(),
    }
}

/// ns of one of many reads back to back.
pub(super) fn cost(mut read: impl FnMut() -> u64) -> f64 {
    let run = || {
        let begun_ns = monotonic_ns();
        for _ in 0..READS {
            black_box(read());
        }
        monotonic_ns() - begun_ns
    };
    let least_ns = std::iter::repeat_with(run).take(RUNS).min().unwrap_or(0);
    least_ns as f64 / READS as f64
}

/// `Costs` of this moment as JSON, measured for about 5 ms.
#[pyfunction]
#[pyo3(name = "clock_costs")]
pub fn clock_costs(py: Python<'_>) -> PyResult<String> {
    let costs = py.detach(costs);
    serde_json::to_string(&costs)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}
