//! Captures of ports: frames as they came and went, in pcapng files with nanosecond stamps.
//!
//! This file says what a source of frames must offer. Nothing here sends, and nothing here accounts: a
//! capture is evidence beside a record and never its origin.

#[cfg(bpf)]
pub mod bpf_ring;
pub mod find;
pub mod packet_source;
pub mod pcapng;
pub mod python;
pub mod reader;
pub mod recorder;
pub mod replay;

use std::io;

use crate::signature;

pub use python::CaptureRing;

/// As seen from the interface; the values are those of pcapng's packet flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Incoming = 1,
    Outgoing = 2,
}

/// One frame as a source hands it over, without FCS.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Index of the port in the capture.
    pub port: usize,
    /// CLOCK_REALTIME.
    pub time_ns: u64,
    pub direction: Direction,
    /// On the wire; `bytes` may be fewer.
    pub length: u32,
    pub bytes: &'a [u8],
    /// A VLAN tag that the kernel took out of the frame, to be put back behind the addresses.
    pub tag: Option<[u8; 4]>,
    /// The frame's last bytes, where `bytes` ends before them.
    pub end: Option<&'a [u8; signature::LENGTH]>,
}

/// Where captured frames come from.
pub trait FrameSource: Send {
    /// Hands over some of what came since the last call, in the order in which it was captured.
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()>;
    /// Frames of a port that the source itself failed to capture, in all.
    fn dropped(&mut self, port: usize) -> u64;
}
