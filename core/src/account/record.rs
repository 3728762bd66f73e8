//! The facts of one trial (`Record`).
//!
//! These types cross to Python (`keisoku/subjects/device/record/facts.py` mirrors them). They hold counts and never a
//! derived figure.

use serde::Serialize;

use crate::account::changes::ChangesRecord;
use crate::account::egress::Egress;
use crate::account::marks::MarksRecord;
use crate::account::tracking::Tracked;
use crate::hiccup::record::HiccupRecord;
use crate::interface::link_watch::LinkRecord;
use crate::interface::stamping::received::Stamped;
use crate::port::transmit::Sent;

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

#[derive(Clone, Debug, Serialize)]
pub struct StreamRecord {
    pub stream: u16,
    pub transmit: usize,
    pub receive: usize,
    pub offered_frames: u64,
    /// Frames besides these that were not sent, because their port had no link; they have no sequence number.
    pub unsent_frames: u64,
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
