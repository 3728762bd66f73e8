//! What is kept of the latencies of many frames: extremes, exact sums and the sum of squares.
//!
//! Times come in picoseconds so that a simulated device loses nothing to rounding. A frame is
//! recorded once, in the interval it arrived in; the whole trial is the sum of its intervals.

use serde::Serialize;

use crate::histogram::{Buckets, Histogram};

const PS_PER_NS: f64 = 1000.0;

/// An exact sum, aligned to 8 bytes so that the fields of a frame's account fill a cache line.
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

/// The latencies of a trial up to now: the open interval, and what spans all of them.
#[derive(Default)]
#[repr(C)]
pub struct Latencies {
    interval: Summary,
    /// Squares of deviations from the first value: small enough to be exact.
    squares: f64,
    origin_ps: i64,
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
        let deviation = (latency_ps - self.origin_ps) as f64;
        self.squares += deviation * deviation;
        let interval = &mut self.interval;
        interval.count += 1;
        interval.min_ps = interval.min_ps.min(latency_ps);
        interval.max_ps = interval.max_ps.max(latency_ps);
        interval.sum_ps.0 += i128::from(latency_ps);
    }

    /// Begins to count: `latency_ps` is the first value of the trial.
    pub fn begin(&mut self, latency_ps: i64) {
        self.origin_ps = latency_ps;
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
        let n = whole.count as f64;
        let deviations = whole.sum_ps.0 - i128::from(self.origin_ps) * i128::from(whole.count);
        let deviations = deviations as f64;
        let variance = (self.squares - deviations * deviations / n) / (n - 1.0).max(1.0);
        Some(LatencyRecord {
            count: whole.count,
            figures,
            deviation_ns: variance.max(0.0).sqrt() / PS_PER_NS,
            histogram: histogram.buckets(),
        })
    }
}
