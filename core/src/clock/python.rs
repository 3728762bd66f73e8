//! The functions on clocks that Python calls: measurements as JSON, brackets as tuples.

use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;

use crate::host::kernel_clock::monotonic_ns;

use super::bracket::{Bracket, brackets};
use super::cross_core::{CrossCore, cross_core};
use super::single_shot::{Measurement, SourceCost, empty};
use super::stall::{Stalls, stalls};
use super::tally::Tally;
use super::{cost, counter, source};

/// Time over which the rate is measured where it is only used to show ticks as ns.
const RATE_NS: u64 = 20_000_000;

/// Everything that `keisoku clock cost` measures.
#[derive(Serialize)]
struct CostRecord {
    /// The counter's name; "CLOCK_MONOTONIC" where there is none, whose ticks are ns.
    counter: &'static str,
    /// By CLOCK_MONOTONIC, over all of the measurement.
    ticks_per_s: f64,
    empty: Tally,
    sources: Vec<SourceCost>,
    cross_core: Vec<CrossCore>,
    stalls: Stalls,
}

fn read_costs(reads: usize, rounds: u64, stall_s: f64) -> CostRecord {
    let begun = (monotonic_ns(), counter::fenced_ticks());
    let rate = |begun: (u64, u64)| {
        let ended = (monotonic_ns(), counter::fenced_ticks());
        (ended.1.wrapping_sub(begun.1)) as f64 / (ended.0 - begun.0).max(1) as f64 * 1e9
    };
    let mut measurement = Measurement {
        reads,
        found: Vec::new(),
    };
    let empty = empty(reads);
    source::each(&mut measurement);
    while monotonic_ns() - begun.0 < RATE_NS {
        std::hint::spin_loop();
    }
    let ticks_per_s = rate(begun);
    let cross_core = cross_core(rounds);
    let stalls = stalls((stall_s * ticks_per_s) as u64, ticks_per_s);
    CostRecord {
        counter: counter::promised().unwrap_or("CLOCK_MONOTONIC"),
        ticks_per_s: rate(begun),
        empty,
        sources: measurement.found,
        cross_core,
        stalls,
    }
}

/// Costs, steps, differences between cores and stalls of this machine's time sources, as JSON.
#[pyfunction]
pub fn clock_read_costs(
    py: Python<'_>,
    reads: usize,
    rounds: u64,
    stall_s: f64,
) -> PyResult<String> {
    if reads == 0 || !(0.0..=3600.0).contains(&stall_s) {
        return Err(PyValueError::new_err(
            "at least one read, and a scan of an hour at most",
        ));
    }
    let record = py.detach(|| read_costs(reads, rounds, stall_s));
    serde_json::to_string(&record).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The counter's name and whether the kernel keeps time by it now; `None` if no counter promises one rate.
#[pyfunction]
pub fn clock_counter(clock_source: &str) -> Option<(&'static str, bool)> {
    let name = counter::promised()?;
    Some((name, counter::is_kept_time_by(clock_source)))
}

/// `count` reads of a clock (`clock_gettime`'s number), each the narrowest of `tries`, as
/// (ticks before, ns, ticks after), with a pause between them.
#[pyfunction]
pub fn clock_brackets(
    py: Python<'_>,
    clock: i32,
    count: u32,
    tries: u32,
    pause_ns: u64,
) -> PyResult<Vec<(u64, u64, u64)>> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the timespec that it is given, or says that there is no such clock.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    if tries == 0 {
        return Err(PyValueError::new_err("at least one try"));
    }
    let found = py.detach(|| brackets(clock, count, tries, Duration::from_nanos(pause_ns)));
    let plain = |bracket: &Bracket| (bracket.before, bracket.clock_ns, bracket.after);
    Ok(found.iter().map(plain).collect())
}

/// The counter, read after all earlier instructions and before all later ones.
#[pyfunction]
pub fn clock_ticks() -> u64 {
    counter::fenced_ticks()
}

/// `Costs` as JSON, measured in about 5 ms.
#[pyfunction]
#[pyo3(name = "clock_costs")]
pub fn clock_costs(py: Python<'_>) -> PyResult<String> {
    let costs = py.detach(cost::costs);
    serde_json::to_string(&costs)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}
