//! Reads of the kernel's clocks, and sleeps by them. It never sets one.

use std::time::Duration;

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
