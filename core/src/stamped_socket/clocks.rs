//! What the time was in the program: the clock that gettimeofday reads, and the processor's counter.

use crate::clock::{Clock, read};

/// Both are read one after the other, the time of day first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserStamps {
    /// CLOCK_REALTIME, which gettimeofday cuts to µs.
    pub realtime_ns: u64,
    /// CLOCK_MONOTONIC by the processor's counter (`clock::Clock`).
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
