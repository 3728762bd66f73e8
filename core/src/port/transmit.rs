//! What a sender is to do (`Load`), what it did (`Ended`), and the traits that the senders of an engine implement.

use std::sync::Arc;

use serde::Serialize;

use crate::capture::ring::CaptureRing;
use crate::error::Result;
use crate::frame::table::Table;
use crate::hiccup::speed::Speed;
use crate::interface::stamping::delay::TransmitDelay;
use crate::latency::histogram::Buckets;
use crate::trial::departures::Departures;

/// What a sender is to send.
pub struct Load {
    pub departures: Departures,
    /// The table of each stream of the trial.
    pub tables: Vec<Arc<Table>>,
    /// The sender's port by which each stream of the trial leaves; none if another sender has the stream.
    pub outlets: Vec<Option<usize>>,
    /// Number of the trial's first stream in signatures.
    pub first_stream: u16,
    pub start_ns: u64,
    /// When to stop even if frames are left.
    pub give_up_ns: u64,
    /// By how much interruptions of the sender may put off `give_up_ns`.
    pub patience_ns: u64,
    /// Frames are handed over in batches of so many, each of which is timed.
    pub batch_frames: Option<u32>,
    /// The times of the batches are listed one by one.
    pub lists_batches: bool,
    /// A port that loses its link does not end the load.
    pub links_may_fail: bool,
}

impl Load {
    /// Whether departures must be chosen shortly before they are due.
    pub fn is_near(&self) -> bool {
        self.links_may_fail || self.departures.switches().is_some()
    }
}

/// What a sender did.
pub struct Ended {
    /// What was sent, by port.
    pub sent: Vec<Sent>,
    /// Frames offered of each stream of the trial.
    pub offered: Vec<u64>,
    /// Frames of each stream that were not sent because their port had no link. They have no sequence number.
    pub unsent: Vec<u64>,
    /// Of the core that it was sent from.
    pub speed: Speed,
}

/// The most shifts of a schedule that are listed, as in `bpf/wire.h`.
pub const SHIFTS: usize = 1 << 10;

/// The pace, the time of a batch, and how many batches took it.
pub type PacedBatches = (u64, u64, u64);

/// What a sender did at one port. Times are ns since the first frame of the trial was due.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    pub offered_frames: u64,
    /// Frames besides these that were not sent, because the port had no link.
    pub unsent_frames: u64,
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
    /// How long batches took, in ns, from the first frame of one to when the next could begin, and how often. Before it
    /// the pace of the core meanwhile: how long a piece of work took there, in ns (`hiccup/speed.rs`), zero where that
    /// was not the same before and after. Only where the trial times batches.
    pub batches: Vec<PacedBatches>,
    /// The last batches one by one, where the trial asks for it: when each began on the clock of the host, and how long
    /// it took, in ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed_batches: Vec<(u64, u64)>,
}

/// What other threads may read and command while a load is being sent.
pub trait Control: Send + Sync {
    /// Frames sent so far.
    fn offered(&self) -> u64;
    /// Ends the load after the frame that is being sent.
    fn stop(&self);
    /// Adds to `offered` the frames of each stream that were sent so far, where streams are switched one by one.
    fn count(&self, offered: &mut [u64]);
    /// Adds to `unsent` the frames of each stream that were not sent so far, because their port had no link.
    fn count_unsent(&self, unsent: &mut [u64]);
    /// Tells whether the sender's ports have a link, in their order.
    fn tell_links(&self, up: &[bool]);
    /// Writes the departures that are due next, where the sender leaves that to another thread. It must be called
    /// every few ms.
    fn refill(&self) {}
}

/// A sender: one thread that serves one or several ports of the same engine and namespace.
pub trait Transmit: Send {
    /// Prepares a load; must be called before `control` and `run`.
    fn prepare(&mut self, load: Load) -> Result<()>;
    fn control(&self) -> Arc<dyn Control>;
    /// What a capture needs beside a packet socket to see all that the port sends.
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        Ok(None)
    }
    /// Sends the load from the calling thread, which may change its namespace and CPU.
    fn run(&mut self) -> Result<Ended>;
    /// The clock of a stamp and the point at which it is taken.
    fn stamp(&self) -> &str;
}
