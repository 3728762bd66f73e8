//! `Transit`: one stream on its way through a device: the classes of its frames, what happens to them, and their
//! account.

use crate::record::{Stream, StreamRecord, Trial};
use crate::tracking::Tracker;

use super::faults::Faults;
use super::output_port::SentFrame;
use super::path::Path;
use super::server::Service;
use super::{stamped, wire_ps};

/// Frames of one size between one pair of ports, computed once.
pub struct Class {
    pub frame_bytes: u32,
    /// Time that a frame needs on the tester's line.
    pub wire: Service,
    /// Time that a frame needs at the device's output.
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

pub struct Transit {
    /// Index of the tester's port that sends.
    pub input: usize,
    /// Index of the tester's port that the stream is meant for.
    pub output: usize,
    /// Index of the pair of ports.
    pub port_pair: usize,
    /// Index of the output port.
    pub output_port: usize,
    /// Absent if nothing happens at random.
    pub faults: Option<Faults>,
    /// A frame that is held back until the next one has passed it, and its class.
    pub held: Option<(SentFrame, u32)>,
    /// When its previous frame was sent.
    pub sent_ps: u64,
    /// Classes of consecutive frames, a cycle.
    classes: Vec<u32>,
    place: usize,
    offered: u64,
    resolution_ps: u64,
    /// When its first and its last frame arrived, where streams are switched one by one.
    received_ps: Option<(u64, u64)>,
    is_switched: bool,
    tracker: Tracker,
}

impl Transit {
    pub fn new(
        trial: &Trial,
        number: usize,
        path: &Path,
        port_pair: usize,
        output_port: usize,
        classes: Vec<u32>,
    ) -> Self {
        let stream = &trial.streams[number];
        let faults = Faults::new(path, trial.seed, number);
        Transit {
            input: stream.transmit,
            output: stream.receive,
            port_pair,
            output_port,
            faults: faults.are_possible().then_some(faults),
            held: None,
            sent_ps: 0,
            classes,
            place: 0,
            offered: 0,
            resolution_ps: path.resolution_ps(),
            received_ps: None,
            is_switched: trial.switches.is_some(),
            tracker: Tracker::new(0, trial.interval_ns)
                .tagged(stream.tag)
                .varying(trial.variation, trial.streams.len()),
        }
    }

    /// The class of the stream's next frame, after those that were asked for before.
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

    #[inline]
    pub fn is_intact(&self, sequence: u64) -> bool {
        self.faults
            .as_ref()
            .is_none_or(|faults| !faults.corrupt.hits(sequence))
    }

    /// A frame reaches the receiver; true if it is intact.
    #[inline]
    pub fn receive(&mut self, frame: &SentFrame, received_ps: u64) -> bool {
        if !self.is_intact(frame.sequence) {
            self.tracker.corrupt(frame.sequence);
            return false;
        }
        if self.is_switched {
            let first_ps = self
                .received_ps
                .map_or(received_ps, |(first_ps, _)| first_ps);
            self.received_ps = Some((first_ps, received_ps));
        }
        let sent_ps = stamped(frame.sent_ps, self.resolution_ps);
        let off_ps = self
            .faults
            .as_mut()
            .map_or(0, |faults| faults.reading_ps(received_ps));
        let latency_ps = stamped(received_ps, self.resolution_ps) as i64 - sent_ps as i64 + off_ps;
        self.tracker
            .arrive(frame.sequence, sent_ps / 1000, latency_ps);
        true
    }

    pub fn forwarded_frames(&self) -> u64 {
        self.tracker.forwarded_frames()
    }

    pub fn offered(&self) -> u64 {
        self.offered
    }

    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    pub fn finish(self, number: u16, stream: &Stream) -> StreamRecord {
        StreamRecord {
            stream: number,
            transmit: stream.transmit,
            receive: stream.receive,
            offered_frames: self.offered,
            tracked: self.tracker.finish(self.offered),
            first_received_ns: self.received_ps.map(|(first_ps, _)| first_ps / 1000),
            last_received_ns: self.received_ps.map(|(_, last_ps)| last_ps / 1000),
        }
    }
}
