//! What a bed of links is and what it did: the values that cross to Python as JSON. This file holds types only.

use serde::{Deserialize, Serialize};

use super::link_direction::{Passed, Traits};
use super::traffic_source::{SourceCounts, SourceTraits};

/// A TUN device to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunPort {
    /// The path of its namespace; None for that of this process.
    pub namespace: Option<String>,
    pub interface: String,
}

/// One direction of a link: from one port to another.
#[derive(Clone, Debug, Deserialize)]
pub struct Lane {
    pub from: usize,
    pub to: usize,
    #[serde(flatten)]
    pub traits: Traits,
}

/// Links, and what sends beside the path. A port that is the start of no lane belongs to a host: packets that arrive
/// there are counted and go no further.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bed {
    pub ports: Vec<TunPort>,
    pub lanes: Vec<Lane>,
    pub sources: Vec<SourceTraits>,
    /// The CPU on which the thread stays.
    pub core: Option<usize>,
}

/// What one lane did so far: `in = delivered + dropped + lost + refused + held` holds exactly.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LaneTruth {
    #[serde(flatten)]
    pub passed: Passed,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Packets under way.
    pub held_packets: u64,
    /// Packets that the kernel did not accept at the far end, for example because the device was down.
    pub refused_packets: u64,
    /// Packets delivered more than 20 µs late, because the host was busy.
    pub late_packets: u64,
    pub max_late_ns: u64,
}

/// Packets that arrived at a port.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Came {
    pub packets: u64,
    pub bytes: u64,
}

/// What the whole bed did so far, at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// Since the links began.
    pub elapsed_ns: u64,
    pub lanes: Vec<LaneTruth>,
    pub sources: Vec<SourceCounts>,
    /// One for each port; zero where a lane continues.
    pub hosts: Vec<Came>,
}
