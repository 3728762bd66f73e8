//! Frames that a sender in this process hands past the packet sockets, kept for a capture.
//!
//! The sender adds them and the capture takes them. A frame for which there is no room is counted.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capture::source::{Direction, Frame, FrameSource, PortRing};
use crate::clock::offset::RealtimeOffset;
use crate::frame::signature;
use crate::interface::place::Place;

/// Half a second of a million small frames a second.
const MOST_BYTES: usize = 1 << 26;

/// What the sender adds to.
pub struct SentFrames {
    kept_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    frames: Vec<KeptFrame>,
    /// Frames for which there was no room, by the index of the interface.
    dropped: Vec<(u32, u64)>,
}

struct KeptFrame {
    interface: u32,
    time_ns: u64,
    length: u32,
    kept: u32,
    end: Option<[u8; signature::LENGTH]>,
}

/// Frames to keep, if one of the places is captured.
pub fn wanted(places: &[Place]) -> Option<Arc<SentFrames>> {
    let kept = places.iter().map(|place| place.capture_bytes).max()?;
    (kept > 0).then(|| {
        Arc::new(SentFrames {
            kept_bytes: kept as usize,
            kept: Mutex::default(),
        })
    })
}

impl SentFrames {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame that was sent at `time_ns` of CLOCK_MONOTONIC.
    pub fn push(&self, interface: u32, time_ns: u64, frame: &[u8]) {
        let mut kept = self.lock();
        let bytes = &frame[..frame.len().min(self.kept_bytes)];
        if kept.bytes.len() + bytes.len() > MOST_BYTES {
            match kept.dropped.iter_mut().find(|(own, _)| *own == interface) {
                Some((_, count)) => *count += 1,
                None => kept.dropped.push((interface, 1)),
            }
            return;
        }
        kept.bytes.extend_from_slice(bytes);
        kept.frames.push(KeptFrame {
            interface,
            time_ns,
            length: frame.len() as u32,
            kept: bytes.len() as u32,
            end: match bytes.len() < frame.len() {
                true => frame.last_chunk().copied(),
                false => None,
            },
        });
    }

    /// What a capture reads.
    pub fn ring(self: &Arc<Self>) -> Box<dyn PortRing> {
        Box::new(SentRing {
            sent: self.clone(),
            ports: Vec::new(),
            epoch_ns: 0,
            before: Vec::new(),
        })
    }

    fn dropped(&self, interface: u32) -> u64 {
        let kept = self.lock();
        let own = kept.dropped.iter().find(|(own, _)| *own == interface);
        own.map_or(0, |(_, count)| *count)
    }
}

struct SentRing {
    sent: Arc<SentFrames>,
    /// Index of the interface and of the port in the capture.
    ports: Vec<(u32, usize)>,
    epoch_ns: u64,
    /// Frames dropped before this capture began, by index in `ports`.
    before: Vec<u64>,
}

impl PortRing for SentRing {
    fn begin(&mut self, ports: Vec<(u32, usize)>) {
        let mut kept = self.sent.lock();
        kept.bytes.clear();
        kept.frames.clear();
        drop(kept);
        self.epoch_ns = RealtimeOffset::measure().to_monotonic(0);
        let dropped = ports.iter().map(|(own, _)| self.sent.dropped(*own));
        self.before = dropped.collect();
        self.ports = ports;
    }
}

impl FrameSource for SentRing {
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        let (bytes, frames) = {
            let mut kept = self.sent.lock();
            (
                std::mem::take(&mut kept.bytes),
                std::mem::take(&mut kept.frames),
            )
        };
        let mut rest = &bytes[..];
        for frame in frames {
            let (own, others) = rest.split_at(frame.kept as usize);
            rest = others;
            let port = self
                .ports
                .iter()
                .find(|(index, _)| *index == frame.interface);
            let Some((_, port)) = port else { continue };
            sink(&Frame {
                port: *port,
                time_ns: frame.time_ns.wrapping_sub(self.epoch_ns),
                direction: Direction::Outgoing,
                length: frame.length,
                bytes: own,
                tag: None,
                end: frame.end.as_ref(),
            })?;
        }
        Ok(())
    }

    fn dropped(&mut self, port: usize) -> u64 {
        let own = self.ports.iter().zip(&self.before);
        own.filter(|((_, number), _)| *number == port)
            .map(|((interface, _), before)| self.sent.dropped(*interface) - before)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_in_order_cut_and_with_their_ends() {
        let sent = Arc::new(SentFrames {
            kept_bytes: 30,
            kept: Mutex::default(),
        });
        let mut ring = sent.ring();
        sent.push(7, 5, &[9; 20]);
        ring.begin(vec![(7, 2)]);
        sent.push(7, 10, &[1; 20]);
        sent.push(8, 11, &[2; 20]);
        sent.push(7, 12, &[3; 40]);
        let mut found = Vec::new();
        ring.drain(&mut |frame| {
            found.push((
                frame.port,
                frame.length,
                frame.bytes.to_vec(),
                frame.end.copied(),
            ));
            Ok(())
        })
        .expect("nothing is written");
        let first = (2, 20, vec![1; 20], None);
        assert_eq!(found, [first, (2, 40, vec![3; 30], Some([3; 18]))]);
        assert_eq!(ring.dropped(2), 0);
    }

    #[test]
    fn a_frame_without_room_is_counted() {
        let sent = Arc::new(SentFrames {
            kept_bytes: MOST_BYTES,
            kept: Mutex::default(),
        });
        let mut ring = sent.ring();
        ring.begin(vec![(7, 0)]);
        sent.push(7, 0, &vec![0; MOST_BYTES]);
        sent.push(7, 0, &[0]);
        sent.push(7, 0, &[0]);
        assert_eq!(ring.dropped(0), 2);
    }
}
