//! What is requested of one trial (`Trial`).
//!
//! These types come from Python (`keisoku/subjects/device/record/trial.py` mirrors them). They hold intentions and never a
//! derived figure.

pub mod departures;
pub mod pacing;
pub mod switches;

use serde::{Deserialize, Serialize};

use crate::trial::pacing::Pacing;

/// The load of some streams for a fixed time.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Trial {
    /// Number of the first stream in its signatures; the others follow it.
    pub first_stream: u16,
    pub streams: Vec<Stream>,
    pub duration_ns: u64,
    /// How long after the last frame the receivers wait (RFC 2544 §23: 2 s).
    pub drain_ns: u64,
    /// Width of the intervals of the series.
    pub interval_ns: u64,
    /// Senders hand their frames over in batches of so many, a power of two, and keep how long each took.
    #[serde(default)]
    pub batch_frames: Option<u32>,
    /// They keep when each batch began, too.
    #[serde(default)]
    pub lists_batches: bool,
    /// Keep the differences of consecutive frames' latencies.
    #[serde(default)]
    pub variation: bool,
    /// Compare the headers of each frame that arrives with those that its variant is expected to have.
    #[serde(default)]
    pub changes: bool,
    /// Keep at which latencies frames arrived marked, and which latencies lost frames would have had.
    #[serde(default)]
    pub marks: bool,
    /// When the device is to be reset, after the start of the load; the core does so in virtual time only.
    #[serde(default)]
    pub reset_after_ns: Option<u64>,
    /// The load ends as soon as more frames than this are lost beyond doubt (`loss_watch`).
    #[serde(default)]
    pub stop_after_lost: Option<u64>,
    /// Feeds every random choice of pacing and of a simulated device.
    pub seed: u64,
    /// For each stream, where streams are switched one by one during the trial. The trial then lasts until no stream
    /// is running.
    #[serde(default)]
    pub switches: Option<Vec<Switch>>,
    /// Links may lose their carrier in this trial; otherwise it does not begin without one, and ends when one is lost.
    #[serde(default)]
    pub links_may_fail: bool,
    /// Ports that must receive frames for all MAC addresses.
    #[serde(default)]
    pub promiscuous: Vec<usize>,
    /// What happens to the device during the trial; the core carries it out in virtual time only.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Where two words of 4 bytes are in a frame that are kept of each variant of a stream as it arrives: from where, once
    /// the device has translated it.
    #[serde(default)]
    pub words: Option<[u16; 2]>,
    /// The CPU of the first sender, if this process may use it; the others keep their order. None: the first one.
    #[serde(default)]
    pub senders_cpu: Option<usize>,
    /// The other half of the trial is another host's.
    #[serde(default)]
    pub elsewhere: Option<Elsewhere>,
}

/// What another host does in a trial whose frames leave at one host and arrive at another.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(tag = "there", rename_all = "snake_case")]
pub enum Elsewhere {
    /// The frames arrive there. Here the first one is due at this time.
    Receives { start_ns: u64 },
    /// The frames leave there, the first one at this time of that host's clock. The clock here is ahead of it by so much.
    Sends { start_ns: u64, ahead_ns: i64 },
}

/// Something that happens to the device.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Event {
    /// When, after the start of the load.
    pub after_ns: u64,
    pub name: String,
    /// True if what the event did is undone.
    pub undo: bool,
}

/// How one stream of a trial with switched streams begins and ends.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Switch {
    /// The stream does not start before it is told to.
    pub waits: bool,
    /// The stream ends this long after its start even if frames are left. Without it all frames are sent, however
    /// late.
    pub cut_ns: Option<u64>,
}

/// Frames of one sender to one receiver, numbered from 0.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Stream {
    /// Indices of the sending and the receiving port.
    pub transmit: usize,
    pub receive: usize,
    /// Further ports that each frame goes to (multicast): each has an account of its own.
    #[serde(default)]
    pub also: Vec<usize>,
    /// Further ports at any of which a frame may arrive instead: it counts wherever it does, and the record says at
    /// which.
    #[serde(default)]
    pub among: Vec<usize>,
    /// Keep when its first and its last frame arrived.
    #[serde(default)]
    pub timed: bool,
    /// Index of the table that its frames are taken from; frame n is number n modulo the table's length.
    pub table: usize,
    /// Sizes of consecutive frames, from the destination address to the FCS inclusive, repeated in a cycle.
    pub frame_bytes: Vec<u32>,
    pub frames_per_second: f64,
    #[serde(default)]
    pub pacing: Pacing,
    /// Frames to send: the rate times the duration, rounded.
    pub frames: u64,
    /// When the first frame is due, after the start of the trial.
    #[serde(default)]
    pub start_ns: u64,
    /// Sequence number of the frame whose latency RFC 2544 §26.2 asks for.
    #[serde(default)]
    pub tag: Option<u64>,
    /// By how much the device lengthens a frame's headers (a tunnel) or shortens them.
    #[serde(default)]
    pub growth_bytes: i32,
    /// Which connections its frames belong to; only a simulated device must be told.
    #[serde(default)]
    pub connections: Option<Connections>,
}

/// The connections of a stream: frame n belongs to number n modulo their count.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Connections {
    pub count: u64,
    /// Their numbers, as many as `count`; absent: from 0 on.
    #[serde(default)]
    pub numbers: Option<Vec<u32>>,
    /// The frames come from the side that opens connections.
    pub opens: bool,
}

impl Trial {
    /// Whether frames of a stream may arrive at one of several ports.
    pub fn spreads(&self) -> bool {
        self.streams.iter().any(|stream| !stream.among.is_empty())
    }
}

impl Stream {
    /// All ports that its frames go to, or may go to, the first one first.
    pub fn receives(&self) -> impl Iterator<Item = usize> + '_ {
        let others = self.also.iter().chain(&self.among);
        std::iter::once(self.receive).chain(others.copied())
    }
}
