//! Captures of ports: the frames that a port sent and received, in pcapng files with stamps in ns.
//!
//! Nothing in this module sends or accounts: a capture is evidence beside a record, and no figure is ever computed
//! from it.

#[cfg(bpf)]
pub mod bpf_ring;
pub mod find;
pub mod packet_source;
pub mod pcapng;
#[cfg(feature = "python")]
pub mod python;
pub mod reader;
pub mod recorder;
pub mod replay;
pub mod ring;
#[cfg(bpf)]
pub mod sent_ring;
pub mod source;
