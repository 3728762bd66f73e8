//! The rate that the crate `quanta` finds for the counter by its own calibration, for `benchmarks/speed/clock.py`.
//!
//! Prints Hz and the seconds it took. Once a process: quanta keeps its calibration for good.

use std::time::Instant;

/// 2^42 ticks: 28 minutes of 2.6 GHz, so that a rounding to whole ns is no matter.
const TICKS: u64 = 1 << 42;

fn main() {
    let begun = Instant::now();
    let clock = quanta::Clock::new();
    let took = begun.elapsed();
    let start = clock.raw();
    let ns = clock.delta_as_nanos(start, start + TICKS);
    println!(
        "{:.6} {:.6}",
        TICKS as f64 / ns as f64 * 1e9,
        took.as_secs_f64()
    );
}
