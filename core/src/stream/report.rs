//! The reports of threads that have ended, as they cross to Python (mirrored in keisoku/subjects/stream/flow/report.py).

use serde::{Deserialize, Serialize};

/// The report of a thread that sent. Times are ns.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderReport {
    pub flow: u32,
    /// Bytes that the kernel accepted; for UDP, of the payload of datagrams.
    pub bytes: u64,
    /// Calls to send.
    pub calls: u64,
    /// UDP: datagrams offered.
    pub datagrams: u64,
    /// UDP: calls that the kernel of this host refused for lack of buffers; their datagrams were not offered.
    pub refused: u64,
    pub elapsed_ns: u64,
    pub cpu_ns: u64,
    /// TCP: what the kernel reports at the end of sending.
    pub tcp: Option<super::tcp_info::TcpInfo>,
    /// TCP: smoothed round trip times, sampled during sending, in µs.
    pub rtt_us: Vec<u32>,
    pub error: Option<String>,
}

/// The report of a thread that received. Times are ns on this host's monotonic clock, from the first byte.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReceiverReport {
    pub flow: u32,
    pub bytes: u64,
    pub calls: u64,
    /// From the first byte to the last.
    pub elapsed_ns: u64,
    /// Bytes that arrived after the warm-up and before the first flow of this direction ended, and that time, which is
    /// the same for all of them.
    pub settled_bytes: u64,
    pub settled_ns: u64,
    /// Those bytes in equal parts of that time.
    pub settled_parts: Vec<u64>,
    pub cpu_ns: u64,
    #[serde(skip)]
    pub arrivals: super::arrivals::Arrivals,
    pub datagrams: Option<Datagrams>,
    pub error: Option<String>,
}

/// What became of every datagram: offered = arrived + lost, and received = arrived + duplicated + foreign.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Datagrams {
    pub came: u64,
    /// Datagrams with different numbers.
    pub arrived: u64,
    pub lost: u64,
    pub duplicated: u64,
    /// Datagrams with a smaller number than one that arrived before (RFC 4737 §3).
    pub reordered: u64,
    /// Datagrams that do not belong to this flow.
    pub foreign: u64,
    /// Buffers for which the receiving socket had no room, as the kernel counted them.
    pub socket_drops: u64,
    /// Buffers that arrived.
    pub buffers: u64,
    /// Datagrams in the largest buffer that arrived: 1 without receive offload.
    pub most_in_buffer: u64,
}

/// How one end treats one flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub flow: u32,
    pub fd: i32,
    pub sends: bool,
    pub udp: bool,
    /// Bytes of one call to send, of one datagram, or of one call to receive.
    pub message_bytes: usize,
    /// UDP: datagrams handed to the kernel in one call (UDP_SEGMENT). For a receiver, above 1: several datagrams are
    /// received in one buffer (UDP_GRO).
    pub segments: usize,
    pub bytes_per_second: Option<u64>,
    pub warm_up_ns: u64,
    /// First eight bytes of each datagram of this flow.
    pub token: u64,
}
