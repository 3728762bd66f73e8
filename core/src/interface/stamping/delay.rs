//! The delay from a frame's own stamp to the driver's stamp of it, which is the systematic error of the former.
//!
//! A frame carries the stamp that was taken before it was handed to the kernel. This file never corrects a stamp.

use serde::Serialize;

use crate::latency::histogram::Histogram;
use crate::latency::{Latencies, LatencyRecord};

/// The driver's stamp minus that of the frame, over the frames of a sample.
#[derive(Default)]
pub struct Delays {
    asked: u64,
    delays: Latencies,
    histogram: Histogram,
}

/// The delay as it is in a record.
#[derive(Clone, Debug, Serialize)]
pub struct TransmitDelay {
    /// Frames for which a stamp of the driver was requested.
    pub asked_frames: u64,
    /// `None` if the driver returned no stamp.
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
