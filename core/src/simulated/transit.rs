//! `Transit`: one stream on its way through a device: the classes of its frames, what happens to them, and their
//! account.

use std::collections::BTreeMap;

use crate::account::egress::Egress;
use crate::account::marks::Marks;
use crate::account::record::{BranchRecord, StreamRecord};
use crate::account::tracking::Tracker;
use crate::trial::{Connections, Stream, Trial};

use super::cuts::Cuts;
use super::device::{Code, Distribution, Jitter};
use super::faults::Faults;
use super::path::Path;
use super::rewriting::Watched;
use super::server::Service;
use super::{stamped, wire_ps};

/// A frame on its way to an output port.
#[derive(Clone, Copy)]
pub struct SentFrame {
    pub stream: u32,
    pub sequence: u64,
    pub sent_ps: u64,
    /// What the device did to it (`marks`).
    pub marks: u8,
}

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

/// Each size between each pair of ports once.
#[derive(Default)]
pub struct Classes {
    pub all: Vec<Class>,
    pub index: BTreeMap<((usize, usize), u32), u32>,
}

impl Classes {
    pub fn of(&mut self, path: &Path, pair: (usize, usize), frame_bytes: u32) -> u32 {
        *self.index.entry((pair, frame_bytes)).or_insert_with(|| {
            self.all.push(Class::new(path, frame_bytes));
            self.all.len() as u32 - 1
        })
    }

    /// The shortest time after which a frame to `port` is ready.
    pub fn least_latency_ps(&self, port: usize, path: &Path) -> u64 {
        let shortens = |jitter: &Jitter| jitter.distribution == Distribution::Normal;
        if path.jitter().is_some_and(shortens) {
            return 0;
        }
        let to_port = self.index.iter().filter(|((pair, _), _)| pair.1 == port);
        to_port
            .map(|(_, class)| self.all[*class as usize].latency_ps)
            .min()
            .unwrap_or(0)
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
    /// When events cut it off.
    pub cuts: Cuts,
    /// A frame that is held back until the next one has passed it, and its class.
    pub held: Option<(SentFrame, u32)>,
    /// When its previous frame was sent.
    pub sent_ps: u64,
    /// Classes of consecutive frames, a cycle.
    classes: Vec<u32>,
    place: usize,
    offered: u64,
    resolution_ps: u64,
    is_timed: bool,
    first: Branch,
    /// Further ports that the stream is meant for.
    also: Vec<Branch>,
    /// Present where changes are watched, at the first port.
    watched: Option<Box<Watched>>,
    /// What the device reads of consecutive frames, a cycle; empty if it does not read them.
    codes: Vec<Code>,
    /// Present if the trial asks for it.
    marks: Option<Marks>,
    /// Ports at which a frame counts as if it were at the first.
    among: Vec<usize>,
    /// Present if there are such ports.
    egress: Option<Egress>,
    /// Present if its frames belong to connections.
    pub connections: Option<Belonging>,
}

/// Which connection each frame of a stream belongs to, and from where those arrived that the device let through.
pub struct Belonging {
    count: u64,
    numbers: Option<Vec<u32>>,
    pub opens: bool,
    /// By the place of a connection in the stream: its outer port.
    ports: Vec<u16>,
    arrived: Vec<bool>,
}

/// In place of an address and ports that a device did not change.
const UNCHANGED: u64 = 1;

impl Belonging {
    fn new(own: &Connections) -> Self {
        let count = own.count as usize;
        Belonging {
            count: own.count,
            numbers: own.numbers.clone(),
            opens: own.opens,
            ports: vec![0; count],
            arrived: vec![false; count],
        }
    }

    #[inline]
    pub fn number(&self, sequence: u64) -> u32 {
        let place = sequence % self.count;
        let numbers = self.numbers.as_ref();
        numbers.map_or(place as u32, |own| own[place as usize])
    }

    /// The device let a frame through, and translated its source to this port if it is not zero.
    #[inline]
    pub fn translated(&mut self, sequence: u64, port: u16) {
        if let Some(own) = self.ports.get_mut((sequence % self.count) as usize) {
            *own = port;
        }
    }

    /// As a tester of real ports finds them: the address in the low half, the source port behind it. A simulated device
    /// has no address.
    pub fn words(&mut self) -> Vec<u64> {
        let word = |port: u16| {
            let [first, second] = port.to_be_bytes();
            UNCHANGED | u64::from(u32::from_ne_bytes([first, second, 0, 0])) << 32
        };
        let arrivals = self.ports.iter().zip(&self.arrived);
        arrivals
            .map(|(port, arrived)| if *arrived { word(*port) } else { 0 })
            .collect()
    }
}

/// One port that a stream is meant for, and what arrived there.
struct Branch {
    port: usize,
    /// When its first and its last frame arrived, where that is kept.
    received_ps: Option<(u64, u64)>,
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
        let branch = |port: usize| Branch {
            port,
            received_ps: None,
            tracker: Tracker::new(0, trial.interval_ns)
                .tagged(stream.tag)
                .varying(trial.variation, trial.streams.len())
                .placing_lost(trial.marks),
        };
        Transit {
            connections: stream.connections.as_ref().map(Belonging::new),
            input: stream.transmit,
            output: stream.receive,
            port_pair,
            output_port,
            faults: faults.are_possible().then_some(faults),
            cuts: Cuts::new(path.device(), trial, number),
            held: None,
            sent_ps: 0,
            classes,
            place: 0,
            offered: 0,
            resolution_ps: path.resolution_ps(),
            is_timed: stream.timed || trial.switches.is_some(),
            first: branch(stream.receive),
            also: stream.also.iter().map(|port| branch(*port)).collect(),
            watched: None,
            codes: Vec::new(),
            marks: trial.marks.then(Marks::default),
            among: stream.among.clone(),
            egress: Egress::of(stream),
        }
    }

    pub fn watched(self, watched: Option<Box<Watched>>) -> Self {
        Transit { watched, ..self }
    }

    /// The device reads these classes of traffic of consecutive frames.
    pub fn reading(self, codes: Vec<Code>) -> Self {
        Transit { codes, ..self }
    }

    /// Whether the stream is meant for `port`.
    #[inline]
    pub fn is_meant_for(&self, port: usize) -> bool {
        self.is_at_first(port) || self.also.iter().any(|branch| branch.port == port)
    }

    /// Whether a frame counts at `port` as one of the first port.
    #[inline]
    fn is_at_first(&self, port: usize) -> bool {
        self.output == port || self.among.contains(&port)
    }

    /// Whether its frames may arrive at one of several ports.
    pub fn spreads(&self) -> bool {
        self.egress.is_some()
    }

    pub fn egress(&self) -> Option<&Egress> {
        self.egress.as_ref()
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

    /// What the device reads of a frame.
    #[inline]
    pub fn code(&self, sequence: u64) -> Code {
        match &self.codes[..] {
            [] => Code::default(),
            [only] => *only,
            codes => codes[(sequence % codes.len() as u64) as usize],
        }
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

    /// A frame reaches the receiver at `port`, which it is meant for; true if it is intact.
    #[inline]
    pub fn receive(&mut self, frame: &SentFrame, port: usize, received_ps: u64) -> bool {
        let is_intact = self.is_intact(frame.sequence);
        let is_first = self.is_at_first(port);
        let branch = if is_first {
            &mut self.first
        } else {
            let mut also = self.also.iter_mut();
            also.find(|branch| branch.port == port)
                .expect("the stream is meant for the port")
        };
        if !is_intact {
            branch.tracker.corrupt(frame.sequence);
            if is_first && let Some(watched) = &mut self.watched {
                watched.receive(frame.sequence, 0, received_ps / 1000, None);
            }
            return false;
        }
        if self.is_timed {
            let first_ps = branch.received_ps.map_or(received_ps, |times| times.0);
            branch.received_ps = Some((first_ps, received_ps));
        }
        let sent_ps = stamped(frame.sent_ps, self.resolution_ps);
        let off_ps = self
            .faults
            .as_mut()
            .map_or(0, |faults| faults.reading_ps(received_ps));
        let latency_ps = stamped(received_ps, self.resolution_ps) as i64 - sent_ps as i64 + off_ps;
        let outcome = branch
            .tracker
            .arrive(frame.sequence, sent_ps / 1000, latency_ps);
        if is_first && let Some(own) = &mut self.connections {
            let place = (frame.sequence % own.count) as usize;
            if let Some(arrived) = own.arrived.get_mut(place) {
                *arrived = true;
            }
        }
        if is_first && let Some(egress) = &mut self.egress {
            egress.arrive(port, sent_ps / 1000);
        }
        if is_first && let Some(watched) = &mut self.watched {
            let sent_ns = sent_ps / 1000;
            let received_ns = sent_ns.saturating_add_signed(latency_ps / 1000);
            watched.receive(frame.sequence, sent_ns, received_ns, Some(outcome));
        }
        if is_first
            && outcome.is_first()
            && let Some(marks) = &mut self.marks
        {
            marks.record(frame.marks, latency_ps.div_euclid(1000));
        }
        true
    }

    /// Hands over the rows of frames so far.
    pub fn flush(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.flush();
        }
    }

    pub fn forwarded_frames(&self) -> u64 {
        self.trackers().map(Tracker::forwarded_frames).sum()
    }

    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The account at the first port that the stream is meant for.
    pub fn tracker(&self) -> &Tracker {
        &self.first.tracker
    }

    /// The accounts at all ports that the stream is meant for.
    pub fn trackers(&self) -> impl Iterator<Item = &Tracker> + Clone {
        let branches = std::iter::once(&self.first).chain(&self.also);
        branches.map(|branch| &branch.tracker)
    }

    pub fn finish(self, number: u16, stream: &Stream) -> StreamRecord {
        let offered = self.offered;
        let also = self.also.into_iter().map(|branch| BranchRecord {
            receive: branch.port,
            first_received_ns: branch.received_ps.map(|times| times.0 / 1000),
            last_received_ns: branch.received_ps.map(|times| times.1 / 1000),
            tracked: branch.tracker.finish(offered),
        });
        StreamRecord {
            stream: number,
            transmit: stream.transmit,
            receive: stream.receive,
            offered_frames: offered,
            unsent_frames: 0,
            branches: also.collect(),
            first_received_ns: self.first.received_ps.map(|times| times.0 / 1000),
            last_received_ns: self.first.received_ps.map(|times| times.1 / 1000),
            changes: self.watched.map(|watched| watched.finish()),
            tracked: self.first.tracker.finish(offered),
            egress: self.egress,
            marked: self.marks.map(|marks| marks.finish()),
        }
    }
}
