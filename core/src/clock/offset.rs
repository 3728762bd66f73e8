//! The difference between CLOCK_REALTIME and CLOCK_MONOTONIC, for stamps that the kernel takes with CLOCK_REALTIME.
//!
//! Linux slews both clocks alike, so they differ by a constant until the time of day is stepped. This file never
//! assumes that no step happens.

use crate::host::kernel_clock::{monotonic_ns, read};

/// What is subtracted from a CLOCK_REALTIME stamp to convert it to CLOCK_MONOTONIC.
///
/// Each reading bounds the difference from both sides. The bounds of many readings are intersected, which leaves a
/// few ns. Bounds that exclude each other show a step.
#[derive(Debug)]
pub struct RealtimeOffset {
    low_ns: i64,
    high_ns: i64,
    steps: u64,
}

impl RealtimeOffset {
    /// Readings for a first estimate.
    const FIRST_READINGS: usize = 64;

    pub fn measure() -> Self {
        let mut offset = RealtimeOffset {
            low_ns: i64::MIN,
            high_ns: i64::MAX,
            steps: 0,
        };
        for _ in 0..Self::FIRST_READINGS {
            offset.track();
        }
        offset
    }

    /// Takes another reading. It must be called from time to time while stamps are converted.
    pub fn track(&mut self) {
        let before_ns = monotonic_ns() as i64;
        let real_ns = read(libc::CLOCK_REALTIME) as i64;
        let after_ns = monotonic_ns() as i64;
        self.narrow(real_ns - after_ns, real_ns - before_ns);
    }

    pub fn to_monotonic(&self, realtime_ns: u64) -> u64 {
        realtime_ns.wrapping_add_signed(-self.low_ns.midpoint(self.high_ns))
    }

    /// The difference in ns, half the width of its bounds, and the steps seen so far.
    pub fn bounds(&self) -> (i64, i64, u64) {
        let half_width_ns = (self.high_ns - self.low_ns).div_euclid(2) + 1;
        (
            self.low_ns.midpoint(self.high_ns),
            half_width_ns,
            self.steps,
        )
    }

    fn narrow(&mut self, low_ns: i64, high_ns: i64) {
        let (narrow_low, narrow_high) = (self.low_ns.max(low_ns), self.high_ns.min(high_ns));
        if narrow_low <= narrow_high {
            (self.low_ns, self.high_ns) = (narrow_low, narrow_high);
        } else {
            (self.low_ns, self.high_ns) = (low_ns, high_ns);
            self.steps += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset() -> RealtimeOffset {
        RealtimeOffset {
            low_ns: i64::MIN,
            high_ns: i64::MAX,
            steps: 0,
        }
    }

    #[test]
    fn readings_are_intersected() {
        let mut offset = offset();
        offset.narrow(1000, 1060);
        offset.narrow(980, 1020);
        assert_eq!(
            (offset.low_ns, offset.high_ns, offset.steps),
            (1000, 1020, 0)
        );
        assert_eq!(offset.to_monotonic(5_000), 3_990);
    }

    #[test]
    fn a_step_of_the_time_of_day_is_followed() {
        let mut offset = offset();
        offset.narrow(1000, 1060);
        offset.narrow(-9_000, -8_980);
        assert_eq!(
            (offset.low_ns, offset.high_ns, offset.steps),
            (-9_000, -8_980, 1)
        );
        assert_eq!(offset.to_monotonic(0), 8_990);
    }
}
