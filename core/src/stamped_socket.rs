//! Sockets that report when each packet left and arrived: by the clocks of the program, the kernel and the hardware.
//!
//! A batch leaves back-to-back without Python in between. Stamps are returned as they were taken and are never
//! corrected; a missing stamp is reported as missing. Nothing in this module knows what the packets are for.

pub(crate) mod address;
mod clocks;
pub(crate) mod control;
mod error_queue;
mod options;
#[cfg(feature = "python")]
pub mod python;
mod receiving;
mod sending;
mod socket;
mod urgent;

pub use error_queue::IcmpError;
pub use options::{Kind, Options};
pub use receiving::Packet;
pub use sending::{Outgoing, Sent};
pub use socket::StampedSocket;
