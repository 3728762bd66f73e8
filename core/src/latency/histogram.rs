//! A log-linear histogram of latencies: exact to 1 ns below 256 ns, to 1/128 above.
//!
//! Recording is one shift, one comparison and one increment. Only the octaves between the smallest and the largest
//! value exist, so that a thousand streams fit into a cache. It allocates when a new octave occurs, at most 41 times.
//! It counts and never interprets: the analysis computes percentiles.

use serde::Serialize;

use crate::latency::log_linear::{index, lower};

/// 2^7 buckets for each doubling: a relative width of at most 1/128.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// The largest exponent: 2^47 ns is 39 hours; anything longer falls into the last bucket.
const OCTAVES: usize = 47 - SUB_BITS as usize;
const BUCKETS: usize = (OCTAVES + 1) * SUB;

/// Counts of values in ns.
#[derive(Clone, Default)]
#[repr(C)]
pub struct Histogram {
    /// Counts of the buckets from `first` on, in whole octaves.
    counts: Box<[u64]>,
    first: usize,
    /// Values below zero: the two clocks disagree by more than the latency.
    negative: u64,
}

/// The occupied buckets: `lower_ns[i] <= value < upper_ns[i]`, `counts[i]` times.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Buckets {
    pub negative: u64,
    pub lower_ns: Vec<i64>,
    pub upper_ns: Vec<i64>,
    pub counts: Vec<u64>,
}

impl Buckets {
    pub fn push(&mut self, lower_ns: i64, upper_ns: i64, count: u64) {
        self.lower_ns.push(lower_ns);
        self.upper_ns.push(upper_ns);
        self.counts.push(count);
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        // A negative value is far beyond the last bucket when read as unsigned.
        let place = index::<SUB_BITS>(value_ns as u64).wrapping_sub(self.first);
        match self.counts.get_mut(place) {
            Some(count) => *count += 1,
            None => self.record_many(value_ns, 1),
        }
    }

    /// Records the same value `times` times.
    #[cold]
    pub fn record_many(&mut self, value_ns: i64, times: u64) {
        if value_ns < 0 {
            self.negative += times;
            return;
        }
        let bucket = index::<SUB_BITS>(value_ns as u64).min(BUCKETS - 1);
        self.make_room(bucket);
        self.counts[bucket - self.first] += times;
    }

    /// A histogram from counts that `bpf/transmit.c` kept in the same buckets. Missing counts are zero, and further
    /// ones are ignored.
    pub fn from_counts(counts: &[u64]) -> Self {
        let mut own = vec![0; BUCKETS].into_boxed_slice();
        for (own, count) in own.iter_mut().zip(counts) {
            *own = *count;
        }
        Histogram {
            counts: own,
            ..Histogram::default()
        }
    }

    pub fn buckets(&self) -> Buckets {
        let mut buckets = Buckets {
            negative: self.negative,
            ..Buckets::default()
        };
        for (bucket, &count) in (self.first..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
        {
            buckets.push(
                lower::<SUB_BITS>(bucket) as i64,
                lower::<SUB_BITS>(bucket + 1) as i64,
                count,
            );
        }
        buckets
    }

    /// What was recorded since the moment at which `earlier` was copied from this histogram.
    pub fn buckets_since(&self, earlier: &Histogram) -> Buckets {
        let mut since = self.clone();
        since.negative -= earlier.negative;
        for (bucket, count) in (earlier.first..).zip(&earlier.counts) {
            since.counts[bucket - since.first] -= count;
        }
        since.buckets()
    }

    /// Allocates the octaves from those that exist to that of `bucket`.
    fn make_room(&mut self, bucket: usize) {
        let octave = bucket / SUB * SUB;
        let end = self.first + self.counts.len();
        let (first, end) = if self.counts.is_empty() {
            (octave, octave + SUB)
        } else {
            (self.first.min(octave), end.max(octave + SUB))
        };
        if end - first == self.counts.len() {
            return;
        }
        let mut counts = vec![0; end - first].into_boxed_slice();
        let from = self.first.saturating_sub(first);
        counts[from..from + self.counts.len()].copy_from_slice(&self.counts);
        (self.counts, self.first) = (counts, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_the_bucket_is_narrow(value in 0u64..(1 << 46)) {
            let index = index::<SUB_BITS>(value);
            prop_assert!(lower::<SUB_BITS>(index) <= value && value < lower::<SUB_BITS>(index + 1));
            prop_assert!(lower::<SUB_BITS>(index + 1) - lower::<SUB_BITS>(index) <= 1 + value / SUB as u64);
        }
    }

    proptest! {
        #[test]
        fn octaves_that_come_late_lose_nothing(values in proptest::collection::vec((any::<i64>(), 0u32..64), 0..100)) {
            let mut histogram = Histogram::default();
            let mut whole = vec![0; BUCKETS];
            let mut negative = 0;
            for (value, shift) in values {
                histogram.record(value >> shift);
                if value < 0 {
                    negative += 1;
                } else {
                    whole[index::<SUB_BITS>((value >> shift) as u64).min(BUCKETS - 1)] += 1;
                }
            }
            let expected = Buckets { negative, ..Histogram::from_counts(&whole).buckets() };
            prop_assert_eq!(histogram.buckets(), expected);
        }
    }

    #[test]
    fn the_extremes_are_counted() {
        let mut histogram = Histogram::default();
        histogram.record(-1);
        histogram.record(0);
        histogram.record(i64::MAX);
        let buckets = histogram.buckets();
        assert_eq!(buckets.negative, 1);
        assert_eq!(buckets.counts, [1, 1]);
        assert_eq!(buckets.lower_ns, [0, lower::<SUB_BITS>(BUCKETS - 1) as i64]);
    }
}
