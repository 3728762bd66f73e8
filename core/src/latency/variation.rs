//! Inter-packet delay variation: D(i) - D(i-1) with its sign (RFC 3393 §2, RFC 5481 §4.1, RFC 8219 §7.3.2).
//!
//! A pair is two frames with consecutive sequence numbers that both arrived, in any order. Frames in order need the
//! latency of the previous frame only. Frames next to a missing number are stored in case it arrives late, in a table
//! that drops those more than `LIMIT` numbers back, so that memory is bounded; their pairs are left out. Magnitudes
//! are never taken. Differences scatter over many buckets, which costs more than everything else that is kept of a
//! latency, so they are kept only on request.

use serde::Serialize;

use crate::latency::histogram::Buckets;
use crate::latency::jitter::{Jitter, JitterRecord};
use crate::latency::signed_histogram::SignedHistogram;

/// A frame that is late by at most this many numbers finds its neighbours. Must be a power of two.
pub const LIMIT: usize = 1 << 12;
const NONE_PS: i64 = i64::MIN;
/// A value in place of a latency: variation is not kept.
const OFF_PS: i64 = i64::MIN + 1;
const PS_PER_NS: f64 = 1000.0;

#[repr(C)]
pub struct Variation {
    /// Latency of the frame with the greatest number up to now.
    previous_ps: i64,
    min_ps: i64,
    max_ps: i64,
    histogram: SignedHistogram,
    /// Latency of the first frame after the latest gap: in a run without gaps the sum of differences is last minus
    /// first.
    run_ps: i64,
    sum_ps: i128,
    /// Frames next to missing ones, by the lower bits of their numbers; empty until a frame is missing.
    edges: Box<[Edge]>,
    limit: usize,
    /// Latency of the frame that arrived last, whatever its number.
    received_ps: i64,
    jitter: Jitter,
}

#[derive(Clone, Copy)]
struct Edge {
    sequence: u64,
    latency_ps: i64,
}

/// Statistics over all pairs of frames with consecutive numbers that both arrived.
#[derive(Clone, Debug, Serialize)]
pub struct VariationRecord {
    pub count: u64,
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
    pub histogram: Buckets,
}

impl Variation {
    /// Keeps nothing.
    pub fn off() -> Self {
        Variation {
            previous_ps: OFF_PS,
            ..Variation::new(0)
        }
    }

    /// `limit` must be a power of two.
    pub fn new(limit: usize) -> Self {
        Variation {
            previous_ps: NONE_PS,
            min_ps: i64::MAX,
            max_ps: i64::MIN,
            histogram: SignedHistogram::default(),
            run_ps: 0,
            sum_ps: 0,
            edges: Box::default(),
            limit,
            received_ps: NONE_PS,
            jitter: Jitter::default(),
        }
    }

    /// Nothing if it is not kept or fewer than two frames arrived.
    pub fn jitter(&self) -> Option<JitterRecord> {
        self.jitter.finish()
    }

    #[inline]
    fn receive(&mut self, latency_ps: i64) {
        let before_ps = std::mem::replace(&mut self.received_ps, latency_ps);
        if before_ps != NONE_PS {
            self.jitter.record(latency_ps.abs_diff(before_ps));
        }
    }

    /// The frame after the one with the greatest number arrived.
    #[inline]
    pub fn follow(&mut self, latency_ps: i64) {
        if self.previous_ps != OFF_PS {
            self.receive(latency_ps);
        }
        if self.previous_ps > OFF_PS {
            self.pair(latency_ps - self.previous_ps);
            self.previous_ps = latency_ps;
        } else if self.previous_ps == NONE_PS {
            (self.previous_ps, self.run_ps) = (latency_ps, latency_ps);
        }
    }

    /// Numbers from `expected` on are missing before `sequence`, which arrived.
    pub fn skip(&mut self, expected: u64, sequence: u64, latency_ps: i64) {
        if self.previous_ps == OFF_PS {
            return;
        }
        self.receive(latency_ps);
        if self.previous_ps != NONE_PS {
            self.remember(expected - 1, self.previous_ps);
            self.sum_ps += i128::from(self.previous_ps - self.run_ps);
        }
        self.remember(sequence, latency_ps);
        (self.previous_ps, self.run_ps) = (latency_ps, latency_ps);
    }

    /// A frame that was missing arrived.
    pub fn fill(&mut self, sequence: u64, latency_ps: i64) {
        if self.previous_ps == OFF_PS {
            return;
        }
        self.receive(latency_ps);
        if let Some(before_ps) = sequence.checked_sub(1).and_then(|before| self.find(before)) {
            self.late_pair(latency_ps - before_ps);
        }
        if let Some(after_ps) = self.find(sequence + 1) {
            self.late_pair(after_ps - latency_ps);
        }
        self.remember(sequence, latency_ps);
    }

    pub fn finish(self) -> Option<VariationRecord> {
        let count = self.histogram.count();
        let last_run_ps = match self.previous_ps {
            NONE_PS | OFF_PS => 0,
            previous_ps => i128::from(previous_ps - self.run_ps),
        };
        (count > 0).then(|| VariationRecord {
            count,
            min_ns: self.min_ps as f64 / PS_PER_NS,
            max_ns: self.max_ps as f64 / PS_PER_NS,
            mean_ns: (self.sum_ps + last_run_ps) as f64 / count as f64 / PS_PER_NS,
            histogram: self.histogram.buckets(),
        })
    }

    #[inline]
    fn pair(&mut self, difference_ps: i64) {
        self.min_ps = self.min_ps.min(difference_ps);
        self.max_ps = self.max_ps.max(difference_ps);
        self.histogram.record(difference_ps);
    }

    fn late_pair(&mut self, difference_ps: i64) {
        self.sum_ps += i128::from(difference_ps);
        self.pair(difference_ps);
    }

    fn remember(&mut self, sequence: u64, latency_ps: i64) {
        if self.edges.is_empty() {
            let unused = Edge {
                sequence: u64::MAX,
                latency_ps: 0,
            };
            self.edges = vec![unused; self.limit].into_boxed_slice();
        }
        let place = sequence as usize & (self.edges.len() - 1);
        self.edges[place] = Edge {
            sequence,
            latency_ps,
        };
    }

    fn find(&self, sequence: u64) -> Option<i64> {
        let place = sequence as usize & (self.edges.len().checked_sub(1)?);
        Some(self.edges[place])
            .filter(|edge| edge.sequence == sequence)
            .map(|edge| edge.latency_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_of_frames_that_arrived_one_after_the_other_whatever_was_lost_or_overtaken() {
        let mut variation = Variation::new(16);
        variation.follow(10_000); // frame 0
        variation.follow(13_000); // 1
        variation.skip(2, 4, 5_000); // 2 and 3 are missing before 4
        variation.fill(2, 6_000); // 2 is late
        variation.follow(6_000); // 5
        let jitter = variation.jitter().expect("there are pairs");
        assert_eq!((jitter.count, jitter.max_ns), (4, 8.0));
        assert_eq!(jitter.mean_ns, (3.0 + 8.0 + 1.0 + 0.0) / 4.0);
        let pairs = variation.finish().expect("there are pairs").count;
        assert_eq!(pairs, 3);
    }

    #[test]
    fn without_variation_there_is_no_jitter() {
        let mut off = Variation::off();
        off.follow(10_000);
        off.skip(2, 4, 5_000);
        off.fill(2, 6_000);
        assert!(off.jitter().is_none());
    }
}
