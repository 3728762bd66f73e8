//! When each frame of a constant load is due.
//!
//! The period is kept in units of 2^-32 ns, so that its rounding shifts the last frame of a
//! day-long trial by less than one ns in 10^9. It reads no clock and never waits.

/// Frames that a late sender may send at once to be on time again; RFC 2544 §21 knows bursts of 64.
const CATCH_UP_FRAMES: u64 = 64;
/// Or as many as are due in this time: a scheduler's hiccup must not shift the schedule.
const CATCH_UP_NS: u64 = 1_000_000;

/// 2^32: fractions of a ns in a ns.
const FRACTIONS: f64 = 4_294_967_296.0;

/// Due times `start_ns + n * period`, exact in units of 2^-32 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub start_ns: u64,
    /// 2^-32 ns.
    period: u128,
}

impl Schedule {
    /// `frames_per_second` must be positive and finite.
    pub fn new(start_ns: u64, frames_per_second: f64) -> Self {
        let period_ns = 1e9 / frames_per_second;
        let whole = period_ns.floor();
        // The fraction is scaled apart from the whole: neither loses bits to the other.
        let fraction = ((period_ns - whole) * FRACTIONS).round();
        Schedule {
            start_ns,
            period: ((whole as u128) << 32) + fraction as u128,
        }
    }

    /// Whole ns of the period.
    pub fn period_ns(&self) -> u64 {
        (self.period >> 32) as u64
    }

    /// What the period has beyond its whole ns, in 2^-32 ns.
    pub fn period_fraction(&self) -> u64 {
        (self.period & 0xFFFF_FFFF) as u64
    }

    /// A sender later than this does not catch up but postpones what is left: a device under test must
    /// not lose frames to a burst that nobody asked for.
    pub fn catch_up_ns(&self) -> u64 {
        CATCH_UP_NS.max(CATCH_UP_FRAMES * (self.period_ns() + 1))
    }

    pub fn postpone(&mut self, by_ns: u64) {
        self.start_ns += by_ns;
    }

    pub fn due_ns(&self, sequence: u64) -> u64 {
        self.start_ns + ((self.period * u128::from(sequence)) >> 32) as u64
    }

    /// Frames that are due at `now_ns` or earlier.
    pub fn due_frames(&self, now_ns: u64) -> u64 {
        let Some(elapsed_ns) = now_ns.checked_sub(self.start_ns) else {
            return 0;
        };
        // Due times are rounded down, so everything below the next whole ns is due.
        let frames = (((u128::from(elapsed_ns) + 1) << 32) - 1) / self.period.max(1);
        u64::try_from(frames).map_or(u64::MAX, |frames| frames.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How the transmit program computes the same: by adding the period once a frame.
    fn by_addition(schedule: &Schedule, frames: u64) -> u64 {
        let (mut due_ns, mut fraction) = (schedule.start_ns, 0);
        for _ in 0..frames {
            fraction += schedule.period_fraction();
            due_ns += schedule.period_ns() + (fraction >> 32);
            fraction &= 0xFFFF_FFFF;
        }
        due_ns
    }

    proptest! {
        #[test]
        fn adding_and_multiplying_agree(rate in 0.1f64..2e8, frames in 0u64..2000) {
            let schedule = Schedule::new(77, rate);
            prop_assert_eq!(by_addition(&schedule, frames), schedule.due_ns(frames));
        }

        #[test]
        fn the_rate_holds_to_one_in_ten_to_the_nine(rate in 1f64..2e8) {
            let seconds = 3600.0;
            let schedule = Schedule::new(0, rate);
            let last = (rate * seconds) as u64;
            let exact_ns = last as f64 * 1e9 / rate;
            let error_ns = (schedule.due_ns(last) as f64 - exact_ns).abs();
            prop_assert!(error_ns <= 2.0 + exact_ns * 1e-9, "{error_ns} ns off");
        }

        #[test]
        fn as_many_frames_are_due_as_have_a_due_time_not_later(rate in 1f64..2e9, now_ns in 0u64..1_000_000_000) {
            let schedule = Schedule::new(1000, rate);
            let due = schedule.due_frames(now_ns);
            prop_assert!(due == 0 || schedule.due_ns(due - 1) <= now_ns);
            prop_assert!(schedule.due_ns(due) > now_ns);
        }
    }
}
