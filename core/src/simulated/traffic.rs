//! Any trial: streams of any pacing and sizes between any ports, in the order of the times at which frames are sent.
//!
//! Frames that leave by one output share its server and its buffer. Memory holds the frames inside the device, never
//! all frames. Frames of one pair of ports keep their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::account::egress::Egress;
use crate::account::loss_watch::{LOOK_NS, LossWatch};
use crate::account::record::{Receiver, Record};
use crate::account::watch::Watch;
use crate::chance::{Concern, Draws};
use crate::trial::switches::Switches;

use super::bridge::{Bridge, Verdict};
use super::connections::ConnectionTable;
use super::faults::Faults;
use super::inputs::{Inputs, Waiting};
use super::outage::Outage;
use super::output_port::{OutputPort, Queued};
use super::path::Path;
use super::queues::Queues;
use super::scene::Scene;
use super::sender::Leaving;
use super::senders::Senders;
use super::server::Service;
use super::shared_output::SharedOutput;
use super::transit::{Belonging, Class, Classes, SentFrame, Transit};
use super::{BATCH, STAMP};

/// While no stream is running, how soon a stream that is started is noticed.
const PAUSED: Duration = Duration::from_micros(200);
/// Low bits of a turn, which count frames; the higher bits are random.
const COUNT_BITS: u32 = 48;

/// Carries out the trial of `scene`.
pub fn run(scene: &Scene, watch: &Watch) -> Record {
    let Scene { trial, paths, .. } = *scene;
    let table = scene.connections.map(|own| own.lock());
    let mut table = table.map(|own| own.unwrap_or_else(PoisonError::into_inner));
    let mut device = DeviceState::new(scene, table.as_deref_mut());
    let link_bits_per_second = paths
        .values()
        .map(Path::link_bits_per_second)
        .fold(f64::INFINITY, f64::min);
    let host = paths
        .values()
        .next()
        .and_then(|path| path.device().host.as_ref());
    let mut senders = Senders::new(
        trial,
        link_bits_per_second,
        host,
        watch.switches.as_ref(),
        |stream| device.next(stream),
    );
    let mut loss_watch = LossWatch::new(trial.stop_after_lost);
    // Without a limit of lost frames it never looks.
    let mut look_ps = loss_watch.as_ref().map_or(u64::MAX, |_| 0);
    let mut stopped_for_loss = false;
    let (mut offered, mut now_ps) = (0, 0);
    let mut stands_still = false;
    loop {
        let Some(leaving) = senders.next(|stream| device.next(stream)) else {
            let Some(switches) = &watch.switches else {
                break;
            };
            if switches.settle() || watch.stop.load(Ordering::Relaxed) {
                break;
            }
            // All frames under way arrive; then time stands still until a stream is started.
            if !stands_still {
                now_ps += trial.drain_ns * 1000;
            }
            device.tell(now_ps, switches);
            senders.obey(now_ps / 1000, |stream| device.next(stream));
            stands_still = senders.are_done();
            if stands_still {
                thread::sleep(PAUSED);
            }
            continue;
        };
        now_ps = leaving.sent_ps;
        device.carry(leaving);
        if let Some((port, until_ps)) = device.pause(&leaving) {
            senders.pause(port, until_ps);
        }
        offered += 1;
        if offered % BATCH == 0 {
            watch.offered.store(offered, Ordering::Relaxed);
            let forwarded = device.forwarded_frames();
            watch.forwarded.store(forwarded, Ordering::Relaxed);
            device.transits.iter_mut().for_each(Transit::flush);
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(switches) = &watch.switches {
                device.tell(now_ps, switches);
                senders.obey(now_ps / 1000, |stream| device.next(stream));
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
                device.transits.iter().flat_map(Transit::trackers),
            ) {
                stopped_for_loss = !senders.are_done();
                break;
            }
        }
    }
    device.finish(now_ps);
    let words = device.words();
    if let Some(switches) = &watch.switches {
        device.tell(now_ps, switches);
    }
    watch.offered.store(offered, Ordering::Relaxed);
    let forwarded = device.forwarded_frames();
    watch.forwarded.store(forwarded, Ordering::Relaxed);
    let receivers = device.output_ports.iter().map(|output_port| Receiver {
        port: output_port.port,
        misdirected_frames: output_port.misdirected,
        last_received_ns: output_port.last_received_ps.map(|time_ps| time_ps / 1000),
        stamp: STAMP.into(),
        ..Receiver::default()
    });
    Record {
        links: Vec::new(),
        interference: None,
        interrupted: !senders.are_done() && !stopped_for_loss,
        stopped_for_loss,
        transmitters: senders.finish(),
        receivers: receivers.collect(),
        words,
        streams: device
            .transits
            .into_iter()
            .zip(&trial.streams)
            .zip(trial.first_stream..)
            .map(|((transit, stream), number)| transit.finish(number, stream))
            .collect(),
    }
}

/// The device and the receivers behind it, during one trial.
struct DeviceState<'a> {
    transits: Vec<Transit>,
    classes: Vec<Class>,
    port_pairs: Vec<PortPair>,
    output_ports: Vec<OutputPort>,
    /// Present if addresses matter.
    bridge: Option<Bridge>,
    /// Index of the class of each pair of ports and size.
    class_of: BTreeMap<((usize, usize), u32), u32>,
    /// For each stream, how its frames reach ports that it is not meant for.
    elsewhere: BTreeMap<(usize, usize), Elsewhere>,
    /// Present if a frame that waits for its output blocks others.
    inputs: Option<Inputs>,
    arbitration: Draws,
    outage: Option<Outage>,
    /// Frames of a stream may arrive at one of several ports.
    spreads: bool,
    /// The device's number of each of the tester's ports.
    numbers: Vec<u16>,
    /// Frames that reached an output so far.
    count: u64,
    connections: Option<&'a mut ConnectionTable>,
    /// The trial keeps from where frames arrive.
    keeps_words: bool,
}

/// The way from a stream's input port to an output port that it is not meant for.
struct Elsewhere {
    port_pair: usize,
    output_port: usize,
    faults: Faults,
}

/// An input port and an output port.
struct PortPair {
    input: usize,
    /// The latest time at which a frame reached the output; later frames do not overtake it.
    ready_ps: u64,
}

impl<'a> DeviceState<'a> {
    fn new(scene: &Scene, connections: Option<&'a mut ConnectionTable>) -> Self {
        let Scene {
            trial,
            paths,
            numbers,
            receive_clock_ppm,
            addresses,
            watching,
            codes,
            ..
        } = *scene;
        let pairs: Vec<_> = paths.keys().copied().collect();
        let ports: BTreeSet<usize> = pairs.iter().map(|pair| pair.1).collect();
        let ports: Vec<usize> = ports.into_iter().collect();
        let mut classes = Classes::default();
        let transits = trial.streams.iter().enumerate().map(|(number, stream)| {
            let pair = (stream.transmit, stream.receive);
            let path = &paths[&pair];
            let sizes = stream.frame_bytes.iter();
            let own = sizes.map(|bytes| classes.of(path, pair, *bytes)).collect();
            // Both exist, because the paths are made from the streams.
            let port_pair = pairs.partition_point(|other| *other < pair);
            let output_port = ports.partition_point(|other| *other < pair.1);
            Transit::new(trial, number, path, port_pair, output_port, own)
                .watched(watching.map(|own| Box::new(own.stream(trial, number))))
                .reading(codes.get(number).cloned().unwrap_or_default())
        });
        let transits: Vec<Transit> = transits.collect();
        let leads_elsewhere = addresses.is_some() || trial.spreads();
        for (pair, path) in paths.iter().filter(|_| leads_elsewhere) {
            let own = trial
                .streams
                .iter()
                .filter(|stream| stream.transmit == pair.0);
            for bytes in own.flat_map(|stream| &stream.frame_bytes) {
                classes.of(path, *pair, *bytes);
            }
        }
        // All paths of a trial belong to the same device.
        let model = paths.values().next().map(Path::device);
        let inputs = model.and_then(|model| {
            let ports = pairs.iter().map(|pair| pair.0 + 1).max()?;
            let link = model.link_bits_per_second;
            Some(Inputs::new(model.input.as_ref()?, ports, link, trial.seed))
        });
        let mut elsewhere = BTreeMap::new();
        for (number, stream) in trial.streams.iter().enumerate() {
            for (port_pair, (pair, path)) in paths.iter().enumerate() {
                if leads_elsewhere && pair.0 == stream.transmit && pair.1 != stream.receive {
                    // The random numbers differ from those of every stream between its own ports.
                    let draws = (pair.1 + 1) * trial.streams.len() + number;
                    let to = Elsewhere {
                        port_pair,
                        output_port: ports.partition_point(|other| *other < pair.1),
                        faults: Faults::new(path, trial.seed, draws),
                    };
                    elsewhere.insert((number, pair.1), to);
                }
            }
        }
        let bridge = addresses.map(|own| {
            let table = model.and_then(|model| model.address_table.as_ref());
            let snooping = model.and_then(|model| model.snooping.as_ref());
            Bridge::new(table, snooping, own)
        });
        let outage = paths
            .values()
            .next()
            .and_then(|path| Outage::new(path.device(), trial));
        let output_port = |port: &usize| {
            let (_, path) = paths
                .iter()
                .find(|(pair, _)| pair.1 == *port)
                .expect("a port of paths");
            let device = path.device();
            let stall = device.stall.as_ref();
            let stall = stall.map(|stall| stall.of_trial(trial.seed));
            let output = SharedOutput::new(device.output.buffer_bytes, stall.as_ref());
            let made = OutputPort::new(
                *port,
                output,
                Queues::new(device, trial.seed, stall.as_ref()),
                classes.least_latency_ps(*port, path),
                trial.drain_ns * 1000,
                receive_clock_ppm,
                outage,
            );
            if trial.spreads() {
                made.patient()
            } else {
                made
            }
        };
        DeviceState {
            transits,
            output_ports: ports.iter().map(output_port).collect(),
            port_pairs: pairs
                .iter()
                .map(|pair| PortPair {
                    input: pair.0,
                    ready_ps: 0,
                })
                .collect(),
            classes: classes.all,
            bridge,
            class_of: classes.index,
            elsewhere,
            inputs,
            arbitration: Draws::new(trial.seed, Concern::Arbitration),
            outage,
            spreads: trial.spreads(),
            numbers: numbers.to_vec(),
            count: 0,
            connections,
            keeps_words: trial.words.is_some(),
        }
    }

    /// The class of a stream's next frame, and the time that it needs on the tester's line.
    #[inline]
    fn next(&mut self, stream: usize) -> (u32, Service) {
        let class = self.transits[stream].next_class();
        (class, self.classes[class as usize].wire)
    }

    /// A frame arrives. Frames arrive in the order of the times at which they are sent.
    #[inline]
    fn carry(&mut self, leaving: Leaving) {
        let Leaving { sent_ps, class, .. } = leaving;
        let transit = &mut self.transits[leaving.stream];
        let output_port = transit.output_port;
        transit.offer();
        if self.spreads {
            self.serve_all(sent_ps, sent_ps);
        } else {
            self.serve(output_port, sent_ps);
        }
        let mut copying_ps = 0;
        if self.bridge.is_some() {
            let Some(delay_ps) = self.bridged(&leaving) else {
                return;
            };
            copying_ps = delay_ps;
        }
        let kind = &self.classes[class as usize];
        if kind.refused || self.outage.is_some_and(|outage| outage.is_at(sent_ps)) {
            return;
        }
        let transit = &mut self.transits[leaving.stream];
        if transit.cuts.lose(sent_ps) {
            return;
        }
        if let (Some(table), Some(own)) = (&mut self.connections, &mut transit.connections) {
            let Some((delay_ps, port)) =
                table.meet(own.number(leaving.sequence), own.opens, sent_ps)
            else {
                return;
            };
            copying_ps += delay_ps;
            own.translated(leaving.sequence, port);
        }
        if transit.spreads()
            && let Some(number) = transit.cuts.port(sent_ps)
        {
            // Where nobody listens, the frame is gone.
            let number = self.numbers.iter().position(|own| *own == number);
            let home = transit.output;
            match number {
                Some(port) if port == home => (),
                Some(port) if port != transit.input => return self.copy(&leaving, port, 0),
                _ => return,
            }
        }
        let frame = SentFrame {
            stream: leaving.stream as u32,
            sequence: leaving.sequence,
            sent_ps,
            marks: 0,
        };
        let port_pair = &mut self.port_pairs[transit.port_pair];
        let mut ready_ps = sent_ps + kind.latency_ps + copying_ps;
        let mut released = None;
        let spacing_ps = sent_ps - std::mem::replace(&mut transit.sent_ps, sent_ps);
        if let Some(faults) = &transit.faults {
            if faults.lose(frame.sequence, kind.is_large) {
                return;
            }
            let jitter_ps = faults.jitter_ps(frame.sequence);
            ready_ps = ready_ps.saturating_add_signed(jitter_ps).max(sent_ps);
            if transit.held.is_none() && faults.reorders(frame.sequence, spacing_ps) {
                port_pair.ready_ps = port_pair.ready_ps.max(ready_ps);
                transit.held = Some((frame, class));
                return;
            }
            released = transit.held.take();
        }
        port_pair.ready_ps = port_pair.ready_ps.max(ready_ps);
        let port_pair = transit.port_pair;
        self.queue(port_pair, output_port, frame, class);
        if let Some((held, class)) = released {
            self.queue(port_pair, output_port, held, class);
        }
    }

    /// By how much a frame is delayed whose addresses lead it to the first port that it is meant for; nothing if they do
    /// not. Copies to other ports are queued.
    fn bridged(&mut self, leaving: &Leaving) -> Option<u64> {
        let &Leaving {
            stream,
            sequence,
            sent_ps,
            ..
        } = leaving;
        let Transit { input, output, .. } = self.transits[stream];
        let verdict = self
            .bridge
            .as_mut()
            .map(|own| own.forward(stream, sequence, sent_ps, input, output));
        match verdict {
            Some(Verdict::Filter) => None,
            Some(Verdict::Elsewhere(port)) => {
                self.copy(leaving, port, 0);
                None
            }
            Some(Verdict::Flood) => {
                for output_port in 0..self.output_ports.len() {
                    let port = self.output_ports[output_port].port;
                    if port != input && port != output {
                        self.copy(leaving, port, 0);
                    }
                }
                Some(0)
            }
            Some(Verdict::Group(group)) => {
                let mut delay_ps = None;
                for output_port in 0..self.output_ports.len() {
                    let port = self.output_ports[output_port].port;
                    let snooping = self.bridge.as_mut().and_then(|own| own.snooping.as_mut());
                    let copied_ps = snooping
                        .filter(|own| port != input && own.leads_to(group, port, sent_ps))
                        .and_then(|own| own.copy(sent_ps));
                    match copied_ps {
                        Some(_) if port == output => delay_ps = copied_ps,
                        Some(copied_ps) => self.copy(leaving, port, copied_ps),
                        None => (),
                    }
                }
                delay_ps
            }
            Some(Verdict::Meant) | None => Some(0),
        }
    }

    /// A frame goes to a port other than the first that it is meant for. It keeps its order there and is never held back for
    /// reordering.
    fn copy(&mut self, leaving: &Leaving, port: usize, copying_ps: u64) {
        let sent_ps = leaving.sent_ps;
        let frame_bytes = self.classes[leaving.class as usize].frame_bytes;
        // Both exist: with addresses, paths lead to all ports.
        let to = &self.elsewhere[&(leaving.stream, port)];
        let (port_pair, output_port) = (to.port_pair, to.output_port);
        let class = self.class_of[&((self.port_pairs[port_pair].input, port), frame_bytes)];
        let kind = &self.classes[class as usize];
        let mut ready_ps = sent_ps + kind.latency_ps + copying_ps;
        if kind.refused || to.faults.lose(leaving.sequence, kind.is_large) {
            return;
        }
        let jitter_ps = to.faults.jitter_ps(leaving.sequence);
        ready_ps = ready_ps.saturating_add_signed(jitter_ps).max(sent_ps);
        self.serve(output_port, sent_ps);
        self.port_pairs[port_pair].ready_ps = self.port_pairs[port_pair].ready_ps.max(ready_ps);
        let frame = SentFrame {
            stream: leaving.stream as u32,
            sequence: leaving.sequence,
            sent_ps,
            marks: 0,
        };
        self.queue(port_pair, output_port, frame, class);
    }

    /// Serves the frames that no frame sent at `now_ps` or later can precede.
    #[inline]
    fn serve(&mut self, output_port: usize, now_ps: u64) {
        self.output_ports[output_port].serve(now_ps, &mut self.transits, &self.classes);
        if self.inputs.is_some() {
            self.hand_over(now_ps, now_ps);
        }
    }

    /// Serves the frames of all outputs that are ready before `until_ps`, in the order of their times: those of one
    /// stream may be at several of them, and which of them is late must not depend on the order of the outputs.
    fn serve_all(&mut self, until_ps: u64, now_ps: u64) {
        let DeviceState {
            output_ports,
            transits,
            classes,
            ..
        } = self;
        loop {
            let heads = output_ports
                .iter()
                .enumerate()
                .filter_map(|(place, port)| Some((port.ready_ps()?, place)));
            match heads.min() {
                Some((ready_ps, place)) if ready_ps < until_ps => {
                    output_ports[place].send_first(now_ps, transits, classes);
                }
                _ => break,
            }
        }
        for output_port in 0..self.output_ports.len() {
            self.serve(output_port, now_ps);
        }
    }

    /// Hands over frames from inputs to outputs that have room, before `until_ps`.
    fn hand_over(&mut self, until_ps: u64, now_ps: u64) {
        let DeviceState {
            inputs,
            output_ports,
            transits,
            classes,
            ..
        } = self;
        let Some(inputs) = inputs else {
            return;
        };
        inputs.serve(until_ps, |output_port, queued| {
            let room_ps = output_ports[output_port].room_ps(&queued, classes);
            if room_ps.is_none() {
                output_ports[output_port].send(queued, now_ps, transits, classes);
            }
            room_ps
        });
    }

    /// Which of the tester's ports must pause now that a frame came, and until when.
    #[inline]
    fn pause(&self, leaving: &Leaving) -> Option<(usize, u64)> {
        let inputs = self.inputs.as_ref()?;
        let port = self.transits[leaving.stream].input;
        Some((port, inputs.pause_until_ps(port, leaving.sent_ps)?))
    }

    /// Queues a frame, which reaches its output when the latest frame of its pair of ports does.
    #[inline]
    fn queue(&mut self, port_pair: usize, output_port: usize, frame: SentFrame, class: u32) {
        let PortPair {
            input, ready_ps, ..
        } = self.port_pairs[port_pair];
        // Inputs with frames ready at once take turns at random, but each keeps its own frames' order.
        let moment = ready_ps.wrapping_mul(65_537).wrapping_add(input as u64);
        let drawn = self.arbitration.draw(moment) >> COUNT_BITS << COUNT_BITS;
        self.count += 1;
        let queued = Queued {
            ready_ps,
            turn: drawn | (self.count & ((1 << COUNT_BITS) - 1)),
            frame,
            class,
        };
        let Some(inputs) = &mut self.inputs else {
            self.output_ports[output_port].push(queued);
            return;
        };
        // Copies of a frame are in the buffer once and are handed over together.
        let is_copy = self.transits[frame.stream as usize].output_port != output_port;
        let kind = &self.classes[class as usize];
        let waiting = Waiting {
            queued,
            output_port,
            frame_bytes: if is_copy { 0 } else { kind.frame_bytes },
            transfer_ps: if is_copy { 0 } else { kind.wire.ps() },
        };
        inputs.push(input, waiting);
    }

    /// Ends the trial, whose last frame was sent at `now_ps`.
    fn finish(&mut self, now_ps: u64) {
        for stream in 0..self.transits.len() {
            let transit = &mut self.transits[stream];
            let (port_pair, output_port) = (transit.port_pair, transit.output_port);
            if let Some((held, class)) = transit.held.take() {
                self.queue(port_pair, output_port, held, class);
            }
        }
        self.hand_over(u64::MAX, now_ps);
        if self.spreads {
            self.serve_all(u64::MAX, now_ps);
        }
        for output_port in &mut self.output_ports {
            output_port.finish(now_ps, &mut self.transits, &self.classes);
        }
    }

    /// From where the frames of each stream arrived, where the trial keeps that.
    fn words(&mut self) -> Vec<Vec<u64>> {
        if !self.keeps_words {
            return Vec::new();
        }
        let own = self
            .transits
            .iter_mut()
            .map(|transit| &mut transit.connections);
        own.map(|own| own.as_mut().map_or_else(Vec::new, Belonging::words))
            .collect()
    }

    fn last_received_ns(&self) -> u64 {
        let output_ports = self.output_ports.iter();
        let last_ps = output_ports
            .filter_map(|output_port| output_port.last_received_ps)
            .max();
        last_ps.unwrap_or(0) / 1000
    }

    /// Publishes the counts of each stream so far.
    fn tell(&mut self, now_ps: u64, switches: &Switches) {
        for output_port in 0..self.output_ports.len() {
            self.serve(output_port, now_ps);
        }
        for (seen, transit) in switches.streams().iter().zip(&self.transits) {
            let tracker = transit.tracker();
            seen.offered.store(transit.offered(), Ordering::Relaxed);
            seen.received
                .store(tracker.received_frames(), Ordering::Relaxed);
            seen.forwarded
                .store(tracker.forwarded_frames(), Ordering::Relaxed);
            seen.tell_arrived(transit.egress().into_iter().flat_map(Egress::frames));
        }
    }

    fn forwarded_frames(&self) -> u64 {
        self.transits.iter().map(Transit::forwarded_frames).sum()
    }
}
