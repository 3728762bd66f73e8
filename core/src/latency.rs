//! What is kept of the latencies of many frames: extremes, exact sums and a histogram.
//!
//! Times come in picoseconds so that a simulated device loses nothing to rounding.

use serde::Serialize;

use crate::histogram::{Buckets, Histogram};

const PS_PER_NS: f64 = 1000.0;

/// Extremes and sums of one interval or of a whole trial.
#[derive(Clone, Copy, Default)]
pub struct Summary {
    count: u64,
    min_ps: i64,
    max_ps: i64,
    sum_ps: i128,
}

impl Summary {
    #[inline]
    pub fn record(&mut self, latency_ps: i64) {
        if self.count == 0 {
            (self.min_ps, self.max_ps) = (latency_ps, latency_ps);
        } else {
            self.min_ps = self.min_ps.min(latency_ps);
            self.max_ps = self.max_ps.max(latency_ps);
        }
        self.count += 1;
        self.sum_ps += i128::from(latency_ps);
    }

    pub fn figures(&self) -> Option<Figures> {
        (self.count > 0).then(|| Figures {
            min_ns: self.min_ps as f64 / PS_PER_NS,
            max_ns: self.max_ps as f64 / PS_PER_NS,
            mean_ns: self.sum_ps as f64 / self.count as f64 / PS_PER_NS,
        })
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
}

/// All latencies of a trial.
#[derive(Default)]
pub struct Latencies {
    summary: Summary,
    /// Deviations from the first value: their squares stay small enough to be exact.
    origin_ps: i64,
    squares: f64,
    deviations: f64,
    histogram: Histogram,
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
        if self.summary.count == 0 {
            self.origin_ps = latency_ps;
        }
        let deviation = (latency_ps - self.origin_ps) as f64;
        self.deviations += deviation;
        self.squares += deviation * deviation;
        self.summary.record(latency_ps);
        self.histogram.record(latency_ps.div_euclid(1000));
    }

    pub fn finish(&self) -> Option<LatencyRecord> {
        let figures = self.summary.figures()?;
        let n = self.summary.count as f64;
        let variance = (self.squares - self.deviations * self.deviations / n) / (n - 1.0).max(1.0);
        Some(LatencyRecord {
            count: self.summary.count,
            figures,
            deviation_ns: variance.max(0.0).sqrt() / PS_PER_NS,
            histogram: self.histogram.buckets(),
        })
    }
}
