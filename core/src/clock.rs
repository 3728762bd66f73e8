//! Clocks of this host, all converted to CLOCK_MONOTONIC, the clock of every stamp.
//!
//! BPF programs stamp with it (`bpf_ktime_get_ns()`), so every other clock that is read must agree with it within a
//! stated bound. Nothing in this module ever sets a clock.

mod bracket;
mod calibrated;
mod cost;
mod counter;
mod cross_core;
mod map;
mod offset;
pub mod python;
mod single_shot;
mod source;
mod stall;
mod steps;

use std::time::Duration;

pub use calibrated::{Clock, ClockFacts};
pub use cost::clock_costs;
pub use map::{Map, Reading, Taken};
pub use offset::RealtimeOffset;

/// CLOCK_MONOTONIC in ns: the clock of `bpf_ktime_get_ns()`.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time that the calling thread has used, in ns.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Sleeps until `until_ns` on CLOCK_MONOTONIC; returns at once if that is past.
pub fn sleep_until(until_ns: u64) {
    let now_ns = monotonic_ns();
    if until_ns > now_ns {
        std::thread::sleep(Duration::from_nanos(until_ns - now_ns));
    }
}

/// Reads any clock of `clock_gettime`; the clock must exist.
#[inline]
pub fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the timespec that it is given; the caller's clock exists.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
