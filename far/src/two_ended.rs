//! How the two ends of a measurement communicate: control over TCP, and a server of clients.

pub mod busy;
pub mod clients;
pub mod control;
pub mod peer;
pub mod sockets;
