//! What is kept of the latencies of many frames: extremes, exact sums and the sum of squares.
//!
//! Times are in picoseconds, so that the latencies of a simulated device are not rounded. A frame is recorded once,
//! in the interval in which it arrived; the whole trial is the sum of its intervals.

pub mod histogram;
pub mod jitter;
mod log_linear;
pub mod series;
mod signed_histogram;
pub mod variation;

use serde::Serialize;

use crate::latency::histogram::{Buckets, Histogram};

const PS_PER_NS: f64 = 1000.0;

/// A sum of 128 bits, aligned to 8 bytes so that the fields of a frame's account fill a cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(8))]
struct Sum(i128);

/// Extremes and sums of one interval or of a whole trial.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Summary {
    count: u64,
    min_ps: i64,
    max_ps: i64,
    sum_ps: Sum,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            count: 0,
            min_ps: i64::MAX,
            max_ps: i64::MIN,
            sum_ps: Sum(0),
        }
    }
}

impl Summary {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn add(&mut self, other: &Summary) {
        self.count += other.count;
        self.min_ps = self.min_ps.min(other.min_ps);
        self.max_ps = self.max_ps.max(other.max_ps);
        self.sum_ps.0 += other.sum_ps.0;
    }

    pub fn figures(&self) -> Option<Figures> {
        (self.count > 0).then(|| Figures {
            min_ns: self.min_ps as f64 / PS_PER_NS,
            max_ns: self.max_ps as f64 / PS_PER_NS,
            mean_ns: self.sum_ps.0 as f64 / self.count as f64 / PS_PER_NS,
        })
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
}

/// The latencies of a trial so far: the open interval, and what covers all intervals.
#[derive(Default)]
#[repr(C)]
pub struct Latencies {
    interval: Summary,
    /// Modulo 2^128, which is enough because the deviations from the mean are far smaller.
    squares: Sum,
}

#[derive(Clone, Debug, Serialize)]
pub struct LatencyRecord {
    pub count: u64,
    #[serde(flatten)]
    pub figures: Figures,
    /// Standard deviation over the frames.
    pub deviation_ns: f64,
    pub histogram: Buckets,
}

impl Latencies {
    #[inline]
    pub fn record(&mut self, latency_ps: i64) {
        // Whole numbers: a float would have to be rounded, and its conversion waits for the frame before.
        let latency = i128::from(latency_ps);
        self.squares.0 = self.squares.0.wrapping_add(latency * latency);
        let interval = &mut self.interval;
        interval.count += 1;
        interval.min_ps = interval.min_ps.min(latency_ps);
        interval.max_ps = interval.max_ps.max(latency_ps);
        interval.sum_ps.0 += i128::from(latency_ps);
    }

    /// The open interval.
    pub fn interval(&self) -> &Summary {
        &self.interval
    }

    /// Ends the open interval and begins another.
    pub fn take_interval(&mut self) -> Summary {
        std::mem::take(&mut self.interval)
    }

    /// `whole` is the sum of all intervals that were taken.
    pub fn finish(&self, whole: &Summary, histogram: &Histogram) -> Option<LatencyRecord> {
        let figures = whole.figures()?;
        let (n, sum) = (i128::from(whole.count), whole.sum_ps.0);
        // About the mean, rounded to a picosecond, in exact arithmetic; then about the mean itself.
        let mean = sum / n;
        let about = self
            .squares
            .0
            .wrapping_sub(mean.wrapping_mul(2 * sum - n * mean));
        let rest = (sum - n * mean) as f64;
        let n = whole.count as f64;
        let variance = (about as f64 - rest * rest / n) / (n - 1.0).max(1.0);
        Some(LatencyRecord {
            count: whole.count,
            figures,
            deviation_ns: variance.max(0.0).sqrt() / PS_PER_NS,
            histogram: histogram.buckets(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_deviation_is_that_of_the_definition(
            base in -1_000_000_000_000_000i64..1_000_000_000_000_000,
            spread in proptest::collection::vec(-1_000_000i64..1_000_000, 1..100),
        ) {
            let mut latencies = Latencies::default();
            spread.iter().for_each(|deviation| latencies.record(base + deviation));
            let whole = latencies.take_interval();
            let record = latencies.finish(&whole, &Histogram::default()).unwrap();
            let n = spread.len() as f64;
            let mean = spread.iter().sum::<i64>() as f64 / n;
            let squares: f64 = spread.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
            let expected = (squares / (n - 1.0).max(1.0)).sqrt() / PS_PER_NS;
            prop_assert!((record.deviation_ns - expected).abs() <= 1e-6 * expected + 1e-9);
        }
    }
}
