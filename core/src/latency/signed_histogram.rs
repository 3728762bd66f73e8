//! A log-linear histogram of differences of either sign: exact to 1 ns below 64 ns, to 1/32 above.
//!
//! It is one array, so that the sign needs no branch, which jitter would make the processor mispredict every second
//! time. It is small, because differences scatter more than latencies and a thousand streams should fit into a cache.
//! It has as many octaves as the greatest difference needs. It counts and never interprets.

use crate::latency::histogram::Buckets;
use crate::latency::log_linear::{index, lower};

/// 2^5 buckets for each doubling.
const SUB_BITS: u32 = 5;
const SUB: usize = 1 << SUB_BITS;
/// 2^47 ns is 39 hours; anything longer falls into the last bucket.
const BUCKETS: usize = (48 - SUB_BITS as usize) * SUB;

/// Counts of differences in ps.
#[derive(Default)]
#[repr(C)]
pub struct SignedHistogram {
    /// Element `middle` counts -1 ns to 1 ns, `middle + k` bucket k, `middle - k` its mirror image.
    counts: Box<[u32]>,
    middle: usize,
    /// Overflows of 32-bit counts: the distance from the middle, once for each 2^32.
    carried: Vec<isize>,
}

impl SignedHistogram {
    #[inline]
    pub fn record(&mut self, difference_ps: i64) {
        let sign = difference_ps >> 63;
        let bucket = index::<SUB_BITS>(difference_ps.unsigned_abs() / 1000) as isize;
        // A value beyond the array on either side is too large when read as unsigned.
        let place = self
            .middle
            .wrapping_add_signed((bucket ^ sign as isize) - sign as isize);
        match self.counts.get_mut(place) {
            Some(count) => {
                *count = count.wrapping_add(1);
                if *count == 0 {
                    self.carry(place);
                }
            }
            None => self.record_far(difference_ps),
        }
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        let kept: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        kept + ((self.carried.len() as u64) << 32)
    }

    /// In ascending order. A negative value may equal its bucket's upper edge instead of the lower one.
    pub fn buckets(&self) -> Buckets {
        let mut buckets = Buckets::default();
        for (place, &count) in self.counts.iter().enumerate() {
            let from_middle = place as isize - self.middle as isize;
            let carried = self.carried.iter().filter(|own| **own == from_middle);
            let count = u64::from(count) + ((carried.count() as u64) << 32);
            if count == 0 {
                continue;
            }
            let bucket = place.abs_diff(self.middle);
            let (near, far) = (
                lower::<SUB_BITS>(bucket) as i64,
                lower::<SUB_BITS>(bucket + 1) as i64,
            );
            match place.cmp(&self.middle) {
                std::cmp::Ordering::Less => buckets.push(-far, -near, count),
                std::cmp::Ordering::Equal => buckets.push(-far, far, count),
                std::cmp::Ordering::Greater => buckets.push(near, far, count),
            }
        }
        buckets
    }

    #[cold]
    fn carry(&mut self, place: usize) {
        self.carried.push(place as isize - self.middle as isize);
    }

    #[cold]
    fn record_far(&mut self, difference_ps: i64) {
        let bucket = index::<SUB_BITS>(difference_ps.unsigned_abs() / 1000).min(BUCKETS - 1);
        let half = (bucket / SUB + 1) * SUB;
        if half > self.middle {
            let mut counts = vec![0; 2 * half].into_boxed_slice();
            let from = half - self.middle;
            counts[from..from + self.counts.len()].copy_from_slice(&self.counts);
            (self.counts, self.middle) = (counts, half);
        }
        let place = if difference_ps < 0 {
            self.middle - bucket
        } else {
            self.middle + bucket
        };
        self.counts[place] = self.counts[place].wrapping_add(1);
        if self.counts[place] == 0 {
            self.carry(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_difference_lies_in_its_bucket(
            values in proptest::collection::vec((any::<i64>(), 17u32..64), 0..100),
        ) {
            let mut histogram = SignedHistogram::default();
            let mut left: Vec<i64> = values.iter().map(|(value, shift)| value >> shift).collect();
            left.iter().for_each(|value| histogram.record(*value));
            prop_assert_eq!(histogram.count(), left.len() as u64);
            left.sort_unstable();
            let buckets = histogram.buckets();
            prop_assert!(buckets.lower_ns.is_sorted());
            let mut place = 0;
            for ((&lower, &upper), &count) in buckets.lower_ns.iter().zip(&buckets.upper_ns).zip(&buckets.counts) {
                for value in &left[place..place + count as usize] {
                    prop_assert!(lower * 1000 <= *value && *value <= upper * 1000, "{value} {lower} {upper}");
                }
                place += count as usize;
                prop_assert!(upper - lower <= 2 + lower.abs().min(upper.abs()) / SUB as i64);
            }
            prop_assert_eq!(place, left.len());
        }
    }

    #[test]
    fn the_extremes_are_counted() {
        let mut histogram = SignedHistogram::default();
        for value in [i64::MIN, 0, -999, 999, -1000, i64::MAX] {
            histogram.record(value);
        }
        let buckets = histogram.buckets();
        assert_eq!(buckets.counts.iter().sum::<u64>(), 6);
        assert_eq!(
            buckets.counts[buckets
                .lower_ns
                .iter()
                .position(|lower| *lower == -1)
                .unwrap()],
            3
        );
    }
    #[test]
    fn more_than_32_bits_hold_are_counted() {
        let mut histogram = SignedHistogram::default();
        histogram.record(-5000);
        histogram.counts[histogram.middle - 5] = u32::MAX;
        histogram.record(-5000);
        histogram.record(-5000);
        assert_eq!(histogram.count(), (1 << 32) + 1);
        assert_eq!(histogram.buckets().counts, [(1 << 32) + 1]);
    }
}
