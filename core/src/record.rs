//! One trial: what was requested (`Trial`), what the senders did (`Sent`), and the result (`Record`).
//!
//! These types cross to Python (`keisoku/subjects/device/record/trial.py` mirrors them). They hold counts and intentions and
//! never a derived figure.

use serde::{Deserialize, Serialize};

use crate::changes::ChangesRecord;
use crate::egress::Egress;
use crate::hiccup::HiccupRecord;
use crate::histogram::Buckets;
use crate::marks::MarksRecord;
use crate::pacing::Pacing;
use crate::stamping::TransmitDelay;
use crate::tracking::Tracked;

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

/// The most shifts of a schedule that are listed, as in `bpf/wire.h`.
pub const SHIFTS: usize = 1 << 10;

/// What a sender did at one port. Times are ns since the first frame of the trial was due.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    pub offered_frames: u64,
    pub first_sent_ns: u64,
    pub last_sent_ns: u64,
    /// Greatest delay of a frame behind its schedule.
    pub lag_max_ns: u64,
    /// By how much the schedule was shifted in all, because the sender was too late to catch up.
    pub postponed_ns: u64,
    /// The part of it because the host stopped the sender between two frames, and how often it did. The rest is because
    /// the sender is too slow for the load.
    pub interrupted_ns: u64,
    pub interruptions: u64,
    /// The first shifts of the schedule: when the late frame was sent, and by how much later all others were due then.
    pub shifts: Vec<(u64, u64)>,
    /// Frames of these that the driver had no room for, so that they never left; `None` where that is not known.
    pub refused_frames: Option<u64>,
    /// Times between the stamps of consecutive frames.
    pub gaps: Buckets,
    /// How much later than its stamp the driver had a frame, where the driver stamps frames.
    pub driver_delay: Option<TransmitDelay>,
}

/// The facts of one trial.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// In the order of the trial's streams.
    pub streams: Vec<StreamRecord>,
    pub transmitters: Vec<Transmitter>,
    pub receivers: Vec<Receiver>,
    /// What became of the links of the ports; empty in virtual time.
    pub links: Vec<LinkRecord>,
    /// Interference by the host during the trial; none in virtual time.
    pub interference: Option<HiccupRecord>,
    /// True if the trial was stopped from outside before its time.
    pub interrupted: bool,
    /// True if the load ended early because `stop_after_lost` was passed.
    pub stopped_for_loss: bool,
    /// For each stream the words of each of its variants that arrived, else zero, or two if it came to
    /// another port; empty if the trial keeps none. They are handed over by themselves.
    #[serde(skip)]
    pub words: Vec<Vec<u64>>,
}

/// The link of one port during a trial.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRecord {
    pub port: usize,
    /// At the end of the trial.
    pub carrier: bool,
    /// How often the carrier went or came.
    pub carrier_changes: u32,
    /// When it was first seen to be lost, in ns since the first frame of the trial was due.
    pub lost_ns: Option<u64>,
    /// At the begin and at the end of the trial.
    pub mtu_bytes: (u32, u32),
}

#[derive(Clone, Debug, Serialize)]
pub struct StreamRecord {
    pub stream: u16,
    pub transmit: usize,
    pub receive: usize,
    pub offered_frames: u64,
    pub tracked: Tracked,
    /// Only where changes are watched.
    pub changes: Option<ChangesRecord>,
    /// Only if they were requested, and only of a device in virtual time; elsewhere `changes` shows them.
    pub marked: Option<MarksRecord>,
    /// When its first and its last frame arrived, in ns since the start of the trial; only where streams are switched,
    /// or timed.
    pub first_received_ns: Option<u64>,
    pub last_received_ns: Option<u64>,
    /// Only where a frame may arrive at one of several ports.
    pub egress: Option<Egress>,
    /// The further ports that its frames go to.
    pub branches: Vec<BranchRecord>,
}

/// What became of a stream's frames at a further port.
#[derive(Clone, Debug, Serialize)]
pub struct BranchRecord {
    pub receive: usize,
    pub tracked: Tracked,
    pub first_received_ns: Option<u64>,
    pub last_received_ns: Option<u64>,
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

    /// By which of several ports its frames leave the device; nothing where they may arrive at one only.
    pub fn egress(&self) -> Option<Egress> {
        let ports = std::iter::once(&self.receive).chain(&self.among);
        (!self.among.is_empty()).then(|| Egress::new(ports.copied()))
    }
}

/// What a port sent.
#[derive(Clone, Debug, Serialize)]
pub struct Transmitter {
    pub port: usize,
    pub sent: Sent,
    /// Which clock and which point each stamp was taken at.
    pub stamp: String,
}

/// What a port received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Receiver {
    pub port: usize,
    /// Frames that no stream of this trial sent.
    pub foreign_frames: u64,
    /// Frames of streams that are meant for another port.
    pub misdirected_frames: u64,
    /// Frames that reached the port but that the tester failed to account.
    pub tester_dropped_frames: u64,
    /// Why it failed, as a clause, where the port knows.
    pub drop_reason: Option<String>,
    /// When the last frame of this trial arrived, in ns since its first frame was due.
    pub last_received_ns: Option<u64>,
    pub stamp: String,
    /// Only where hardware was to stamp.
    pub stamped: Option<Stamped>,
}

/// How many arrivals hardware stamped, as it was to, and how many the kernel did instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stamped {
    pub by_hardware: u64,
    pub by_kernel: u64,
}
