//! How the two ends of a measurement communicate: control over TCP, and a server with one client at a time.

pub mod busy;
pub mod control;
pub mod one_client;
pub mod peer;
pub mod sockets;
