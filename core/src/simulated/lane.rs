//! One stream on its way through a device: what its frames are, what befalls them, and their account.

use crate::record::{Stream, StreamRecord, Trial};
use crate::tracking::Tracker;

use super::faults::Faults;
use super::outlet::Frame;
use super::path::Path;
use super::server::Service;
use super::{stamped, wire_ps};

/// Frames of one size on one way, worked out once.
pub struct Class {
    pub frame_bytes: u32,
    /// On the tester's line.
    pub wire: Service,
    /// At the device's output.
    pub service: Service,
    pub latency_ps: u64,
    pub refused: bool,
    pub is_large: bool,
}

impl Class {
    pub fn new(path: &Path, frame_bytes: u32) -> Self {
        Class {
            frame_bytes,
            wire: Service::new(wire_ps(frame_bytes, path.link_bits_per_second())),
            service: Service::new(path.service_ps(frame_bytes)),
            latency_ps: path.latency_ps(frame_bytes),
            refused: path.refuses(frame_bytes),
            is_large: path.is_large(frame_bytes),
        }
    }
}

pub struct Lane {
    /// Index of the pair of ports.
    pub way: usize,
    /// Index of the outlet.
    pub outlet: usize,
    /// Absent where nothing happens at random.
    pub faults: Option<Faults>,
    /// A frame that is held back until the next one has passed it, and its class.
    pub held: Option<(Frame, u32)>,
    /// Of consecutive frames, a cycle.
    classes: Vec<u32>,
    place: usize,
    offered: u64,
    resolution_ps: u64,
    tracker: Tracker,
}

impl Lane {
    pub fn new(
        trial: &Trial,
        number: usize,
        path: &Path,
        way: usize,
        outlet: usize,
        classes: Vec<u32>,
    ) -> Self {
        let stream = &trial.streams[number];
        let faults = Faults::new(path, trial.seed, number);
        Lane {
            way,
            outlet,
            faults: faults.are_possible().then_some(faults),
            held: None,
            classes,
            place: 0,
            offered: 0,
            resolution_ps: path.resolution_ps(),
            tracker: Tracker::new(0, trial.interval_ns).tagged(stream.tag),
        }
    }

    /// The class of the stream's next frame but those that were asked for before.
    #[inline]
    pub fn next_class(&mut self) -> u32 {
        let class = self.classes[self.place];
        self.place = if self.place + 1 == self.classes.len() {
            0
        } else {
            self.place + 1
        };
        class
    }

    /// A frame has left the tester.
    #[inline]
    pub fn offer(&mut self) {
        self.offered += 1;
    }

    #[inline]
    pub fn copies(&self, sequence: u64) -> u32 {
        match &self.faults {
            Some(faults) if faults.duplicate.hits(sequence) => 2,
            _ => 1,
        }
    }

    /// A frame reaches the receiver; true if it is intact.
    #[inline]
    pub fn receive(&mut self, frame: &Frame, received_ps: u64) -> bool {
        if let Some(faults) = &self.faults
            && faults.corrupt.hits(frame.sequence)
        {
            self.tracker.corrupt(frame.sequence);
            return false;
        }
        let sent_ps = stamped(frame.sent_ps, self.resolution_ps);
        let latency_ps = stamped(received_ps, self.resolution_ps) as i64 - sent_ps as i64;
        self.tracker
            .arrive(frame.sequence, sent_ps / 1000, latency_ps);
        true
    }

    pub fn forwarded_frames(&self) -> u64 {
        self.tracker.forwarded_frames()
    }

    pub fn finish(self, number: u16, stream: &Stream) -> StreamRecord {
        StreamRecord {
            stream: number,
            transmit: stream.transmit,
            receive: stream.receive,
            offered_frames: self.offered,
            tracked: self.tracker.finish(self.offered),
        }
    }
}
