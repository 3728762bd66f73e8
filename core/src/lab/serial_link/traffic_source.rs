//! `TrafficSource`: UDP packets of a host beside the path, at a constant rate or as a Poisson process, from a seed.
//!
//! It determines which packet is due when; the forwarder sends. Packets that are overdue by more than a moment are
//! omitted, so that a host that was interrupted does not turn random arrivals into one burst. The counts are those of
//! packets that were really sent.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::chance::{Concern, Draws, uniform};
use crate::trial::pacing::{Pacing, Timetable};

/// The IPv4 and the UDP header.
const HEADERS_BYTES: usize = 28;
/// The discard service (RFC 863).
const PORT: u16 = 9;
const TIME_TO_LIVE: u8 = 64;
const OVERDUE_NS: u64 = 2_000_000;
/// More packets than any lab ever sends: a Poisson process with so many packets is one without an end.
const ENDLESS: u64 = 1 << 40;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTraits {
    /// The host's device, as a number of the bed's ports.
    pub port: usize,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    /// `Constant` or `Poisson`.
    pub pacing: Pacing,
    pub packets_per_second: f64,
    /// IP bytes of a packet, drawn evenly from these.
    pub sizes_bytes: Vec<usize>,
    pub seed: u64,
}

/// What a source has really sent.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct SourceCounts {
    pub packets: u64,
    pub bytes: u64,
    /// Packets that were omitted because they were due while the host was interrupted.
    pub skipped: u64,
}

pub struct TrafficSource {
    pub port: usize,
    pub sent: SourceCounts,
    pacing: Pacing,
    packets_per_second: f64,
    seed: u64,
    /// None before it begins.
    timetable: Option<Timetable>,
    sizes: Vec<usize>,
    choice: Draws,
    number: u64,
    packet: Vec<u8>,
}

impl TrafficSource {
    /// Its packets are due from `begin` on.
    pub fn new(traits: &SourceTraits) -> Result<Self, String> {
        let most = traits.sizes_bytes.iter().max().copied().unwrap_or_default();
        if traits.sizes_bytes.iter().any(|size| *size < HEADERS_BYTES) || most > 65_535 {
            return Err(format!("sizes_bytes: give {HEADERS_BYTES} to 65535"));
        }
        if most == 0 || traits.packets_per_second <= 0.0 || !traits.packets_per_second.is_finite() {
            return Err("a source needs a size and a rate".into());
        }
        let rate = traits.packets_per_second;
        let mut packet = vec![0; most];
        packet[..2].copy_from_slice(&[0x45, 0]);
        packet[8..10].copy_from_slice(&[TIME_TO_LIVE, libc::IPPROTO_UDP as u8]);
        packet[12..16].copy_from_slice(&traits.from.octets());
        packet[16..20].copy_from_slice(&traits.to.octets());
        packet[20..22].copy_from_slice(&PORT.to_be_bytes());
        packet[22..24].copy_from_slice(&PORT.to_be_bytes());
        Ok(TrafficSource {
            port: traits.port,
            sent: SourceCounts::default(),
            pacing: traits.pacing.clone(),
            packets_per_second: rate,
            seed: traits.seed,
            timetable: None,
            sizes: traits.sizes_bytes.clone(),
            choice: Draws::new(traits.seed, Concern::Arbitration),
            number: 0,
            packet,
        })
    }

    /// The first may be due at `start_ns`, on the clock of the forwarder.
    pub fn begin(&mut self, start_ns: u64) {
        self.timetable = Some(Timetable::new(
            self.pacing.clone(),
            start_ns,
            self.packets_per_second,
            ENDLESS,
            self.seed,
        ));
    }

    /// When the next packet is due, in ns; None before it begins.
    pub fn due_ns(&self) -> Option<u64> {
        self.timetable.as_ref().map(Timetable::due_ns)
    }

    /// The packet that is due at `now_ns`; None if it was omitted. It must be called only when a packet is due, and
    /// `count` after sending.
    pub fn take(&mut self, now_ns: u64) -> Option<&[u8]> {
        let timetable = self.timetable.as_mut()?;
        let overdue = now_ns - timetable.due_ns() > OVERDUE_NS;
        timetable.advance();
        let place = uniform(&self.choice, self.number, self.sizes.len() as u64 - 1);
        self.number += 1;
        if overdue {
            self.sent.skipped += 1;
            return None;
        }
        let bytes = self.sizes[place as usize];
        let packet = &mut self.packet[..bytes];
        packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&(self.number as u16).to_be_bytes());
        // RFC 768: a UDP checksum of zero says that there is none.
        packet[24..26].copy_from_slice(&((bytes - 20) as u16).to_be_bytes());
        packet[10..12].fill(0);
        let sum = header_checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        Some(packet)
    }
}

impl SourceCounts {
    /// Counts a packet of `bytes` that was sent.
    pub fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// The checksum of an IPv4 header (RFC 1071).
fn header_checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header
        .chunks_exact(2)
        .map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])))
        .sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pacing: Pacing) -> TrafficSource {
        let traits = SourceTraits {
            port: 0,
            from: Ipv4Addr::new(198, 19, 0, 2),
            to: Ipv4Addr::new(198, 19, 1, 2),
            pacing,
            packets_per_second: 10_000.0,
            sizes_bytes: vec![40, 576, 1500],
            seed: 5,
        };
        let mut source = TrafficSource::new(&traits).expect("the traits can be");
        assert_eq!(source.due_ns(), None);
        source.begin(0);
        source
    }

    #[test]
    fn a_packet_is_one_that_a_router_forwards() {
        let mut source = source(Pacing::Constant);
        let packet = source.take(0).expect("it is due").to_vec();
        assert_eq!(header_checksum(&packet[..20]), 0);
        assert_eq!(
            usize::from(u16::from_be_bytes([packet[2], packet[3]])),
            packet.len()
        );
        assert_eq!(
            usize::from(u16::from_be_bytes([packet[24], packet[25]])),
            packet.len() - 20
        );
    }

    #[test]
    fn a_poisson_source_keeps_its_rate_its_spread_and_its_sizes() {
        let mut source = source(Pacing::Poisson);
        let (mut last, mut squares) = (0, 0.0);
        let packets = 100_000;
        for _ in 0..packets {
            let due = source.due_ns().expect("it has begun");
            squares += ((due - last) as f64 - 1e5).powi(2);
            last = due;
            let bytes = source.take(due).expect("it is due").len();
            source.sent.count(bytes);
        }
        assert!((last as f64 / f64::from(packets) - 1e5).abs() < 1.5e3);
        // Exponential gaps: the standard deviation is the mean.
        assert!(((squares / f64::from(packets)).sqrt() - 1e5).abs() < 2e3);
        let mean = source.sent.bytes as f64 / source.sent.packets as f64;
        assert!((mean - (40.0 + 576.0 + 1500.0) / 3.0).abs() < 8.0);
    }

    #[test]
    fn what_a_stall_made_overdue_is_left_out_and_counted() {
        let mut source = source(Pacing::Constant);
        let (stalled_until, mut taken) = (50_000_000, 0);
        while source.due_ns() <= Some(stalled_until) {
            taken += u64::from(source.take(stalled_until).is_some());
        }
        assert_eq!(source.sent.skipped + taken, stalled_until / 100_000 + 1);
        assert_eq!(taken, OVERDUE_NS / 100_000 + 1);
    }
}
