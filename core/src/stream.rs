//! Streams between two ends: threads that send as fast as they can, or at a rate, and threads that count what comes.
//!
//! It is given sockets that are connected already and knows neither who connected them nor what is done with the counts.

pub mod end;
pub mod pace;
pub mod python;
pub mod report;
pub mod send_buffer;
pub mod socket;
pub mod tcp;
pub mod tcp_info;
pub mod udp;
pub mod usage;
pub mod waiting;
