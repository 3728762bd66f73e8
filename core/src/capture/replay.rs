//! Takes the frames of one port out of a capture file, complete and with their times, so that they can be sent again.
//!
//! It changes no frame and omits none: a file that cannot be replayed unchanged is refused.

use std::ops::ControlFlow;
use std::path::Path;

use crate::capture::reader::{Interface, read};
use crate::error::{EngineError, Result};

/// The most that the tables of an engine hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub frames: usize,
    pub bytes: usize,
}

/// Concatenated frames without FCS.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub bytes: Vec<u8>,
    pub lengths: Vec<u16>,
    /// In ns since the epoch.
    pub times_ns: Vec<u64>,
}

const ETHERNET_HEADER_BYTES: usize = 14;

/// Reads the frames of the interface named `port`, or of the only interface that has frames.
pub fn recorded(path: &Path, port: Option<&str>, limits: Limits) -> Result<Recorded> {
    let mut recorded = Recorded::default();
    let mut problem = None;
    let mut chosen: Option<usize> = None;
    let contents = read(path, &mut |packet, interfaces| {
        let own = &interfaces[packet.interface];
        if port.is_some_and(|port| port != own.name) {
            return ControlFlow::Continue(());
        }
        let number = recorded.lengths.len() + 1;
        let length = packet.length;
        let refusal = if chosen.is_some_and(|index| index != packet.interface) {
            several(interfaces, port)
        } else if !own.is_ethernet {
            "holds frames that are not Ethernet; only Ethernet frames can be replayed".into()
        } else if packet.bytes.len() < length {
            let kept = packet.bytes.len();
            format!(
                "frame {number} was cut to {kept} of its {length} bytes; capture it again whole (--snap 0)"
            )
        } else if !(ETHERNET_HEADER_BYTES..=usize::from(u16::MAX)).contains(&length) {
            format!(
                "frame {number} has {length} bytes, which no Ethernet frame has; leave it out with `editcap`"
            )
        } else if number > limits.frames || recorded.bytes.len() + length > limits.bytes {
            format!(
                "has more than the {} frames or {} MiB that one replay can hold; split it with `editcap -c {}`",
                limits.frames,
                limits.bytes >> 20,
                limits.frames
            )
        } else {
            chosen = Some(packet.interface);
            recorded.bytes.extend_from_slice(packet.bytes);
            recorded.lengths.push(length as u16);
            recorded.times_ns.push(packet.time_ns);
            return ControlFlow::Continue(());
        };
        problem = Some(refusal);
        ControlFlow::Break(())
    })?;
    if problem.is_none() && contents.ends_early {
        problem = Some("ends within a frame; repair it with `editcap`".into());
    }
    if problem.is_none() && recorded.lengths.is_empty() {
        problem = Some(match port {
            Some(port) => format!(
                "has no frame of port {port}; its ports are {}",
                names(&contents.interfaces)
            ),
            None => "has no frame".into(),
        });
    }
    match problem {
        Some(problem) => Err(EngineError(format!("{}: {problem}", path.display()))),
        None => Ok(recorded),
    }
}

fn several(interfaces: &[Interface], port: Option<&str>) -> String {
    match port {
        None => format!(
            "holds frames of several ports; choose one of {}",
            names(interfaces)
        ),
        Some(port) => format!("has several ports called {port}; split it with `tshark -Y`"),
    }
}

fn names(interfaces: &[Interface]) -> String {
    let names: Vec<&str> = interfaces
        .iter()
        .map(|interface| interface.name.as_str())
        .collect();
    names.join(", ")
}
