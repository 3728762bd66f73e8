//! Any trial: streams of any pacing and sizes between any ports, in the order of the times they are sent.
//!
//! Frames that leave through one output share its server and its buffer. Memory holds what is inside the
//! device, never all frames. Frames of one pair of ports keep their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use crate::loss_watch::{LOOK_NS, LossWatch};
use crate::record::{Receiver, Record, Trial};
use crate::watch::Watch;

use super::chance::{Concern, Stream};
use super::device::Distribution;
use super::lane::{Class, Lane};
use super::outlet::{Frame, Outlet, Queued};
use super::path::{Path, Paths};
use super::sender::Leaving;
use super::senders::Senders;
use super::server::Service;
use super::shared_output::SharedOutput;
use super::{BATCH, STAMP};

/// Bits of a turn that count frames; those above are drawn.
const COUNT_BITS: u32 = 48;

/// Carries out `trial`.
pub fn run(paths: &Paths, receive_clock_ppm: f64, trial: &Trial, watch: &Watch) -> Record {
    let mut device = Device::new(paths, receive_clock_ppm, trial);
    let link_bits_per_second = paths
        .values()
        .map(Path::link_bits_per_second)
        .fold(f64::INFINITY, f64::min);
    let mut senders = Senders::new(trial, link_bits_per_second, |stream| device.next(stream));
    let mut loss_watch = LossWatch::new(trial.stop_after_lost);
    // Never, if nobody wants to know.
    let mut look_ps = loss_watch.as_ref().map_or(u64::MAX, |_| 0);
    let mut stopped_for_loss = false;
    let (mut offered, mut now_ps) = (0, 0);
    while let Some(leaving) = senders.next(|stream| device.next(stream)) {
        now_ps = leaving.sent_ps;
        device.carry(leaving);
        offered += 1;
        if offered % BATCH == 0 {
            watch.offered.store(offered, Ordering::Relaxed);
            let forwarded = device.forwarded_frames();
            watch.forwarded.store(forwarded, Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if now_ps >= look_ps
            && let Some(loss_watch) = &mut loss_watch
        {
            look_ps = now_ps + LOOK_NS * 1000;
            let received_ns = device.last_received_ns();
            if loss_watch.look(
                now_ps / 1000,
                received_ns,
                device.lanes.iter().map(Lane::tracker),
            ) {
                stopped_for_loss = !senders.are_done();
                break;
            }
        }
    }
    device.finish(now_ps);
    watch.offered.store(offered, Ordering::Relaxed);
    let forwarded = device.forwarded_frames();
    watch.forwarded.store(forwarded, Ordering::Relaxed);
    let receivers = device.outlets.iter().map(|outlet| Receiver {
        port: outlet.port,
        last_received_ns: outlet.last_received_ps.map(|time_ps| time_ps / 1000),
        stamp: STAMP.into(),
        ..Receiver::default()
    });
    Record {
        interference: None,
        interrupted: !senders.are_done() && !stopped_for_loss,
        stopped_for_loss,
        transmitters: senders.finish(),
        receivers: receivers.collect(),
        streams: device
            .lanes
            .into_iter()
            .zip(&trial.streams)
            .zip(trial.first_stream..)
            .map(|((lane, stream), number)| lane.finish(number, stream))
            .collect(),
    }
}

/// The device and the receivers behind it, during one trial.
struct Device {
    lanes: Vec<Lane>,
    classes: Vec<Class>,
    ways: Vec<Way>,
    outlets: Vec<Outlet>,
    arbitration: Stream,
    /// Frames that reached an output up to now.
    count: u64,
}

/// From an input port to an output port.
struct Way {
    input: usize,
    /// The latest time a frame reached the output: later ones do not overtake it.
    ready_ps: u64,
}

impl Device {
    fn new(paths: &Paths, receive_clock_ppm: f64, trial: &Trial) -> Self {
        let pairs: Vec<_> = paths.keys().copied().collect();
        let ports: BTreeSet<usize> = pairs.iter().map(|pair| pair.1).collect();
        let ports: Vec<usize> = ports.into_iter().collect();
        let mut classes = Classes::default();
        let lanes = trial.streams.iter().enumerate().map(|(number, stream)| {
            let pair = (stream.transmit, stream.receive);
            let path = &paths[&pair];
            let sizes = stream.frame_bytes.iter();
            let own = sizes.map(|bytes| classes.of(path, pair, *bytes)).collect();
            // Both are there: paths are made from the streams.
            let way = pairs.partition_point(|other| *other < pair);
            let outlet = ports.partition_point(|other| *other < pair.1);
            Lane::new(trial, number, path, way, outlet, own)
        });
        let lanes: Vec<Lane> = lanes.collect();
        let outlet = |port: &usize| {
            let (_, path) = paths
                .iter()
                .find(|(pair, _)| pair.1 == *port)
                .expect("a port of paths");
            let device = path.device();
            let output = SharedOutput::new(device.output.buffer_bytes, device.stall.as_ref());
            Outlet::new(
                *port,
                output,
                classes.least_latency_ps(*port, path),
                trial.drain_ns * 1000,
                receive_clock_ppm,
            )
        };
        Device {
            lanes,
            outlets: ports.iter().map(outlet).collect(),
            ways: pairs
                .iter()
                .map(|pair| Way {
                    input: pair.0,
                    ready_ps: 0,
                })
                .collect(),
            classes: classes.all,
            arbitration: Stream::new(trial.seed, Concern::Arbitration),
            count: 0,
        }
    }

    /// The class of a stream's next frame, and what it needs on the tester's line.
    #[inline]
    fn next(&mut self, stream: usize) -> (u32, Service) {
        let class = self.lanes[stream].next_class();
        (class, self.classes[class as usize].wire)
    }

    /// A frame comes in. Frames come in order of the times they are sent.
    #[inline]
    fn carry(&mut self, leaving: Leaving) {
        let Leaving { sent_ps, class, .. } = leaving;
        let lane = &mut self.lanes[leaving.stream];
        let outlet = lane.outlet;
        lane.offer();
        self.outlets[outlet].serve(sent_ps, &mut self.lanes, &self.classes);
        let kind = &self.classes[class as usize];
        if kind.refused {
            return;
        }
        let lane = &mut self.lanes[leaving.stream];
        let frame = Frame {
            stream: leaving.stream as u32,
            sequence: leaving.sequence,
            sent_ps,
        };
        let way = &mut self.ways[lane.way];
        let mut ready_ps = sent_ps + kind.latency_ps;
        let mut released = None;
        if let Some(faults) = &lane.faults {
            if faults.lose(frame.sequence, kind.is_large) {
                return;
            }
            let jitter_ps = faults.jitter_ps(frame.sequence);
            ready_ps = ready_ps.saturating_add_signed(jitter_ps).max(sent_ps);
            if lane.held.is_none() && faults.reorder.hits(frame.sequence) {
                way.ready_ps = way.ready_ps.max(ready_ps);
                lane.held = Some((frame, class));
                return;
            }
            released = lane.held.take();
        }
        way.ready_ps = way.ready_ps.max(ready_ps);
        let way = lane.way;
        self.queue(way, outlet, frame, class);
        if let Some((held, class)) = released {
            self.queue(way, outlet, held, class);
        }
    }

    /// The frame reaches its output when the latest of its way does.
    #[inline]
    fn queue(&mut self, way: usize, outlet: usize, frame: Frame, class: u32) {
        let Way { input, ready_ps } = self.ways[way];
        // Inputs with frames ready at once take turns at random, but each keeps its own frames' order.
        let moment = ready_ps.wrapping_mul(65_537).wrapping_add(input as u64);
        let drawn = self.arbitration.draw(moment) >> COUNT_BITS << COUNT_BITS;
        self.count += 1;
        self.outlets[outlet].push(Queued {
            ready_ps,
            turn: drawn | (self.count & ((1 << COUNT_BITS) - 1)),
            frame,
            class,
        });
    }

    /// The last frame of all was sent at `now_ps`.
    fn finish(&mut self, now_ps: u64) {
        for stream in 0..self.lanes.len() {
            let lane = &mut self.lanes[stream];
            let (way, outlet) = (lane.way, lane.outlet);
            if let Some((held, class)) = lane.held.take() {
                self.queue(way, outlet, held, class);
            }
        }
        for outlet in &mut self.outlets {
            outlet.finish(now_ps, &mut self.lanes, &self.classes);
        }
    }

    fn last_received_ns(&self) -> u64 {
        let outlets = self.outlets.iter();
        let last_ps = outlets.filter_map(|outlet| outlet.last_received_ps).max();
        last_ps.unwrap_or(0) / 1000
    }

    fn forwarded_frames(&self) -> u64 {
        self.lanes.iter().map(Lane::forwarded_frames).sum()
    }
}

/// Each size on each way once.
#[derive(Default)]
struct Classes {
    all: Vec<Class>,
    index: BTreeMap<((usize, usize), u32), u32>,
}

impl Classes {
    fn of(&mut self, path: &Path, pair: (usize, usize), frame_bytes: u32) -> u32 {
        *self.index.entry((pair, frame_bytes)).or_insert_with(|| {
            self.all.push(Class::new(path, frame_bytes));
            self.all.len() as u32 - 1
        })
    }

    /// After this time at the soonest a frame to `port` is ready.
    fn least_latency_ps(&self, port: usize, path: &Path) -> u64 {
        let shortens = |jitter: &super::device::Jitter| jitter.distribution == Distribution::Normal;
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
