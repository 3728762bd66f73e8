//! `TcpInfo`: what the kernel reports about a connection (tcp(7), TCP_INFO), at the offsets of
//! include/uapi/linux/tcp.h.
//!
//! A field that an older kernel does not report is absent.

use std::io;
use std::os::fd::BorrowedFd;

use serde::Serialize;

use super::socket;

#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct TcpInfo {
    pub retransmissions: u32,
    pub rtt_us: u32,
    pub rtt_variation_us: u32,
    pub least_rtt_us: Option<u32>,
    pub congestion_window: u32,
    /// Maximum segment size in bytes.
    pub segment_bytes: u32,
    pub path_mtu_bytes: u32,
    /// Time in µs in which there was data to send, and the parts of it in which the sender waited for the receiver's
    /// window or for its own buffer.
    pub busy_us: Option<u64>,
    pub receiver_limited_us: Option<u64>,
    pub buffer_limited_us: Option<u64>,
    /// Segments with data that were received, repeated ones too.
    #[serde(skip)]
    pub received_segments: Option<u32>,
    /// Segments that were received out of order.
    #[serde(skip)]
    pub disordered_segments: Option<u32>,
}

impl TcpInfo {
    pub fn of(connection: BorrowedFd<'_>) -> io::Result<Self> {
        let mut room = [0u8; 512];
        socket::get(connection, libc::IPPROTO_TCP, libc::TCP_INFO, &mut room).map(Self::parse)
    }

    fn parse(bytes: &[u8]) -> Self {
        let narrow = |at: usize| {
            bytes
                .get(at..at + 4)
                .and_then(|part| part.try_into().ok().map(u32::from_ne_bytes))
        };
        let wide = |at: usize| {
            bytes
                .get(at..at + 8)
                .and_then(|part| part.try_into().ok().map(u64::from_ne_bytes))
        };
        TcpInfo {
            segment_bytes: narrow(16).unwrap_or_default(),
            path_mtu_bytes: narrow(60).unwrap_or_default(),
            rtt_us: narrow(68).unwrap_or_default(),
            rtt_variation_us: narrow(72).unwrap_or_default(),
            congestion_window: narrow(80).unwrap_or_default(),
            retransmissions: narrow(100).unwrap_or_default(),
            least_rtt_us: narrow(148),
            received_segments: narrow(152),
            busy_us: wide(168),
            receiver_limited_us: wide(176),
            buffer_limited_us: wide(184),
            disordered_segments: narrow(224),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::TcpInfo;

    #[test]
    fn places_are_those_of_the_kernels_structure() {
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_mss), 16);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_pmtu), 60);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
    }

    #[test]
    fn a_connection_on_loopback_retransmits_nothing_and_has_a_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[1; 1000]).unwrap();
        receiver.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::of(sender.as_fd()).unwrap();
        assert!(info.segment_bytes > 500 && info.rtt_us > 0);
        assert!(info.least_rtt_us.unwrap() <= info.rtt_us + info.rtt_variation_us + 1_000_000);
        assert!(info.busy_us.is_some());
        assert_eq!(TcpInfo::parse(&[]), TcpInfo::default());
    }
}
