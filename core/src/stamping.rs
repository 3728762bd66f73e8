//! Stamps that a driver or its hardware takes of the frames of a socket (SO_TIMESTAMPING).
//!
//! What is enabled here is disabled again. Nothing in this module decides which stamps a trial uses.

mod delay;
mod driver;
mod hardware;
mod phc;
mod received;

pub use delay::{Delays, TransmitDelay};
pub use driver::DriverStamps;
pub use hardware::{Direction, HardwareStamps};
pub use phc::PhcClock;
pub use received::ReceivedStamps;
