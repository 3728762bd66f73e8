//! What a thread says when it has ended, as it crosses to Python (mirrored in keisoku/stream/report.py).

use serde::{Deserialize, Serialize};

/// Of a thread that sent. Times are ns.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderReport {
    pub flow: u32,
    /// Bytes that the kernel took; of UDP, of the datagrams' payload.
    pub bytes: u64,
    /// Calls to send.
    pub calls: u64,
    /// UDP: datagrams offered.
    pub datagrams: u64,
    /// UDP: calls that the own kernel refused for want of buffers; they were not offered.
    pub refused: u64,
    pub elapsed_ns: u64,
    pub cpu_ns: u64,
    /// TCP: the kernel's word at the end of sending.
    pub tcp: Option<super::tcp_info::TcpInfo>,
    /// TCP: smoothed round trip times, sampled during sending, in µs.
    pub rtt_us: Vec<u32>,
    pub error: Option<String>,
}

/// Of a thread that received. Times are ns on this host's monotonic clock, from the first byte.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReceiverReport {
    pub flow: u32,
    pub bytes: u64,
    pub calls: u64,
    /// From the first byte to the last.
    pub elapsed_ns: u64,
    /// The same without the warm-up: bytes that came after it, and from its end to the last byte.
    pub settled_bytes: u64,
    pub settled_ns: u64,
    pub cpu_ns: u64,
    pub datagrams: Option<Datagrams>,
    pub error: Option<String>,
}

/// Where every datagram went: offered = arrived + lost, and came = arrived + duplicated + foreign.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Datagrams {
    pub came: u64,
    /// Of different numbers.
    pub arrived: u64,
    pub lost: u64,
    pub duplicated: u64,
    /// With a number below one that came before (RFC 4737 §3).
    pub reordered: u64,
    /// Not of this flow.
    pub foreign: u64,
    /// Buffers for which the receiving socket had no room, by the kernel's own count.
    pub socket_drops: u64,
    /// Buffers that came.
    pub buffers: u64,
    /// Datagrams in the largest buffer that came: 1 without receive offload.
    pub most_in_buffer: u64,
}

/// One flow as one end of it is to treat it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub flow: u32,
    pub fd: i32,
    pub sends: bool,
    pub udp: bool,
    /// Of one call to send, of one datagram, or what is asked for in one call to receive.
    pub message_bytes: usize,
    /// UDP: datagrams handed to the kernel in one call (UDP_SEGMENT); of a receiver, above 1: take them so (UDP_GRO).
    pub segments: usize,
    pub bytes_per_second: Option<u64>,
    pub warm_up_ns: u64,
    /// First eight bytes of each datagram of this flow.
    pub token: u64,
}
