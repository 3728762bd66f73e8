//! Histograms of distances in frames, such as the reordering extents of RFC 4737 §4.2.
//!
//! The extent of a late frame is the number of frames that arrived since the first frame that overtook it, including
//! that one. This file counts; the analysis interprets.

use serde::Serialize;

/// Extents of the reordered frames of a stream, or other distances in frames.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Extents {
    /// The largest one; 0 if nothing was reordered.
    pub max_frames: u64,
    pub sum_frames: u64,
    /// Element k counts frames with an extent of 2^k to 2^(k+1) - 1.
    pub by_power_of_two: Vec<u64>,
}

impl Extents {
    /// `frames` must not be zero.
    pub fn record(&mut self, frames: u64) {
        self.max_frames = self.max_frames.max(frames);
        self.sum_frames += frames;
        let power = frames.ilog2() as usize;
        if power >= self.by_power_of_two.len() {
            self.by_power_of_two.resize(power + 1, 0);
        }
        self.by_power_of_two[power] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_counted_by_powers_of_two() {
        let mut extents = Extents::default();
        for frames in [1, 1, 2, 3, 4, 9] {
            extents.record(frames);
        }
        assert_eq!((extents.max_frames, extents.sum_frames), (9, 20));
        assert_eq!(extents.by_power_of_two, [2, 2, 1, 1]);
    }
}
