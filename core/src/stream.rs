//! Streams between two hosts: threads that send as fast as they can or at a rate, and threads that count what
//! arrives.
//!
//! This module gets connected sockets. It never connects and never interprets a count.

pub mod arrivals;
pub mod end;
pub mod pace;
#[cfg(feature = "python")]
pub mod python;
pub mod report;
pub mod send_buffer;
pub mod socket;
pub mod tcp;
pub mod tcp_info;
pub mod udp;
pub mod usage;
pub mod waiting;
