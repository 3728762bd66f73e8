//! The engine `afxdp`: frames in memory that is shared with the kernel, or with the driver itself (zero copy).
//!
//! One socket for each queue serves both directions of a port.

pub mod interface;
mod memory;
mod nic;
mod receive;
mod ring;
mod socket;
mod transmit;
