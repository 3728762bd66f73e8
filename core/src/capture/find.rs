//! Finds test frames in a capture file by stream and sequence number: where and when each of them was captured.
//!
//! It reads the file once. It reports where frames were seen and never concludes which device lost a frame.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use crate::capture::reader::{FileFrame, read};
use crate::capture::source::Direction;
use crate::error::Result;
use crate::frame::signature::{MASK_48, Parsed, Signature};

/// A frame that was looked for, as it was captured at one port.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Sighting {
    pub port: usize,
    pub sequence: u64,
    /// When the frame was captured, in ns of CLOCK_REALTIME.
    pub time_ns: u64,
    pub direction: Option<Direction>,
    /// Length in bytes without FCS.
    pub length: usize,
    /// False if the checksum of the signature does not hold, so that the sequence number is not certain.
    pub intact: bool,
}

/// An interface of the file and what was captured there.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct PortFrames {
    pub name: String,
    pub description: String,
    pub frames: u64,
    /// Number of test frames by stream. Frames whose checksum does not hold are not counted.
    pub streams: BTreeMap<u16, u64>,
    /// Frames that the capture cut so short that their identity is unknown.
    pub unreadable: u64,
    /// Frames that the capture itself lost; `None` if the file does not say.
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
