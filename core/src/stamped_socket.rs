//! Sockets that say when each packet left and arrived: by the program's clocks, by the kernel and by hardware.
//!
//! A batch leaves back-to-back without Python between. Stamps are handed on as they were taken and never corrected;
//! what has no stamp says so. Nothing here knows what the packets are for.

mod address;
mod clocks;
mod control;
mod error_queue;
mod options;
pub mod python;
mod receiving;
mod sending;
mod socket;
mod urgent;

pub use clocks::UserStamps;
pub use error_queue::{IcmpError, KernelStamps};
pub use options::{Kind, Options};
pub use receiving::Packet;
pub use sending::{Outgoing, Sent};
pub use socket::StampedSocket;
