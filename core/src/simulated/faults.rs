//! What happens to the frames of one stream at random: loss, jitter and the faults of a defective device.
//!
//! Each random number belongs to the sequence number of a frame. This file decides; it never moves a frame.

use crate::chance::{self, Chance, Concern, Draws};

use super::device::{Distribution, Scatter};
use super::path::Path;

/// Separates the random numbers of the streams of a trial.
pub const STREAM_STEP: u64 = 0xD1B5_4A32_D192_ED03;

pub struct Faults {
    lost: Chance,
    lost_for_size: Chance,
    pub corrupt: Chance,
    pub duplicate: Chance,
    reorder: Chance,
    /// Frames that follow the one before sooner than this may be reordered.
    reorder_within_ps: u64,
    jitter: Option<(Distribution, u64, Draws)>,
    reading: Option<Reading>,
}

/// By how much what the tester reads is off, in each period of time.
struct Reading {
    draws: Draws,
    deviation_ps: u64,
    every_ps: u64,
    /// The end of the period that was asked for last, and its error.
    until_ps: u64,
    off_ps: i64,
}

impl Reading {
    fn new(scatter: &Scatter, seed: u64) -> Self {
        Reading {
            draws: Draws::new(seed, Concern::Scatter),
            deviation_ps: (scatter.spread_ns * 1000.0).round() as u64,
            every_ps: scatter.every_ns * 1000,
            until_ps: 0,
            off_ps: 0,
        }
    }

    /// Times almost never decrease, so that most are in the period of the one before.
    #[inline]
    fn off_ps(&mut self, time_ps: u64) -> i64 {
        if !(self.until_ps.saturating_sub(self.every_ps)..self.until_ps).contains(&time_ps) {
            let period = time_ps / self.every_ps;
            self.until_ps = (period + 1) * self.every_ps;
            self.off_ps = chance::normal(&self.draws, period, self.deviation_ps);
        }
        self.off_ps
    }
}

impl Faults {
    /// The faults of stream number `stream` of a trial. Those of the first stream follow from the trial's seed
    /// itself.
    pub fn new(path: &Path, trial_seed: u64, stream: usize) -> Self {
        let seed = trial_seed.wrapping_add((stream as u64).wrapping_mul(STREAM_STEP));
        let chance = |ratio, concern| Chance::new(ratio, seed, concern);
        let loss = path.loss();
        let ratios = &path.device().faults;
        Faults {
            lost: chance(loss.ratio, Concern::Loss),
            lost_for_size: chance(
                loss.above_frame_bytes
                    .map_or(0.0, |_| loss.above_ratio.unwrap_or(1.0)),
                Concern::LossAbove,
            ),
            corrupt: chance(ratios.corrupt_ratio, Concern::Corrupt),
            duplicate: chance(ratios.duplicate_ratio, Concern::Duplicate),
            reorder: chance(ratios.reorder_ratio, Concern::Reorder),
            reorder_within_ps: ratios
                .reorder_above_fps
                .map_or(u64::MAX, |fps| (1e12 / fps).round() as u64),
            jitter: path.jitter().map(|jitter| {
                let spread_ps = (jitter.spread_ns * 1000.0).round() as u64;
                (
                    jitter.distribution,
                    spread_ps,
                    Draws::new(seed, Concern::Jitter),
                )
            }),
            reading: path
                .device()
                .scatter
                .as_ref()
                .map(|scatter| Reading::new(scatter, seed)),
        }
    }

    pub fn are_possible(&self) -> bool {
        [
            self.lost,
            self.lost_for_size,
            self.corrupt,
            self.duplicate,
            self.reorder,
        ]
        .iter()
        .any(Chance::is_possible)
            || self.jitter.is_some()
            || self.reading.is_some()
    }

    /// By how much what the tester reads of a frame that arrives at `received_ps` is off.
    #[inline]
    pub fn reading_ps(&mut self, received_ps: u64) -> i64 {
        self.reading
            .as_mut()
            .map_or(0, |reading| reading.off_ps(received_ps))
    }

    /// `is_large`: the frame is larger than the size above which frames are lost.
    #[inline]
    pub fn lose(&self, sequence: u64, is_large: bool) -> bool {
        self.lost.hits(sequence) || is_large && self.lost_for_size.hits(sequence)
    }

    /// `spacing_ps`: time since the previous frame of the stream was sent.
    #[inline]
    pub fn reorders(&self, sequence: u64, spacing_ps: u64) -> bool {
        let always = self.reorder_within_ps == u64::MAX;
        // No frame comes before the first.
        let is_soon = always || sequence > 0 && spacing_ps < self.reorder_within_ps;
        is_soon && self.reorder.hits(sequence)
    }

    #[inline]
    pub fn jitter_ps(&self, sequence: u64) -> i64 {
        match &self.jitter {
            None => 0,
            Some((Distribution::Uniform, width_ps, stream)) => {
                chance::uniform(stream, sequence, *width_ps) as i64
            }
            Some((Distribution::Normal, deviation_ps, stream)) => {
                chance::normal(stream, sequence, *deviation_ps)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCATTER: Scatter = Scatter {
        spread_ns: 100.0,
        every_ns: 1000,
    };

    #[test]
    fn a_reading_is_off_by_one_amount_in_each_period_whatever_was_asked_before() {
        let mut reading = Reading::new(&SCATTER, 1);
        let in_order: Vec<_> = (0..5000).map(|k| reading.off_ps(k * 1_000_000)).collect();
        assert_eq!(reading.off_ps(7_000_000), in_order[7]);
        assert_eq!(reading.off_ps(7_999_999), in_order[7]);
        let mean = in_order.iter().sum::<i64>() as f64 / 5000.0;
        let squares = in_order.iter().map(|off| (*off as f64).powi(2));
        let deviation = (squares.sum::<f64>() / 5000.0).sqrt();
        assert!(mean.abs() < 3.0 * 100_000.0 / 5000f64.sqrt(), "{mean}");
        assert!((deviation / 100_000.0 - 1.0).abs() < 0.03, "{deviation}");
        assert_ne!(Reading::new(&SCATTER, 2).off_ps(0), in_order[0]);
    }
}
