//! Ports: where frames leave and arrive. This file holds the traits that an engine implements.
//!
//! A sender carries out the departures of a load and stamps each frame; a receiving port hands over every arrival
//! with its stamp. Ports never account: `tracking` does.

#[cfg(bpf)]
mod afxdp;
#[cfg(bpf)]
mod batch;
#[cfg(bpf)]
mod dead_end;
#[cfg(bpf)]
mod departure_ring;
mod expected;
#[cfg(bpf)]
mod features;
mod in_order;
#[cfg(bpf)]
mod layout;
#[cfg(bpf)]
mod mapped;
mod open;
mod pace;
mod packet_receive;
pub(crate) mod packet_ring;
pub(crate) mod packet_socket;
mod packet_transmit;
mod place;
#[cfg(bpf)]
mod xdp_admission;
#[cfg(bpf)]
mod xdp_receive;
#[cfg(bpf)]
mod xdp_refusals;
#[cfg(bpf)]
mod xdp_transmit;

use std::sync::Arc;

use crate::capture::CaptureRing;
use crate::departures::Departures;
use crate::error::Result;
use crate::hiccup::speed::Speed;
use crate::record::{Sent, Stamped};
use crate::signature::{MASK_48, unwrap_48};
use crate::table::Table;
use crate::view::Fronts;

pub use expected::{Claim, Expected};
pub use open::Opening;
pub use packet_transmit::send_slowly;
pub use place::{Engine, Place};

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
}

/// What a sender did.
pub struct Ended {
    /// What was sent, by port.
    pub sent: Vec<Sent>,
    /// Frames offered of each stream of the trial.
    pub offered: Vec<u64>,
    /// Of the core that it was sent from.
    pub speed: Speed,
}

/// What became of one arrival. Times are CLOCK_MONOTONIC, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    Intact {
        stream: u16,
        sequence: u64,
        sent_ns: u64,
        received_ns: u64,
    },
    Corrupt {
        stream: u16,
        sequence: u64,
        received_ns: u64,
    },
    Foreign,
}

impl Arrival {
    /// The same on the clock of another host that sent the frame; the clock here is ahead of it by so much.
    pub fn as_sent(self, ahead_ns: i64) -> Arrival {
        let there = |time_ns: u64| time_ns.wrapping_add_signed(ahead_ns.wrapping_neg());
        match self {
            Arrival::Intact {
                stream,
                sequence,
                sent_ns,
                received_ns,
            } => Arrival::Intact {
                stream,
                sequence,
                sent_ns: unwrap_48(sent_ns & MASK_48, there(received_ns)),
                received_ns: there(received_ns),
            },
            Arrival::Corrupt {
                stream,
                sequence,
                received_ns,
            } => Arrival::Corrupt {
                stream,
                sequence,
                received_ns: there(received_ns),
            },
            Arrival::Foreign => Arrival::Foreign,
        }
    }
}

/// What other threads may read and command while a load is being sent.
pub trait Control: Send + Sync {
    /// Frames sent so far.
    fn offered(&self) -> u64;
    /// Ends the load after the frame that is being sent.
    fn stop(&self);
    /// Adds to `offered` the frames of each stream that were sent so far, where streams are switched one by one.
    fn count(&self, offered: &mut [u64]);
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

pub trait Receive: Send {
    /// What a capture needs beside a packet socket to see all that the port receives.
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        Ok(None)
    }
    /// Starts to watch; earlier arrivals are discarded.
    fn begin(&mut self, expected: &Expected) -> Result<()>;
    /// Hands over what arrived since the last call, in the order of the stamps, each with its view where changes are
    /// watched, else with zero.
    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64));
    /// The longest time after which `drain` hands over an arrival.
    fn delay_ns(&self) -> u64;
    /// Stops watching, hands over the rest, and returns the number of arrivals that were seen but not handed over.
    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64;
    /// The fronts of the latest trial's frames that were not as expected, where changes are watched.
    fn fronts(&self) -> &Fronts;
    /// Why arrivals were not handed over in the latest trial, as a clause, where the port knows.
    fn drop_reason(&self) -> Option<&str> {
        None
    }
    /// Frames that the port took out of the host's way since it was opened; `None` if it takes none. The counters of some
    /// drivers have them among those dropped.
    fn taken(&self) -> Option<u64> {
        None
    }
    /// Who stamped the arrivals of the latest trial, if hardware was to.
    fn stamped(&self) -> Option<Stamped> {
        None
    }
    /// Which clock and which point a stamp is taken at.
    fn stamp(&self) -> &str;
}
