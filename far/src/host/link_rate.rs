//! What the interface towards a peer can carry at most, as far as this host knows: its line rate, its token bucket. A slower
//! link further on is not seen.

use serde::Serialize;

use super::{ethtool, netlink};
use crate::two_ended::peer::Peer;

/// What a token bucket counts with each IP packet; and a line, with checksum, preamble and gap between frames.
const ETHERNET_BYTES: u32 = 14;
const ON_THE_LINE_BYTES: u32 = 38;
/// Drivers that name a rate that they do not have.
const WITHOUT_RATE: [&str; 4] = ["veth", "tun", "bridge", "dummy"];

/// A limit of one interface, as `keisoku.ground.host.link_rate.LinkRate` has it.
#[derive(Debug, Serialize)]
pub struct LinkRate {
    interface: String,
    limit: &'static str,
    bps: u64,
    /// Bytes that count with each IP packet.
    frame_bytes: u32,
    /// A line is as fast in both directions; a token bucket is for what is sent.
    both_ways: bool,
}

/// Limits of the interface by which a peer is reached; empty where none is known.
pub fn link_rates(peer: Peer) -> Vec<LinkRate> {
    let Some(index) = interface_of(peer) else {
        return Vec::new();
    };
    let Some(interface) = ethtool::name_of(index) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(bytes) = netlink::token_bucket(index) {
        found.push(LinkRate {
            interface: interface.clone(),
            limit: "tbf",
            bps: 8 * u64::from(bytes),
            frame_bytes: ETHERNET_BYTES,
            both_ways: false,
        });
    }
    let has_line =
        ethtool::driver(&interface).is_some_and(|name| !WITHOUT_RATE.contains(&name.as_str()));
    if has_line && let Some(bps) = ethtool::speed_bps(&interface) {
        found.push(LinkRate {
            interface,
            limit: "line",
            bps,
            frame_bytes: ON_THE_LINE_BYTES,
            both_ways: true,
        });
    }
    found
}

/// The number of the interface by which a peer is reached.
pub fn interface_of(peer: Peer) -> Option<u32> {
    match peer.scope {
        0 => netlink::interface_towards(peer.ip),
        index => Some(index),
    }
}
