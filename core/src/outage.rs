//! Steady streams of numbered, stamped packets between two ends over ordinary sockets: which packets of each flow came,
//! when, and what the host of each end did meanwhile.
//!
//! Both ends have the same parts: a `schedule` of what is sent, `arrivals` of what came, and a `host_watch`. The `near`
//! end sends from a socket for each flow; the `far` end answers only clients that were let in, with a stream of its own.
//! Nothing is judged here.

pub mod arrivals;
mod connection;
pub mod far;
pub mod host_watch;
pub mod local_addresses;
pub mod near;
pub mod packet;
#[cfg(feature = "python")]
pub mod python;
pub mod schedule;
mod socket;

/// The most flows of a measurement.
pub const MOST_FLOWS: usize = 1000;
/// So many packets are handled at most before the other direction has its turn.
const TURN: usize = 64;
/// How often a loop shows a sign of life at least, so that a stop of its host is known to this.
const LOOK_NS: u64 = 10_000_000;
