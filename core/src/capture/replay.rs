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

/// Reads the frames of the interface `port`, or of the only interface that has frames.
///
/// `port` is a name, or the number of an interface in the file, counted from 0 through all of its sections.
pub fn recorded(path: &Path, port: Option<&str>, limits: Limits) -> Result<Recorded> {
    let told = |problem: String| EngineError(format!("{}: {problem}", path.display()));
    let mut frames: Vec<usize> = Vec::new();
    let contents = read(path, &mut |packet, interfaces| {
        frames.resize(interfaces.len(), 0);
        frames[packet.interface] += 1;
        ControlFlow::Continue(())
    })?;
    frames.resize(contents.interfaces.len(), 0);
    if contents.ends_early {
        return Err(told("ends within a frame; repair it with `editcap`".into()));
    }
    let chosen = choose(&contents.interfaces, &frames, port).map_err(told)?;
    let mut recorded = Recorded::default();
    let mut problem = None;
    read(path, &mut |packet, interfaces| {
        if packet.interface != chosen {
            return ControlFlow::Continue(());
        }
        let number = recorded.lengths.len() + 1;
        let length = packet.length;
        let refusal = if !interfaces[chosen].is_ethernet {
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
            recorded.bytes.extend_from_slice(packet.bytes);
            recorded.lengths.push(length as u16);
            recorded.times_ns.push(packet.time_ns);
            return ControlFlow::Continue(());
        };
        problem = Some(refusal);
        ControlFlow::Break(())
    })?;
    match problem {
        Some(problem) => Err(told(problem)),
        None => Ok(recorded),
    }
}

/// The index of the interface whose frames are meant; it has frames.
fn choose(interfaces: &[Interface], frames: &[usize], port: Option<&str>) -> Result<usize, String> {
    let filled: Vec<usize> = (0..frames.len()).filter(|at| frames[*at] > 0).collect();
    let Some(port) = port else {
        return match filled[..] {
            [] => Err("has no frame".into()),
            [only] => Ok(only),
            _ => Err(format!(
                "holds frames of several ports; choose one of {}",
                names(interfaces, &filled)
            )),
        };
    };
    let named: Vec<usize> = (0..interfaces.len())
        .filter(|at| interfaces[*at].name == port)
        .collect();
    let fitting: Vec<usize> = match named[..] {
        // No name: a number.
        [] => filled
            .iter()
            .filter(|at| at.to_string() == port)
            .copied()
            .collect(),
        _ => named.into_iter().filter(|at| frames[*at] > 0).collect(),
    };
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(format!(
            "has no frame of port {port}; its ports are {}",
            names(interfaces, &filled)
        )),
        _ => Err(format!(
            "has several ports called {port}; choose one by its number: {}",
            numbers(&fitting)
        )),
    }
}

/// How each of these interfaces is chosen: by its name, or by its number where the name is missing or not its own.
fn names(interfaces: &[Interface], filled: &[usize]) -> String {
    let own = |at: &usize| {
        let name = &interfaces[*at].name;
        let alike = filled
            .iter()
            .filter(|other| interfaces[**other].name == *name);
        if name.is_empty() || alike.count() > 1 {
            at.to_string()
        } else {
            name.clone()
        }
    };
    filled.iter().map(own).collect::<Vec<_>>().join(", ")
}

fn numbers(filled: &[usize]) -> String {
    let numbers: Vec<String> = filled.iter().map(usize::to_string).collect();
    numbers.join(", ")
}
