//! A log-linear histogram of latencies: exact to 1 ns below 256 ns, to 1/128 above.
//!
//! Recording is one shift, one mask and one increment; nothing is allocated after
//! `new`. It counts and never interprets: percentiles belong to the analysis.

use serde::Serialize;

/// 2^7 buckets for each doubling: a relative width of at most 1/128.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// The largest exponent: 2^47 ns is 39 hours; anything longer falls into the last bucket.
const OCTAVES: usize = 47 - SUB_BITS as usize;

/// Counts of values in ns.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64]>,
    /// Values below zero: the two clocks disagree by more than the latency.
    negative: u64,
}

/// The occupied buckets: `lower_ns[i] <= value < upper_ns[i]`, `counts[i]` times.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Buckets {
    pub negative: u64,
    pub lower_ns: Vec<u64>,
    pub upper_ns: Vec<u64>,
    pub counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; (OCTAVES + 1) * SUB].into_boxed_slice(),
            negative: 0,
        }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        if value_ns < 0 {
            self.negative += 1;
            return;
        }
        let last = self.counts.len() - 1;
        let index = index(value_ns as u64).min(last);
        self.counts[index] += 1;
    }

    /// As `record`, `times` times.
    pub fn record_many(&mut self, value_ns: i64, times: u64) {
        if value_ns < 0 {
            self.negative += times;
            return;
        }
        let last = self.counts.len() - 1;
        self.counts[index(value_ns as u64).min(last)] += times;
    }

    /// From counts that somebody else kept in the same buckets (`bpf/transmit.c`); fewer or more are ignored.
    pub fn from_counts(counts: &[u64]) -> Self {
        let mut histogram = Histogram::default();
        for (own, count) in histogram.counts.iter_mut().zip(counts) {
            *own = *count;
        }
        histogram
    }

    pub fn buckets(&self) -> Buckets {
        let mut buckets = Buckets {
            negative: self.negative,
            ..Buckets::default()
        };
        for (index, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            buckets.lower_ns.push(lower(index));
            buckets.upper_ns.push(lower(index + 1));
            buckets.counts.push(count);
        }
        buckets
    }
}

#[inline]
fn index(value: u64) -> usize {
    // Below 2 * SUB each value has its own bucket; above, the top SUB_BITS + 1 bits choose it.
    let octave = (63 - (value | SUB as u64).leading_zeros()) - SUB_BITS;
    (octave as usize) * SUB + (value >> octave) as usize
}

fn lower(index: usize) -> u64 {
    if index < 2 * SUB {
        return index as u64;
    }
    let octave = index / SUB - 1;
    ((index % SUB + SUB) as u64) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_the_bucket_is_narrow(value in 0u64..(1 << 46)) {
            let index = index(value);
            prop_assert!(lower(index) <= value && value < lower(index + 1));
            prop_assert!(lower(index + 1) - lower(index) <= 1 + value / SUB as u64);
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
        assert_eq!(buckets.lower_ns[0], 0);
    }
}
