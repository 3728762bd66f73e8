//! The engine `packet`: frames through packet sockets, on any interface.

pub mod receive;
pub mod transmit;
