//! Looks test frames up in a capture file by stream and sequence number: where and when each was seen.
//!
//! One pass over the file. It reports sightings and says nothing about who lost a frame.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use crate::capture::Direction;
use crate::capture::reader::{FileFrame, read};
use crate::error::Result;
use crate::signature::{MASK_48, Parsed, Signature};

/// A wanted frame at one port.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Sighting {
    pub port: usize,
    pub sequence: u64,
    /// CLOCK_REALTIME.
    pub time_ns: u64,
    pub direction: Option<Direction>,
    /// Without FCS.
    pub length: usize,
    /// False: the signature's bytes do not balance, so the sequence number is only a claim.
    pub intact: bool,
}

/// An interface of the file and what was seen at it.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct PortFrames {
    pub name: String,
    pub description: String,
    pub frames: u64,
    /// Test frames by stream, signatures that do not balance left out.
    pub streams: BTreeMap<u16, u64>,
    /// Frames cut before their end, of which nothing is known: they may be any.
    pub unreadable: u64,
    /// Lost by the capture itself; `None` if the file does not say.
    pub dropped: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub ports: Vec<PortFrames>,
    /// In the order of the file.
    pub sightings: Vec<Sighting>,
    pub ends_early: bool,
}

/// Finds the frames of `stream` whose sequence numbers are in `wanted`: inclusive ranges, ascending and disjoint.
pub fn find(path: &Path, stream: Option<u16>, wanted: &[(u64, u64)]) -> Result<Found> {
    let mut ports: Vec<PortFrames> = Vec::new();
    let mut sightings = Vec::new();
    let contents = read(path, &mut |packet, interfaces| {
        ports.resize(interfaces.len(), PortFrames::default());
        let port = &mut ports[packet.interface];
        port.frames += 1;
        let (signature, intact) = match parse(packet) {
            Some(Parsed::Intact(signature)) => (signature, true),
            Some(Parsed::Broken(signature)) => (signature, false),
            Some(Parsed::Absent) => return ControlFlow::Continue(()),
            None => {
                port.unreadable += 1;
                return ControlFlow::Continue(());
            }
        };
        if intact {
            *port.streams.entry(signature.stream).or_default() += 1;
        }
        if stream == Some(signature.stream) && contains(wanted, signature.sequence) {
            sightings.push(Sighting {
                port: packet.interface,
                sequence: signature.sequence,
                time_ns: packet.time_ns,
                direction: packet.direction,
                length: packet.length,
                intact,
            });
        }
        ControlFlow::Continue(())
    })?;
    ports.resize(contents.interfaces.len(), PortFrames::default());
    for (port, interface) in ports.iter_mut().zip(contents.interfaces) {
        port.name = interface.name;
        port.description = interface.description;
        port.dropped = interface.dropped;
    }
    Ok(Found {
        ports,
        sightings,
        ends_early: contents.ends_early,
    })
}

/// `None` if the frame was cut and the capture did not keep its identity.
fn parse(packet: &FileFrame) -> Option<Parsed> {
    if packet.bytes.len() == packet.length {
        return Some(Signature::find(packet.bytes));
    }
    packet.identity.map(|word| {
        Parsed::Intact(Signature {
            stream: (word >> 48) as u16,
            sequence: word & MASK_48,
            sent_ns: 0,
        })
    })
}

fn contains(ranges: &[(u64, u64)], sequence: u64) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= sequence);
    after > 0 && sequence <= ranges[after - 1].1
}
