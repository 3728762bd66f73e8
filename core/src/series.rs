//! What was received in each interval of a trial (E1 samples once a second).
//!
//! An interval is one of receive time; its number is elapsed time over `interval_ns`.

use serde::Serialize;

use crate::latency::{Figures, Summary};

/// A trial longer than this many intervals keeps the rest in the last one.
const LIMIT: usize = 1 << 17;

pub struct Series {
    interval_ns: u64,
    intervals: Vec<(u64, Summary)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Start, in ns since the first frame was due.
    pub start_ns: u64,
    pub forwarded_frames: u64,
    pub latency: Option<Figures>,
}

impl Series {
    /// `interval_ns` must not be zero.
    pub fn new(interval_ns: u64) -> Self {
        Series {
            interval_ns,
            intervals: Vec::new(),
        }
    }

    #[inline]
    pub fn record(&mut self, elapsed_ns: u64, latency_ps: i64) {
        let index = ((elapsed_ns / self.interval_ns) as usize).min(LIMIT);
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, Default::default());
        }
        let (frames, summary) = &mut self.intervals[index];
        *frames += 1;
        summary.record(latency_ps);
    }

    pub fn finish(&self) -> Vec<Interval> {
        let starts = (0..).map(|index| index * self.interval_ns);
        starts
            .zip(&self.intervals)
            .map(|(start_ns, (frames, summary))| Interval {
                start_ns,
                forwarded_frames: *frames,
                latency: summary.figures(),
            })
            .collect()
    }
}
