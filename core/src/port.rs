//! Ports: where frames leave and arrive.
//!
//! A sender carries out the departures of a load and stamps each frame; a receiving port hands over every arrival
//! with its stamp. An engine implements the traits `Transmit` and `Receive`. Ports never account: `tracking` does.

#[cfg(bpf)]
mod afxdp;
pub mod arrival;
#[cfg(bpf)]
pub mod bpf;
pub mod expected;
mod in_order;
pub mod opening;
mod pace;
pub mod packet;
pub mod receive;
pub mod transmit;
#[cfg(bpf)]
mod xdp;
