//! A stateless STAMP session-reflector (RFC 8762 §4.3) with the kernel's stamps: it answers each packet with one of the same
//! length to where it came from.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keisoku::host::kernel_clock::{monotonic_ns, read};
use keisoku::stamped_socket::{Kind, Options, Outgoing, Packet, StampedSocket};

use super::packet::{Arrival, ErrorEstimate, reflect};
use crate::clock_state::error_estimate;

/// RFC 8762 §4.2.1, so that hops can be counted.
const TTL: u8 = 255;
/// How often the state of the time of day is read.
const ESTIMATE_NS: u64 = 1_000_000_000;
/// How long a wait for packets lasts at most, after which it looks whether it must end.
const LOOK_NS: u64 = 100_000_000;
const STAMP_WAIT_NS: u64 = 1_000_000;
const MOST_AT_ONCE: usize = 1024;

pub struct Reflector {
    socket: StampedSocket,
    key: Option<Vec<u8>>,
    /// The only host that is answered; `None`: any.
    peer: Option<IpAddr>,
    stopped: AtomicBool,
    reflected: AtomicU64,
    /// Packets that are no STAMP packets of this mode.
    refused: AtomicU64,
}

impl Reflector {
    pub fn open(at: SocketAddr, key: Option<Vec<u8>>, peer: Option<IpAddr>) -> io::Result<Self> {
        let options = Options {
            kind: Kind::Udp,
            bind: at,
            connect: None,
            do_not_fragment: false,
            hardware: false,
            receive_bytes: None,
        };
        Ok(Reflector {
            socket: StampedSocket::open(options, None, None)?,
            key,
            peer,
            stopped: AtomicBool::new(false),
            reflected: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// The UDP port.
    pub fn port(&self) -> u16 {
        self.socket.address().map_or(0, |address| address.port())
    }

    pub fn serve(&self) {
        let (mut estimate, mut until_ns) = (error_estimate(), monotonic_ns() + ESTIMATE_NS);
        let mut packets = Vec::new();
        while !self.stopped.load(Ordering::Relaxed) {
            packets.clear();
            let deadline_ns = monotonic_ns() + LOOK_NS;
            // ICMP errors about answers are nobody's business here.
            let came = self
                .socket
                .receive(deadline_ns, 1, MOST_AT_ONCE, false, &mut packets);
            if came.is_err() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            if monotonic_ns() > until_ns {
                (estimate, until_ns) = (error_estimate(), monotonic_ns() + ESTIMATE_NS);
            }
            for packet in &packets {
                self.answer(packet, estimate);
            }
        }
    }

    /// An answer holds the time at which it is written, shortly before it leaves: what the kernel needs to send it counts as
    /// delay. Nothing is added for that, because an answer that needs less would leave before its time.
    fn answer(&self, packet: &Packet, estimate: ErrorEstimate) {
        let Some(source) = packet.source else { return };
        if self
            .peer
            .is_some_and(|peer| peer != source.ip().to_canonical())
        {
            return;
        }
        let came = Arrival {
            received_ns: packet.kernel_ns.unwrap_or(packet.user.realtime_ns),
            ttl: packet.ttl.unwrap_or(0),
        };
        let now_ns = read(libc::CLOCK_REALTIME);
        let Some(data) = reflect(&packet.data, came, now_ns, estimate, self.key.as_deref()) else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let answer = Outgoing {
            data: &data,
            destination: Some(source),
            ttl: Some(TTL),
        };
        let sent = self.socket.send(&[answer], STAMP_WAIT_NS);
        if sent.iter().all(|one| one.error.is_none()) {
            self.reflected.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends `serve` within 100 ms.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Packets that were answered, and that were refused.
    pub fn counts(&self) -> (u64, u64) {
        (
            self.reflected.load(Ordering::Relaxed),
            self.refused.load(Ordering::Relaxed),
        )
    }
}
