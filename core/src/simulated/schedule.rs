//! When the tester sends each frame: at a constant rate that is never above that of its line.
//!
//! Times are rounded to a picosecond from an exact multiple of the period, so that rounding errors do not accumulate.

use crate::latency::histogram::Histogram;
use crate::port::transmit::Sent;
use crate::trial::Stream;

use super::wire_ps;

const PS_PER_NS: u64 = 1000;
const PS_PER_S: f64 = 1e12;
/// Added to a due time to round it to the nearest picosecond.
const HALF: u128 = 1 << 63;

pub struct Schedule {
    /// Time between two frames in 2^-64 ps.
    step: u128,
    intended_step: u128,
    frames: u64,
}

impl Schedule {
    /// If more is requested than the line carries, it sends as many frames as fit into the duration.
    pub fn new(stream: &Stream, duration_ns: u64, link_bits_per_second: f64) -> Self {
        let wire = wire_ps(stream.frame_bytes[0], link_bits_per_second);
        let intended = PS_PER_S / stream.frames_per_second;
        let fit = (duration_ns as f64 * PS_PER_NS as f64 / wire).round() as u64;
        let frames = if intended < wire {
            stream.frames.min(fit.max(1))
        } else {
            stream.frames
        };
        Schedule {
            step: to_fixed(intended.max(wire)),
            intended_step: to_fixed(intended),
            frames,
        }
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    #[inline]
    pub fn sent_ps(&self, sequence: u64) -> u64 {
        whole(self.step * u128::from(sequence))
    }

    /// What the sender did after it has sent `offered` frames.
    pub fn sent(&self, offered: u64) -> Sent {
        let Some(last) = offered.checked_sub(1) else {
            return Sent::default();
        };
        let last_sent_ns = self.sent_ps(last) / PS_PER_NS;
        let intended_ps = whole(self.intended_step * u128::from(last));
        // A constant rate stamped in whole ns has gaps of at most two lengths, one ns apart.
        let shorter = (self.step >> 64) as u64 / PS_PER_NS;
        let longer_count = last_sent_ns - last * shorter;
        let mut gaps = Histogram::default();
        gaps.record_many(shorter as i64, last - longer_count);
        gaps.record_many(shorter as i64 + 1, longer_count);
        Sent {
            offered_frames: offered,
            unsent_frames: 0,
            first_sent_ns: 0,
            last_sent_ns,
            postponed_ns: 0,
            interrupted_ns: 0,
            interruptions: 0,
            shifts: Vec::new(),
            refused_frames: None,
            lag_max_ns: self.sent_ps(last).saturating_sub(intended_ps) / PS_PER_NS,
            gaps: gaps.buckets(),
            driver_delay: None,
            batches: Vec::new(),
            listed_batches: Vec::new(),
        }
    }
}

/// `value` in units of 2^-64.
pub fn to_fixed(value: f64) -> u128 {
    ((value.trunc() as u128) << 64) | (value.fract() * 2f64.powi(64)) as u128
}

fn whole(fixed: u128) -> u64 {
    ((fixed + HALF) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(frames_per_second: f64, duration_ns: u64) -> Schedule {
        let frames = (frames_per_second * duration_ns as f64 / 1e9)
            .round()
            .max(1.0) as u64;
        let stream = Stream {
            also: Vec::new(),
            among: Vec::new(),
            timed: false,
            transmit: 0,
            receive: 1,
            table: 0,
            frame_bytes: vec![64],
            frames_per_second,
            pacing: Default::default(),
            frames,
            tag: None,
            growth_bytes: 0,
            connections: None,
            start_ns: 0,
        };
        Schedule::new(&stream, duration_ns, 1e9)
    }

    proptest! {
        #[test]
        fn the_gaps_are_those_between_the_stamps(rate in 1e3f64..1.4e6, duration_ns in 1u64..3_000_000) {
            let schedule = schedule(rate, duration_ns);
            let stamps: Vec<u64> =
                (0..schedule.frames()).map(|k| schedule.sent_ps(k) / PS_PER_NS).collect();
            let mut gaps = Histogram::default();
            stamps.windows(2).for_each(|pair| gaps.record((pair[1] - pair[0]) as i64));
            let sent = schedule.sent(schedule.frames());
            prop_assert_eq!(sent.gaps, gaps.buckets());
            prop_assert_eq!(sent.last_sent_ns, *stamps.last().unwrap());
            prop_assert_eq!(sent.lag_max_ns, 0);
        }
    }

    #[test]
    fn the_line_rate_is_reached_and_not_passed() {
        let line = 1e9 / 672.0;
        let full = schedule(line, 1_000_000_000);
        assert_eq!(full.frames(), 1_488_095);
        assert_eq!(full.sent_ps(1_488_094), 1_488_094 * 672_000);
        let over = schedule(2.0 * line, 1_000_000_000);
        assert_eq!(over.frames(), 1_488_095);
        assert_eq!(over.sent(over.frames()).lag_max_ns, 1_488_094 * 336);
    }
}
