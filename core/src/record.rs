//! One trial: what was asked (`Trial`), what the sender did (`Sent`), what came of it (`Record`).
//!
//! These types are the seam to Python (`keisoku/record/trial.py` mirrors them); counts and
//! intentions only, nothing derived.

use serde::{Deserialize, Serialize};

use crate::histogram::Buckets;
use crate::tracking::Tracked;

/// A constant load of one stream for a fixed time.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Trial {
    /// Bytes from the destination address to the FCS, both included.
    pub frame_bytes: u32,
    pub frames_per_second: f64,
    /// Frames to send: the rate times the duration, rounded.
    pub frames: u64,
    pub duration_ns: u64,
    /// Tells this trial's frames from every other's.
    pub stream: u16,
    /// How long after the last frame the receiver waits (RFC 2544 §23: 2 s).
    pub drain_ns: u64,
    /// Width of the intervals of the series.
    pub interval_ns: u64,
    /// Sequence number of the frame whose latency RFC 2544 §26.2 asks for.
    #[serde(default)]
    pub tag: Option<u64>,
    /// Feeds every random choice of a simulated device.
    pub seed: u64,
}

/// What the sender did. Times are ns since the first frame was due.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    pub offered_frames: u64,
    pub first_sent_ns: u64,
    pub last_sent_ns: u64,
    /// How late the latest frame was against its schedule.
    pub lag_max_ns: u64,
    /// By how much the schedule was shifted in all, because the sender was too late to catch up.
    pub postponed_ns: u64,
    /// Times between consecutive frames as they were stamped.
    pub gaps: Buckets,
}

/// The facts of one trial.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    pub sent: Sent,
    pub tracked: Tracked,
    /// Frames that reached the tester's port and that the tester itself then failed to account.
    pub tester_dropped_frames: u64,
    /// True if the trial was stopped before its time.
    pub interrupted: bool,
    /// Which clock and which point each stamp was taken at.
    pub transmit_stamp: String,
    pub receive_stamp: String,
}
