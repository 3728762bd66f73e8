//! Ports: where frames leave and arrive. This file says what an engine must offer.
//!
//! A transmit port sends one constant load at a time and stamps each frame; a receive port
//! hands over every arrival with its stamp. Neither accounts: that is `tracking`'s.

mod expected;
#[cfg(bpf)]
mod features;
#[cfg(bpf)]
mod layout;
#[cfg(bpf)]
mod mapped;
mod open;
mod packet_receive;
pub mod packet_socket;
mod packet_transmit;
#[cfg(bpf)]
mod xdp_receive;
#[cfg(bpf)]
mod xdp_transmit;

use std::sync::Arc;

use crate::pacing::Schedule;
use crate::record::Sent;

pub use expected::Expected;
pub use open::{Place, open_receive, open_transmit};
pub use packet_transmit::send_slowly;

/// Why a port cannot do what was asked, in one sentence for the user.
#[derive(Debug)]
pub struct EngineError(pub String);

pub type Result<T> = std::result::Result<T, EngineError>;

/// What a transmit port is to send.
pub struct Load<'a> {
    pub template: &'a [u8],
    pub stream: u16,
    pub frames: u64,
    pub schedule: Schedule,
    /// When to stop even if frames are left.
    pub give_up_ns: u64,
}

/// What became of one arrival. Times are CLOCK_MONOTONIC, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    Intact {
        sequence: u64,
        sent_ns: u64,
        received_ns: u64,
    },
    Corrupt {
        sequence: u64,
    },
    Foreign,
}

/// Seen and told by other threads while a load is being sent.
pub trait Control: Send + Sync {
    /// Frames sent so far.
    fn offered(&self) -> u64;
    /// Ends the load after the frame that is being sent.
    fn stop(&self);
}

pub trait Transmit: Send {
    /// Makes ready for a load; must be called before `control` and `run`.
    fn prepare(&mut self, load: &Load) -> Result<()>;
    fn control(&self) -> Arc<dyn Control>;
    /// Sends the load from the calling thread, which may change its namespace and CPU.
    fn run(&mut self, load: &Load) -> Result<Sent>;
    /// Which clock and which point a stamp is taken at.
    fn stamp(&self) -> &str;
}

pub trait Receive: Send {
    /// Starts watching; whatever arrived before is forgotten.
    fn begin(&mut self, expected: Expected) -> Result<()>;
    /// Hands over what arrived since the last call, in order of arrival.
    fn drain(&mut self, sink: &mut dyn FnMut(Arrival));
    /// How long an arrival may stay unseen by `drain`.
    fn delay_ns(&self) -> u64;
    /// Stops watching; says how many arrivals were seen and not handed over.
    fn end(&mut self) -> u64;
    /// Which clock and which point a stamp is taken at.
    fn stamp(&self) -> &str;
}
