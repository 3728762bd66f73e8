//! All time sources of this host, by name.
//!
//! Each is passed as a concrete function, so that a loop over its reads contains no call through a pointer.

use std::hint::black_box;

use crate::host::kernel_clock::read;

use super::counter;

/// Something that is done with every time source.
pub trait Visitor {
    /// `read` returns ns, or the counter's ticks.
    fn visit(&mut self, source: TimeSource, read: impl Fn() -> u64);
}

/// The name of a source for users, and the unit of its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSource {
    pub name: &'static str,
    pub ticks: bool,
}

impl TimeSource {
    const fn counter(name: &'static str) -> Self {
        TimeSource { name, ticks: true }
    }

    const fn kernel(name: &'static str) -> Self {
        TimeSource { name, ticks: false }
    }
}

/// Clocks that `clock_gettime` reads without entering the kernel where the vDSO has them.
const FAST: [(&str, libc::clockid_t); 7] = [
    ("CLOCK_REALTIME", libc::CLOCK_REALTIME),
    ("CLOCK_MONOTONIC", libc::CLOCK_MONOTONIC),
    ("CLOCK_MONOTONIC_RAW", libc::CLOCK_MONOTONIC_RAW),
    ("CLOCK_BOOTTIME", libc::CLOCK_BOOTTIME),
    ("CLOCK_TAI", libc::CLOCK_TAI),
    ("CLOCK_REALTIME_COARSE", libc::CLOCK_REALTIME_COARSE),
    ("CLOCK_MONOTONIC_COARSE", libc::CLOCK_MONOTONIC_COARSE),
];
/// Clocks that need a system call everywhere.
const CPU_TIME: [(&str, libc::clockid_t); 2] = [
    ("CLOCK_PROCESS_CPUTIME_ID", libc::CLOCK_PROCESS_CPUTIME_ID),
    ("CLOCK_THREAD_CPUTIME_ID", libc::CLOCK_THREAD_CPUTIME_ID),
];

/// Names of the counter's reads: unordered, ordered, fenced.
#[cfg(target_arch = "x86_64")]
const COUNTER: [&str; 3] = ["rdtsc", "rdtscp", "lfence; rdtsc; lfence"];
#[cfg(target_arch = "aarch64")]
const COUNTER: [&str; 3] = ["cntvct", "isb; cntvct", "isb; cntvct; isb"];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const COUNTER: [&str; 3] = ["", "", ""];

/// Shows the visitor every source of this machine, the cheapest kind first.
pub fn each(visitor: &mut impl Visitor) {
    if counter::promised().is_some() {
        visitor.visit(TimeSource::counter(COUNTER[0]), counter::unordered_ticks);
        visitor.visit(TimeSource::counter(COUNTER[1]), counter::ticks);
        visitor.visit(TimeSource::counter(COUNTER[2]), counter::fenced_ticks);
    }
    for (name, clock) in FAST {
        visitor.visit(TimeSource::kernel(name), || read(black_box(clock)));
    }
    visitor.visit(TimeSource::kernel("gettimeofday"), time_of_day);
    for (name, clock) in [
        (
            "CLOCK_MONOTONIC by a real system call",
            libc::CLOCK_MONOTONIC,
        ),
        ("CLOCK_REALTIME by a real system call", libc::CLOCK_REALTIME),
    ] {
        visitor.visit(TimeSource::kernel(name), || called(black_box(clock)));
    }
    for (name, clock) in CPU_TIME {
        visitor.visit(TimeSource::kernel(name), || read(black_box(clock)));
    }
}

/// `gettimeofday` of the C library, in µs: the clock that the study e2 (`keisoku/studies`) compares with others.
fn time_of_day() -> u64 {
    let mut time = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    // SAFETY: the kernel fills the timeval that it is given; no time zone is asked for.
    unsafe { libc::gettimeofday(&mut time, std::ptr::null_mut()) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

/// Reads a clock with a system call, without the vDSO.
fn called(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the timespec that it is given; the clocks asked for exist.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
