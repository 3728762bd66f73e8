//! What happens to the frames of one stream at random: loss, jitter and the faults of a defective device.
//!
//! Each random number belongs to the sequence number of a frame. This file decides; it never moves a frame.

use super::device::Distribution;
use super::path::Path;
use crate::chance::{self, Chance, Concern, Draws};

/// Separates the random numbers of the streams of a trial.
const STREAM_STEP: u64 = 0xD1B5_4A32_D192_ED03;

pub struct Faults {
    lost: Chance,
    lost_for_size: Chance,
    pub corrupt: Chance,
    pub duplicate: Chance,
    reorder: Chance,
    /// Frames that follow the one before sooner than this may be reordered.
    reorder_within_ps: u64,
    jitter: Option<(Distribution, u64, Draws)>,
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
