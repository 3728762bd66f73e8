//! At which latencies the frames of a stream arrived marked: the queue that a frame met is its own latency.

use serde::Serialize;

use crate::latency::histogram::{Buckets, Histogram};

/// The frame carries CE, congestion experienced (RFC 3168 §5).
pub const CE: u8 = 1;
/// The frame came with another class (DSCP or PCP) than it was sent with.
pub const REMARKED: u8 = 2;

#[derive(Default)]
pub struct Marks {
    ce: Histogram,
    remarked: Histogram,
}

/// Latencies of the marked frames, in the buckets of the latencies of all frames.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct MarksRecord {
    pub ce: Buckets,
    pub remarked: Buckets,
}

impl Marks {
    /// A frame arrived for the first time, with these marks.
    #[inline]
    pub fn record(&mut self, marks: u8, latency_ns: i64) {
        if marks & CE != 0 {
            self.ce.record(latency_ns);
        }
        if marks & REMARKED != 0 {
            self.remarked.record(latency_ns);
        }
    }

    pub fn finish(&self) -> MarksRecord {
        MarksRecord {
            ce: self.ce.buckets(),
            remarked: self.remarked.buckets(),
        }
    }
}
