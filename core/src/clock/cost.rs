//! The cost of one read of each clock on this host, measured side by side.
//!
//! The figures hold for this moment and this host. They are shown to users and in benchmarks; nothing is decided by
//! them.

use std::hint::black_box;

use serde::Serialize;

use crate::clock::calibrated::{Clock, ClockFacts};
use crate::clock::counter;
use crate::host::kernel_clock::monotonic_ns;

const READS: u64 = 1000;
/// The minimum of this many runs is kept, because an interrupt can only add time.
const RUNS: usize = 40;

/// ns for each read. The figures of the counter are `None` if it is not trusted.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    pub counter_ns: Option<f64>,
    pub counter_ordered_ns: Option<f64>,
    /// The clock for waits and stamps: the calibrated counter, or the kernel's clock.
    pub clock_ns: f64,
    pub clock_gettime_ns: f64,
    pub clock: ClockFacts,
}

/// Measures all costs, which takes about 5 ms.
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

/// ns for one read among many reads back to back.
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
