//! `Jitter`: magnitudes of the differences between latencies of frames that arrived one after the other, whether or
//! not frames between them were lost (RFC 4689 §3.2.5).
//!
//! Neighbours in time are alike, so one scatter of all differences would not say how their mean repeats. The means of
//! equal parts of them do. A part is twice as long whenever there are too many, so that memory is bounded.

use serde::Serialize;

/// So many are too many.
const PARTS: usize = 128;
const PS_PER_NS: f64 = 1000.0;

#[derive(Clone, Debug)]
pub struct Jitter {
    count: u64,
    sum_ps: u128,
    max_ps: u64,
    /// Sums of `width` differences each, in order of arrival.
    parts_ps: Vec<u128>,
    /// A power of two.
    width: u64,
    /// Of all parts.
    before_ps: u128,
}

/// Statistics of the jitter of a stream.
#[derive(Clone, Debug, Serialize)]
pub struct JitterRecord {
    pub count: u64,
    pub mean_ns: f64,
    pub max_ns: f64,
    /// Means of equal parts in order of arrival; the differences after the last whole part are in none.
    pub parts_ns: Vec<f64>,
}

impl Default for Jitter {
    fn default() -> Self {
        Jitter {
            count: 0,
            sum_ps: 0,
            max_ps: 0,
            parts_ps: Vec::new(),
            width: 1,
            before_ps: 0,
        }
    }
}

impl Jitter {
    #[inline]
    pub fn record(&mut self, difference_ps: u64) {
        self.count += 1;
        self.sum_ps += u128::from(difference_ps);
        self.max_ps = self.max_ps.max(difference_ps);
        if self.count & (self.width - 1) == 0 {
            self.end_part();
        }
    }

    /// Nothing without a difference.
    pub fn finish(&self) -> Option<JitterRecord> {
        let mean_ns = |sum_ps: u128, count: u64| sum_ps as f64 / count as f64 / PS_PER_NS;
        (self.count > 0).then(|| JitterRecord {
            count: self.count,
            mean_ns: mean_ns(self.sum_ps, self.count),
            max_ns: self.max_ps as f64 / PS_PER_NS,
            parts_ns: (self.parts_ps.iter())
                .map(|&sum_ps| mean_ns(sum_ps, self.width))
                .collect(),
        })
    }

    fn end_part(&mut self) {
        self.parts_ps.push(self.sum_ps - self.before_ps);
        self.before_ps = self.sum_ps;
        if self.parts_ps.len() == PARTS {
            self.width *= 2;
            self.parts_ps = (self.parts_ps.chunks(2))
                .map(|pair| pair.iter().sum())
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_in_their_order_are_all_differences_but_the_last_ones() {
        let mut jitter = Jitter::default();
        for difference in 0..1000 {
            jitter.record(difference * 1000);
        }
        let found = jitter.finish().expect("there are differences");
        let width = 1000 / found.parts_ns.len() as u64;
        assert_eq!((found.parts_ns.len(), width), (125, 8));
        for (place, &part_ns) in found.parts_ns.iter().enumerate() {
            assert_eq!(part_ns, (place as u64 * width) as f64 + 3.5);
        }
        assert_eq!((found.mean_ns, found.max_ns), (499.5, 999.0));
    }

    #[test]
    fn few_differences_are_parts_themselves() {
        let mut jitter = Jitter::default();
        assert!(jitter.finish().is_none());
        jitter.record(3000);
        jitter.record(1000);
        assert_eq!(
            jitter.finish().expect("there are two").parts_ns,
            vec![3.0, 1.0]
        );
    }
}
