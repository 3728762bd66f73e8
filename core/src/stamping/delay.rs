//! How long after a frame's own stamp the driver stamped it: the systematic error of the former.
//!
//! A frame carries the stamp that was taken before it was handed to the kernel. It never corrects one.

use serde::Serialize;

use crate::histogram::Histogram;
use crate::latency::{Latencies, LatencyRecord};

/// Driver's stamp minus the frame's, over the frames sampled in a trial.
#[derive(Default)]
pub struct Delays {
    asked: u64,
    delays: Latencies,
    histogram: Histogram,
}

/// As a record keeps it.
#[derive(Clone, Debug, Serialize)]
pub struct TransmitDelay {
    /// Frames of which the driver was asked for a stamp.
    pub asked_frames: u64,
    /// `None` if it gave none.
    pub delay: Option<LatencyRecord>,
}

impl Delays {
    pub fn asked(&mut self) {
        self.asked += 1;
    }

    pub fn record(&mut self, sent_ns: u64, driver_ns: u64) {
        let delay_ns = driver_ns as i64 - sent_ns as i64;
        self.delays.record(delay_ns * 1000);
        self.histogram.record(delay_ns);
    }

    pub fn finish(&self) -> TransmitDelay {
        TransmitDelay {
            asked_frames: self.asked,
            delay: self.delays.finish(self.delays.interval(), &self.histogram),
        }
    }
}
