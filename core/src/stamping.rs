//! Stamps that a driver or its hardware takes of a socket's frames (SO_TIMESTAMPING).
//!
//! What is switched on here is switched off again. Nothing here decides which stamp a trial uses.

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
