//! The protocol of iperf3, as its clients speak it: one client at a time.

pub mod datagrams;
pub mod parameters;
pub mod server;
mod test;
