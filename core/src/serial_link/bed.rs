//! What a bed of links is and what it did: the values that cross to Python as JSON. Nothing here does anything.

use serde::{Deserialize, Serialize};

use super::link_direction::{Passed, Traits};
use super::traffic_source::{SourceCounts, SourceTraits};

/// A TUN device to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunPort {
    /// The path of its namespace, None for this one.
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

/// Links and what sends beside the path. A port from which no lane leads is a host's: what comes out there is
/// counted and goes no further.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bed {
    pub ports: Vec<TunPort>,
    pub lanes: Vec<Lane>,
    pub sources: Vec<SourceTraits>,
    /// The CPU that the thread keeps to.
    pub core: Option<usize>,
}

/// What one lane did so far: `in = delivered + dropped + lost + refused + held`, exactly.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LaneTruth {
    #[serde(flatten)]
    pub passed: Passed,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Under way.
    pub held_packets: u64,
    /// What the kernel did not take at the far end, for instance because the device was down.
    pub refused_packets: u64,
    /// Delivered more than 20 µs after their time: what a busy host did to the truth.
    pub late_packets: u64,
    pub max_late_ns: u64,
}

/// Packets that came out at a port.
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
    /// One for each port; zero where a lane leads on.
    pub hosts: Vec<Came>,
}
