//! The time as the program reads it: the clock of gettimeofday, and the processor's counter.

use crate::clock::calibrated::Clock;
use crate::host::kernel_clock::read;

/// Both times, read one directly after the other, the time of day first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserStamps {
    /// CLOCK_REALTIME, which gettimeofday truncates to µs.
    pub realtime_ns: u64,
    /// CLOCK_MONOTONIC by the processor's counter (`clock::calibrated`).
    pub monotonic_ns: u64,
}

impl UserStamps {
    #[inline]
    pub fn now(clock: &mut Clock) -> Self {
        UserStamps {
            realtime_ns: read(libc::CLOCK_REALTIME),
            monotonic_ns: clock.now_ns(),
        }
    }
}
