//! The trait that a source of captured frames implements, and what it hands over.

use std::io;

use crate::frame::signature;

/// Direction as seen from the interface. The values are those of the packet flags of pcapng.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Incoming = 1,
    Outgoing = 2,
}

/// One frame that a source hands over, without FCS.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Index of the port in the capture.
    pub port: usize,
    /// When the frame was captured, in ns of CLOCK_REALTIME.
    pub time_ns: u64,
    pub direction: Direction,
    /// Length on the wire in bytes; `bytes` may hold fewer.
    pub length: u32,
    pub bytes: &'a [u8],
    /// A VLAN tag that the kernel removed from the frame; it is put back after the addresses.
    pub tag: Option<[u8; 4]>,
    /// The last bytes of the frame, if `bytes` ends before them.
    pub end: Option<&'a [u8; signature::LENGTH]>,
}

/// A ring that a port fills.
pub trait PortRing: FrameSource {
    /// Begins to hand over frames of these interfaces, given as (index of the interface, index of the port in the
    /// capture). Frames captured before are discarded.
    fn begin(&mut self, ports: Vec<(u32, usize)>);
}

/// A source of captured frames.
pub trait FrameSource: Send {
    /// Hands over frames that were captured since the last call, in the order in which they were captured.
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()>;
    /// Total number of frames of a port that the source failed to capture.
    fn dropped(&mut self, port: usize) -> u64;
}
