//! `Carriage`: one lane of a bed in operation: its direction, the packets under way in it, and their counts. It does
//! no I/O.

use std::collections::VecDeque;

use super::bed::{Lane, LaneTruth};
use super::ecn;
use super::link_direction::{Fate, LinkDirection};

const LATE_NS: u64 = 20_000;

pub struct Flight {
    /// When it is to be delivered, in ps.
    pub at: u64,
    pub packet: Vec<u8>,
}

/// A lane with the packets that are under way in it.
pub struct Carriage {
    pub to: usize,
    direction: LinkDirection,
    flights: VecDeque<Flight>,
    delivered_packets: u64,
    delivered_bytes: u64,
    refused_packets: u64,
    late_packets: u64,
    max_late_ns: u64,
}

impl Carriage {
    pub fn new(lane: &Lane) -> Result<Self, String> {
        Ok(Carriage {
            to: lane.to,
            direction: LinkDirection::new(&lane.traits)?,
            flights: VecDeque::new(),
            delivered_packets: 0,
            delivered_bytes: 0,
            refused_packets: 0,
            late_packets: 0,
            max_late_ns: 0,
        })
    }

    /// The time at which a packet that arrives at `now` (ps) is to be delivered, with its marks; None if it is dropped
    /// or lost.
    pub fn take(&mut self, now: u64, packet: &mut [u8]) -> Option<u64> {
        let capable = ecn::is_capable(packet);
        match self.direction.take(now, packet.len() as u64, capable) {
            Fate::Arrives(at) => Some(at),
            Fate::ArrivesMarked(at) => {
                ecn::mark(packet);
                Some(at)
            }
            Fate::Dropped | Fate::Lost => None,
        }
    }

    /// Holds a packet until the time that `take` returned.
    pub fn hold(&mut self, flight: Flight) {
        self.flights.push_back(flight);
    }

    /// The packet that is delivered next.
    pub fn next(&self) -> Option<&Flight> {
        self.flights.front()
    }

    /// A packet whose time has come at `now` (ps).
    pub fn release(&mut self, now: u64) -> Option<Flight> {
        if self.flights.front()?.at > now {
            return None;
        }
        let flight = self.flights.pop_front()?;
        let late_ns = (now - flight.at) / 1000;
        self.max_late_ns = self.max_late_ns.max(late_ns);
        self.late_packets += u64::from(late_ns > LATE_NS);
        Some(flight)
    }

    /// Counts a packet of `bytes` bytes that the kernel at the far end accepted or refused.
    pub fn count(&mut self, bytes: usize, taken: bool) {
        if taken {
            self.delivered_packets += 1;
            self.delivered_bytes += bytes as u64;
        } else {
            self.refused_packets += 1;
        }
    }

    pub fn truth(&self) -> LaneTruth {
        LaneTruth {
            passed: self.direction.passed(),
            delivered_packets: self.delivered_packets,
            delivered_bytes: self.delivered_bytes,
            held_packets: self.flights.len() as u64,
            refused_packets: self.refused_packets,
            late_packets: self.late_packets,
            max_late_ns: self.max_late_ns,
        }
    }
}
