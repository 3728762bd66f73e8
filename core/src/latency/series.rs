//! What was received in each interval of a trial (the study e1 samples once a second).
//!
//! An interval is one of receive time; its number is the elapsed time divided by the width. If a trial has more
//! intervals than the limit, the width doubles, so that memory is bounded.

use serde::Serialize;

use crate::latency::{Figures, Summary};

/// The most intervals of a trial: a day and a half of seconds.
pub const LIMIT: usize = 1 << 17;

pub struct Series {
    start_ns: u64,
    width_ns: u64,
    limit: usize,
    intervals: Vec<Summary>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Start, in ns since the first frame was due; the next one's start is its end.
    pub start_ns: u64,
    pub forwarded_frames: u64,
    pub latency: Option<Figures>,
}

impl Series {
    /// `interval_ns` must not be zero.
    pub fn new(start_ns: u64, interval_ns: u64) -> Self {
        Series {
            start_ns,
            width_ns: interval_ns,
            limit: LIMIT,
            intervals: Vec::new(),
        }
    }

    /// Keeps at most so many.
    pub fn limited_to(self, intervals: usize) -> Self {
        Series {
            limit: intervals,
            ..self
        }
    }

    /// Beginning and width of the interval of `received_ns`; what came before the start is in the first.
    pub fn interval_of(&mut self, received_ns: u64) -> (u64, u64) {
        while self.index(received_ns) >= self.limit {
            self.widen();
        }
        let begin_ns = self.start_ns + self.index(received_ns) as u64 * self.width_ns;
        (begin_ns, self.width_ns)
    }

    /// Adds what arrived in the interval that begins at `begin_ns`.
    pub fn add(&mut self, begin_ns: u64, summary: &Summary) {
        let index = self.index(begin_ns);
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, Summary::default());
        }
        self.intervals[index].add(summary);
    }

    /// The sum of all intervals.
    pub fn whole(&self) -> Summary {
        self.intervals
            .iter()
            .fold(Summary::default(), |mut whole, interval| {
                whole.add(interval);
                whole
            })
    }

    pub fn finish(&self) -> Vec<Interval> {
        let starts = (0..).map(|index| index * self.width_ns);
        starts
            .zip(&self.intervals)
            .map(|(start_ns, summary)| Interval {
                start_ns,
                forwarded_frames: summary.count(),
                latency: summary.figures(),
            })
            .collect()
    }

    fn index(&self, received_ns: u64) -> usize {
        (received_ns.saturating_sub(self.start_ns) / self.width_ns) as usize
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let pairs = self.intervals.chunks(2).map(|pair| {
            let mut both = pair[0];
            pair.iter().skip(1).for_each(|right| both.add(right));
            both
        });
        self.intervals = pairs.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Latencies;

    #[test]
    fn a_long_trial_gets_wider_intervals_and_loses_no_frame() {
        let mut series = Series::new(1000, 10).limited_to(4);
        for received_ns in (990..1090).step_by(5) {
            let mut latencies = Latencies::default();
            latencies.record(received_ns * 1000);
            let (begin_ns, _) = series.interval_of(received_ns as u64);
            series.add(begin_ns, latencies.interval());
        }
        let intervals = series.finish();
        let starts: Vec<u64> = intervals.iter().map(|interval| interval.start_ns).collect();
        let frames: Vec<u64> = intervals
            .iter()
            .map(|interval| interval.forwarded_frames)
            .collect();
        assert_eq!((starts, frames), (vec![0, 40, 80], vec![10, 8, 2]));
        assert_eq!(
            intervals[1].latency.map(|figures| figures.min_ns),
            Some(1040.0)
        );
        assert_eq!(series.whole().count(), 20);
    }
}
