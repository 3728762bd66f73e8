//! `Forwarder`: the thread that carries the packets of all links of a bed, each at its time.
//!
//! It sleeps until shortly before a packet is due and spins only then, because two cores must also run the tools that
//! probe the bed. There is one thread for all links: when it writes a packet, the kernel forwards it to the device of
//! the next link before the write returns, so that after the first hop no packet waits for a thread to wake up.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender};

use crate::host::kernel_clock::monotonic_ns;

use super::bed::{Bed, Came, Truth};
use super::carriage::{Carriage, Flight};
use super::poll::{Poll, WOKEN};
use super::rehearsal::Rehearsal;
use super::traffic_source::TrafficSource;
use super::tun::{MOST_BYTES, Tun};

/// How long before a packet is due the thread stops sleeping: a wake-up on a busy virtual machine takes about 35 µs.
const SPIN_NS: u64 = 60_000;
/// When a packet is due this soon, the thread begins nothing else, not even a check for arrivals (about 0.5 µs).
const HOLD_NS: u64 = 1_000;
/// The most packets taken from one device or source at a time, so that packets due elsewhere are not delayed.
const BATCH: usize = 8;
/// A rehearsal takes about 2 µs and must not delay a packet that is due.
const REHEARSAL_NS: u64 = 15_000;
const CACHE_LINE: usize = 64;
/// The longest time without a check for arrivals.
const LOOK_NS: u64 = 20_000;

pub struct Forwarder {
    origin_ns: u64,
    ports: Vec<Tun>,
    /// The lane that starts at each port.
    lane_of: Vec<Option<usize>>,
    lanes: Vec<Carriage>,
    sources: Vec<TrafficSource>,
    hosts: Vec<Came>,
    poll: Poll,
    /// Buffers of packets that have been delivered.
    spare: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    rehearsal: Rehearsal,
    /// True if the thread has slept since the kernel's path for packets was last used.
    cold: bool,
    /// When it last looked for arrivals.
    looked_ns: u64,
}

/// What another thread may tell the forwarder.
pub enum Command {
    /// The sources may send from now on.
    Begin,
    Truth(SyncSender<Truth>),
    End,
}

impl Forwarder {
    /// `ports` are those of the bed, in order. Refuses a bed with invalid numbers or traits.
    pub fn new(bed: &Bed, ports: Vec<Tun>, poll: Poll) -> io::Result<Self> {
        let refuse = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let mut named = bed.lanes.iter().flat_map(|lane| [lane.from, lane.to]);
        let mut sending = bed.sources.iter().map(|source| source.port);
        if named.any(|port| port >= ports.len()) || sending.any(|port| port >= ports.len()) {
            return Err(refuse("a lane or source names no port".into()));
        }
        for (number, port) in ports.iter().enumerate() {
            poll.watch(port.descriptor(), number as u64)?;
        }
        let lanes = bed.lanes.iter().map(Carriage::new);
        let sources = bed.sources.iter().map(TrafficSource::new);
        let leading = |port| bed.lanes.iter().position(|lane| lane.from == port);
        Ok(Forwarder {
            origin_ns: monotonic_ns(),
            hosts: vec![Came::default(); ports.len()],
            lane_of: (0..ports.len()).map(leading).collect(),
            lanes: lanes.collect::<Result<_, _>>().map_err(refuse)?,
            sources: sources.collect::<Result<_, _>>().map_err(refuse)?,
            ports,
            poll,
            spare: Vec::new(),
            buffer: vec![0; MOST_BYTES],
            rehearsal: Rehearsal::new()?,
            cold: true,
            looked_ns: 0,
        })
    }

    /// Carries packets until it is told to end.
    pub fn run(&mut self, asked: &Receiver<Command>) {
        loop {
            self.deliver();
            self.send();
            let now_ns = self.now_ns();
            let left = self.next_ns().map(|at| at.saturating_sub(now_ns));
            match left {
                Some(left) if left < SPIN_NS => self.warm(left > REHEARSAL_NS),
                _ => self.cold = true,
            }
            // Under overload a packet is always due, but arrivals and commands must be served as well.
            if left.is_some_and(|left| left < HOLD_NS) && now_ns < self.looked_ns + LOOK_NS {
                std::hint::spin_loop();
                continue;
            }
            let sleep = left.map(|left| left.saturating_sub(SPIN_NS));
            let tokens = self.poll.wait(sleep);
            self.looked_ns = self.now_ns();
            for token in tokens {
                if token != WOKEN {
                    self.receive(token as usize);
                    self.deliver();
                } else if asked.try_iter().any(|command| !self.obey(command)) {
                    return;
                }
            }
        }
    }

    /// Returns false if the thread must end.
    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Begin => {
                let now_ns = self.now_ns();
                for source in &mut self.sources {
                    source.begin(now_ns);
                }
            }
            // Fails if the caller does not wait any more.
            Command::Truth(answer) => drop(answer.try_send(self.truth())),
            Command::End => return false,
        }
        true
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    /// When the next delivery or packet of a source is due, in ns.
    fn next_ns(&self) -> Option<u64> {
        let flights = self.lanes.iter().filter_map(Carriage::next);
        let deliveries = flights.map(|flight| flight.at.div_ceil(1000));
        deliveries
            .chain(self.sources.iter().filter_map(TrafficSource::due_ns))
            .min()
    }

    /// Loads the next packets into the cache: packets that waited long were copied more slowly, by 0.3 ns for each
    /// byte. After a sleep, if there is `time`, it also exercises the kernel's path for packets.
    fn warm(&mut self, time: bool) {
        if self.cold && time {
            self.rehearsal.write();
            self.cold = false;
        }
        for flight in self.lanes.iter().filter_map(Carriage::next) {
            let lines = flight.packet.iter().step_by(CACHE_LINE);
            std::hint::black_box(lines.fold(0u8, |sum, byte| sum ^ byte));
        }
    }

    fn deliver(&mut self) {
        for number in 0..self.lanes.len() {
            loop {
                let now = self.now_ns() * 1000;
                let Some(flight) = self.lanes[number].release(now) else {
                    break;
                };
                let port = &mut self.ports[self.lanes[number].to];
                let taken = port.write(&flight.packet).is_ok();
                self.lanes[number].count(flight.packet.len(), taken);
                self.spare.push(flight.packet);
            }
        }
    }

    fn send(&mut self) {
        for source in &mut self.sources {
            let now_ns = monotonic_ns() - self.origin_ns;
            for _ in 0..BATCH {
                if source.due_ns().is_none_or(|due_ns| due_ns > now_ns) {
                    break;
                }
                let port = source.port;
                let Some(packet) = source.take(now_ns) else {
                    continue;
                };
                let bytes = packet.len();
                // A device that is not up refuses the packet, which then never entered the network.
                if self.ports[port].write(packet).is_ok() {
                    source.sent.count(bytes);
                }
            }
        }
    }

    fn receive(&mut self, port: usize) {
        for _ in 0..BATCH {
            // This is taken before the read, whose duration depends on the length of the packet.
            let now = self.now_ns() * 1000;
            let Ok(Some(bytes)) = self.ports[port].read(&mut self.buffer) else {
                return;
            };
            let Some(lane) = self.lane_of[port] else {
                self.hosts[port].packets += 1;
                self.hosts[port].bytes += bytes as u64;
                continue;
            };
            if let Some(at) = self.lanes[lane].take(now, &mut self.buffer[..bytes]) {
                let mut packet = self.spare.pop().unwrap_or_default();
                packet.clear();
                packet.extend_from_slice(&self.buffer[..bytes]);
                self.lanes[lane].hold(Flight { at, packet });
            }
        }
    }

    fn truth(&self) -> Truth {
        Truth {
            elapsed_ns: self.now_ns(),
            lanes: self.lanes.iter().map(Carriage::truth).collect(),
            sources: self.sources.iter().map(|source| source.sent).collect(),
            hosts: self.hosts.clone(),
        }
    }
}
