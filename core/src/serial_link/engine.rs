//! `Links`: the one thread that carries the packets of all links of a bed, each at its time.
//!
//! It sleeps until shortly before something is due and spins only then, for two cores must also carry the tools
//! that probe the bed. One thread for all links: what it writes the kernel forwards into the next link's device
//! before the write returns, so that from the second hop on no packet waits for a thread to wake.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::direction::{Direction, Fate, Passed, Traits};
use super::rehearsal::Rehearsal;
use super::source::{Sent, Source, SourceTraits};
use super::tun::{MOST_BYTES, Tun};
use crate::affinity;
use crate::clock::monotonic_ns;

/// How long before something is due the thread stops sleeping: a wake on a busy virtual machine takes about 35 µs.
const SPIN_NS: u64 = 60_000;
/// So near to what is due nothing else is begun, not even a look for arrivals (about 0.5 µs).
const HOLD_NS: u64 = 1_000;
/// From one device at a time, so that what is due elsewhere is not kept waiting.
const BATCH: usize = 8;
/// A rehearsal takes about 2 µs; it must not make late what is due.
const REHEARSAL_NS: u64 = 15_000;
const CACHE_LINE: usize = 64;
const LATE_NS: u64 = 20_000;
/// Before everything but the kernel's own threads, where a real-time class is refused.
const NICE: i32 = -20;
const PRIORITY: i32 = 1;
const WAKE: u64 = u64::MAX;

/// A TUN device to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The path of its namespace, None for this one.
    pub namespace: Option<String>,
    pub interface: String,
}

/// One direction of a link: from one port to another.
#[derive(Clone, Debug, Deserialize)]
pub struct Lane {
    pub from: usize,
    pub to: usize,
    #[serde(flatten)]
    pub traits: Traits,
}

/// Links and what sends beside the path. A port from which no lane leads is a host's: what comes out there is
/// counted and goes no further.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bed {
    pub ports: Vec<Port>,
    pub lanes: Vec<Lane>,
    pub sources: Vec<SourceTraits>,
    /// The CPU that the thread keeps to.
    pub core: Option<usize>,
}

/// What one lane did so far: `in = delivered + dropped + lost + refused + held`, exactly.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LaneTruth {
    #[serde(flatten)]
    pub passed: Passed,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Under way.
    pub held_packets: u64,
    /// What the kernel did not take at the far end, for instance because the device was down.
    pub refused_packets: u64,
    /// Delivered more than 20 µs after their time: what a busy host did to the truth.
    pub late_packets: u64,
    pub max_late_ns: u64,
}

/// Packets that came out at a port.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Came {
    pub packets: u64,
    pub bytes: u64,
}

/// What the whole bed did so far, at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// Since the links began.
    pub elapsed_ns: u64,
    pub lanes: Vec<LaneTruth>,
    pub sources: Vec<Sent>,
    /// One for each port; zero where a lane leads on.
    pub hosts: Vec<Came>,
}

/// A running bed; its devices go with it.
pub struct Links {
    requests: Mutex<Sender<Request>>,
    wake: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

enum Request {
    /// The sources may send from now on.
    Begin,
    Truth(SyncSender<Truth>),
    End,
}

impl Links {
    /// Makes the devices and begins. Errors name the device that could not be made.
    pub fn new(bed: &Bed) -> io::Result<Self> {
        let refuse = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let ports = bed.ports.iter().map(|port| {
            Tun::new(port.namespace.as_deref(), &port.interface).map_err(|error| {
                let what = format!("the device {} cannot be made: {error}", port.interface);
                io::Error::new(error.kind(), what)
            })
        });
        let ports = ports.collect::<io::Result<Vec<_>>>()?;
        let known = |port: usize| port < ports.len();
        if !bed
            .lanes
            .iter()
            .all(|lane| known(lane.from) && known(lane.to))
            || !bed.sources.iter().all(|source| known(source.port))
        {
            return Err(refuse("a lane or source names no port".into()));
        }
        let origin_ns = monotonic_ns();
        let lanes = bed.lanes.iter().map(Carriage::new);
        let lanes = lanes.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        let sources = bed.sources.iter().map(Source::new);
        let sources = sources.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        // SAFETY: both calls return a new descriptor or an error, and touch no memory.
        let (wake, poll) = unsafe {
            (
                libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK),
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
            )
        };
        if wake < 0 || poll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptors are new and nobody else's.
        let (wake, poll) = unsafe { (OwnedFd::from_raw_fd(wake), OwnedFd::from_raw_fd(poll)) };
        watch(&poll, wake.as_raw_fd(), WAKE)?;
        for (number, port) in ports.iter().enumerate() {
            watch(&poll, port.descriptor(), number as u64)?;
        }
        let lane_of = (0..ports.len())
            .map(|port| bed.lanes.iter().position(|lane| lane.from == port))
            .collect();
        let (requests, asked) = channel();
        let mut engine = Engine {
            origin_ns,
            hosts: vec![Came::default(); ports.len()],
            ports,
            lane_of,
            lanes,
            sources,
            poll,
            spare: Vec::new(),
            buffer: vec![0; MOST_BYTES],
            rehearsal: Rehearsal::new()?,
            cold: true,
        };
        let core = bed.core;
        let wake_too = wake.try_clone()?;
        let thread = thread::Builder::new()
            .name("keisoku-links".into())
            .spawn(move || {
                go_first(core);
                engine.run(&asked, &wake_too);
            })?;
        Ok(Links {
            requests: Mutex::new(requests),
            wake,
            thread: Some(thread),
        })
    }

    /// Lets the sources send, once what they send to is there.
    pub fn begin(&self) {
        self.ask(Request::Begin);
    }

    /// All counts at one moment; None if the thread has ended.
    pub fn truth(&self) -> Option<Truth> {
        let (answer, answered) = sync_channel(1);
        self.ask(Request::Truth(answer));
        answered.recv().ok()
    }

    fn ask(&self, request: Request) {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails only if the thread has ended; then nobody answers, which the caller sees.
        let _ = requests.send(request);
        let one = 1u64.to_ne_bytes();
        // SAFETY: write reads eight bytes that live across the call.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.ask(Request::End);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed; the devices are gone with it.
            let _ = thread.join();
        }
    }
}

struct Flight {
    /// When it is to be delivered, in ps.
    at: u64,
    packet: Vec<u8>,
}

/// A lane with what is under way in it.
struct Carriage {
    to: usize,
    direction: Direction,
    flights: VecDeque<Flight>,
    delivered_packets: u64,
    delivered_bytes: u64,
    refused_packets: u64,
    late_packets: u64,
    max_late_ns: u64,
}

impl Carriage {
    fn new(lane: &Lane) -> Result<Self, String> {
        Ok(Carriage {
            to: lane.to,
            direction: Direction::new(&lane.traits)?,
            flights: VecDeque::new(),
            delivered_packets: 0,
            delivered_bytes: 0,
            refused_packets: 0,
            late_packets: 0,
            max_late_ns: 0,
        })
    }

    fn truth(&self) -> LaneTruth {
        LaneTruth {
            passed: self.direction.passed(),
            delivered_packets: self.delivered_packets,
            delivered_bytes: self.delivered_bytes,
            held_packets: self.flights.len() as u64,
            refused_packets: self.refused_packets,
            late_packets: self.late_packets,
            max_late_ns: self.max_late_ns,
        }
    }
}

struct Engine {
    origin_ns: u64,
    ports: Vec<Tun>,
    /// The lane that leads on from each port.
    lane_of: Vec<Option<usize>>,
    lanes: Vec<Carriage>,
    sources: Vec<Source>,
    hosts: Vec<Came>,
    poll: OwnedFd,
    /// Buffers of packets that have been delivered.
    spare: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    rehearsal: Rehearsal,
    /// It has slept since the kernel's way in was last taken.
    cold: bool,
}

impl Engine {
    fn now_ns(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    fn run(&mut self, asked: &Receiver<Request>, wake: &OwnedFd) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 16];
        loop {
            self.deliver();
            self.send();
            let left = self.next_ns().map(|at| at.saturating_sub(self.now_ns()));
            match left {
                Some(left) if left < SPIN_NS => self.warm(left > REHEARSAL_NS),
                _ => self.cold = true,
            }
            if left.is_some_and(|left| left < HOLD_NS) {
                std::hint::spin_loop();
                continue;
            }
            for event in wait(&self.poll, &mut events, left) {
                if event.u64 != WAKE {
                    self.receive(event.u64 as usize);
                    self.deliver();
                    continue;
                }
                let mut count = [0u8; 8];
                // SAFETY: read writes at most the eight bytes given.
                unsafe { libc::read(wake.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
                for request in asked.try_iter() {
                    match request {
                        Request::Begin => {
                            let now_ns = self.now_ns();
                            self.sources
                                .iter_mut()
                                .for_each(|source| source.begin(now_ns));
                        }
                        // Nobody waits any more if this fails.
                        Request::Truth(answer) => drop(answer.try_send(self.truth())),
                        Request::End => return,
                    }
                }
            }
        }
    }

    /// When the next delivery or packet of a source is due, in ns.
    fn next_ns(&self) -> Option<u64> {
        let flights = self.lanes.iter().filter_map(|lane| lane.flights.front());
        let deliveries = flights.map(|flight| flight.at.div_ceil(1000));
        deliveries
            .chain(self.sources.iter().filter_map(Source::due_ns))
            .min()
    }

    /// Brings the next packets into the cache: those that waited long were copied more slowly, by 0.3 ns a byte; and
    /// after a sleep, if there is `time`, the kernel's way in.
    fn warm(&mut self, time: bool) {
        if self.cold && time {
            self.rehearsal.write();
            self.cold = false;
        }
        for packet in self.lanes.iter().filter_map(|lane| lane.flights.front()) {
            let lines = packet.packet.iter().step_by(CACHE_LINE);
            std::hint::black_box(lines.fold(0u8, |sum, byte| sum ^ byte));
        }
    }

    fn deliver(&mut self) {
        for number in 0..self.lanes.len() {
            loop {
                let now = (monotonic_ns() - self.origin_ns) * 1000;
                let lane = &mut self.lanes[number];
                if lane.flights.front().is_none_or(|flight| flight.at > now) {
                    break;
                }
                let Some(flight) = lane.flights.pop_front() else {
                    break;
                };
                let late_ns = (now - flight.at) / 1000;
                lane.max_late_ns = lane.max_late_ns.max(late_ns);
                lane.late_packets += u64::from(late_ns > LATE_NS);
                match self.ports[lane.to].write(&flight.packet) {
                    Ok(()) => {
                        lane.delivered_packets += 1;
                        lane.delivered_bytes += flight.packet.len() as u64;
                    }
                    Err(_) => lane.refused_packets += 1,
                }
                self.spare.push(flight.packet);
            }
        }
    }

    fn send(&mut self) {
        for source in &mut self.sources {
            let now_ns = monotonic_ns() - self.origin_ns;
            while source.due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
                let port = source.port;
                let Some(packet) = source.take(now_ns) else {
                    continue;
                };
                let bytes = packet.len();
                // A device that is not up yet refuses; such a packet never entered the network.
                if self.ports[port].write(packet).is_ok() {
                    source.sent.count(bytes);
                }
            }
        }
    }

    fn receive(&mut self, port: usize) {
        for _ in 0..BATCH {
            // Before the read, whose length depends on the packet's.
            let now = self.now_ns() * 1000;
            let Ok(Some(bytes)) = self.ports[port].read(&mut self.buffer) else {
                return;
            };
            let Some(lane) = self.lane_of[port] else {
                self.hosts[port].packets += 1;
                self.hosts[port].bytes += bytes as u64;
                continue;
            };
            if let Fate::Arrives(at) = self.lanes[lane].direction.take(now, bytes as u64) {
                let mut packet = self.spare.pop().unwrap_or_default();
                packet.clear();
                packet.extend_from_slice(&self.buffer[..bytes]);
                self.lanes[lane].flights.push_back(Flight { at, packet });
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

/// Lets the calling thread go before all others, on its own core if it has one.
fn go_first(core: Option<usize>) {
    affinity::restrict(&core.map_or_else(Vec::new, |core| vec![core]));
    affinity::sleep_precisely();
    let parameter = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the kernel reads the parameter, which lives across the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } != 0 {
        affinity::hurry(NICE);
    }
}

fn watch(poll: &OwnedFd, descriptor: i32, token: u64) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: token,
    };
    // SAFETY: the kernel reads the event, which lives across the call.
    match unsafe {
        libc::epoll_ctl(
            poll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            descriptor,
            &mut event,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for arrivals until `SPIN_NS` before `left_ns` have passed (None: until there is one).
fn wait<'a>(
    poll: &OwnedFd,
    events: &'a mut [libc::epoll_event],
    left_ns: Option<u64>,
) -> &'a [libc::epoll_event] {
    let timeout = left_ns.map(|left| {
        let sleep = left.saturating_sub(SPIN_NS);
        libc::timespec {
            tv_sec: (sleep / 1_000_000_000) as libc::time_t,
            tv_nsec: (sleep % 1_000_000_000) as libc::c_long,
        }
    });
    let time = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel reads the time and writes at most as many events as are given; both live across the call.
    let found = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            poll.as_raw_fd(),
            events.as_mut_ptr(),
            events.len(),
            time,
            std::ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    &events[..usize::try_from(found).unwrap_or(0)]
}
