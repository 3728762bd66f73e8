//! Stamps that a driver or its hardware takes of the frames of a socket (SO_TIMESTAMPING).
//!
//! What is enabled here is disabled again. Nothing in this module decides which stamps a trial uses.

pub mod delay;
pub mod driver;
pub mod hardware;
pub mod phc;
pub mod received;
