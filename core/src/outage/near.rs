//! `Near`: the measuring end. It sends on every flow from a socket of its own, and keeps what comes back.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use crate::host::affinity;
use crate::host::epoll::{Epoll, NO_EVENT};
use crate::host::kernel_clock::monotonic_ns;
use crate::host::netns;
use crate::stamped_socket::address::KernelAddress;

use super::arrivals::{Arrival, Arrivals, ArrivalsRecord, Delays, DelaysRecord};
use super::connection::Connection;
use super::host_watch::{HostRecord, HostWatch};
use super::packet::{BYTES, Kind, Packet};
use super::schedule::{Next, Schedule, ScheduleRecord};
use super::socket::Datagrams;
use super::{LOOK_NS, MOST_FLOWS, TURN};

/// A connection that ended is replaced after this at the soonest.
const AGAIN_NS: u64 = 20_000_000;
/// One that does not begin in this time is given up, and another one asked for.
const BEGINS_NS: u64 = 1_000_000_000;
const MOST_BREAKS: usize = 1000;
/// The most far ends, one after the other, of which something is kept.
const EARLIER: usize = 100;

/// What is to be sent where.
#[derive(Clone, Debug, Deserialize)]
pub struct Plan {
    /// Of the far end.
    pub remote: SocketAddr,
    /// Path of the network namespace from which it is reached; none: this one.
    pub namespace: Option<String>,
    pub flows: usize,
    /// From one packet of a flow to the next, in each direction.
    pub interval_ns: u64,
    /// Nothing came for longer than this: a pause, even where nothing is missing.
    pub quiet_ns: u64,
    pub token: u64,
    /// Over a TCP connection for each flow, not by datagrams.
    pub tcp: bool,
}

/// What this end has seen until now. Times are CLOCK_MONOTONIC of this host.
#[derive(Debug, Serialize)]
pub struct NearRecord {
    pub now_ns: u64,
    pub sent: ScheduleRecord,
    pub flows: Vec<FlowRecord>,
    pub delays: DelaysRecord,
    pub host: HostRecord,
    /// Packets that the host's kernel refused to send, by the number of the error.
    pub refused: BTreeMap<i32, u64>,
}

#[derive(Debug, Serialize)]
pub struct FlowRecord {
    pub flow: usize,
    /// This end's address, by which flows differ.
    pub local: String,
    pub arrivals: ArrivalsRecord,
    /// The latest packet that says what the far end has received.
    pub heard: Option<Heard>,
    /// The same of each far end before, which is gone, with what is said of the one behind it.
    pub earlier: Vec<Earlier>,
    /// When this end's packets met a far end that does not know the session: the number of the first of them, when its
    /// answer came first and last, and how many there were.
    pub unknown: Option<Unknown>,
    /// TCP: how often a connection was asked for, and each time that one ended, or was given up before it began.
    pub connections: u64,
    pub breaks: Vec<Break>,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Break {
    pub at_ns: u64,
    /// Number of the error; 0: the far end closed it, -1: it did not begin in time.
    pub error: i32,
    /// Whether anything had been sent on it.
    pub begun: bool,
}

/// What was known of a far end when another one took its place.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Earlier {
    pub heard: Option<Heard>,
    pub unknown: Option<Unknown>,
}

/// A packet of the far end that says what it has received.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Heard {
    /// When it was sent, by the far end's clock, and came here.
    pub sent_ns: u64,
    pub arrived_ns: u64,
    /// One more than the highest number that the far end has received, and how many packets.
    pub next: u64,
    pub received: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unknown {
    pub number: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub count: u64,
}

/// What a live view shows: of each flow when anything came last, and in all how many packets were sent and came.
#[derive(Debug, Serialize)]
pub struct Glance {
    pub now_ns: u64,
    pub sent: u64,
    pub received: u64,
    pub heard_ns: Vec<u64>,
    pub unknown: bool,
}

enum Way {
    Udp(Datagrams),
    Tcp(Tcp),
}

#[derive(Default)]
struct Tcp {
    connection: Option<Connection>,
    /// When the latest one was asked for, and whether anything was sent on it.
    asked_ns: u64,
    begun: bool,
    asked: u64,
    breaks: Vec<Break>,
}

struct Flow {
    way: Way,
    /// How many packets were handed to it.
    sent: u64,
    local: SocketAddr,
    kept: Kept,
}

/// What came of a flow.
struct Kept {
    arrivals: Arrivals,
    heard: Option<Heard>,
    earlier: Vec<Earlier>,
    unknown: Option<Unknown>,
}

struct State {
    remote: SocketAddr,
    token: u64,
    epoll: Epoll,
    schedule: Schedule,
    flows: Vec<Flow>,
    delays: Delays,
    watch: HostWatch,
    refused: BTreeMap<i32, u64>,
    sent: u64,
}

#[derive(Default)]
struct Orders {
    /// Nothing more is sent.
    quiet: AtomicBool,
    end: AtomicBool,
}

pub struct Near {
    state: Arc<Mutex<State>>,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Near {
    /// Begins to send. The sockets are opened before it returns.
    pub fn begin(plan: Plan) -> io::Result<Self> {
        if !(1..=MOST_FLOWS).contains(&plan.flows) || plan.interval_ns == 0 {
            let problem = format!("there may be 1 to {MOST_FLOWS} flows, and an interval");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let flows = netns::within(plan.namespace.as_deref(), || opened(&plan))?;
        let now_ns = monotonic_ns();
        let state = Arc::new(Mutex::new(State {
            remote: plan.remote,
            token: plan.token,
            epoll: Epoll::new()?,
            schedule: Schedule::new(now_ns, plan.interval_ns, plan.flows as u64, 0),
            flows,
            delays: Delays::new(now_ns),
            watch: HostWatch::begin(),
            refused: BTreeMap::new(),
            sent: 0,
        }));
        let orders = Arc::new(Orders::default());
        let thread = thread::Builder::new()
            .name("keisoku-outage".into())
            .spawn({
                let (state, orders) = (state.clone(), orders.clone());
                move || run(&plan, &state, &orders)
            })?;
        Ok(Near {
            state,
            orders,
            thread: Some(thread),
        })
    }

    /// Sends nothing more; what still comes is kept.
    pub fn quiet(&self) {
        self.orders.quiet.store(true, Ordering::Relaxed);
    }

    /// Packets from now on belong to this session, and go to this address; datagrams only to one of the same family.
    /// Connections of the session before are over: an end may have another address, at which nothing of them comes.
    pub fn renew(&self, token: u64, remote: SocketAddr) {
        let mut state = self.locked();
        (state.token, state.remote) = (token, remote);
        for flow in &mut state.flows {
            if let Way::Tcp(tcp) = &mut flow.way
                && tcp.connection.is_some()
            {
                tcp.over(monotonic_ns(), 0);
            }
            let flow = &mut flow.kept;
            if flow.earlier.len() < EARLIER {
                flow.earlier.push(Earlier {
                    heard: flow.heard.take(),
                    unknown: flow.unknown.take(),
                });
            }
            flow.unknown = None;
        }
    }

    pub fn glance(&self) -> Glance {
        let state = self.locked();
        Glance {
            now_ns: monotonic_ns(),
            sent: state.sent,
            received: state
                .flows
                .iter()
                .map(|flow| flow.kept.arrivals.heard().1)
                .sum(),
            heard_ns: state
                .flows
                .iter()
                .map(|flow| flow.kept.arrivals.heard_ns())
                .collect(),
            unknown: state.flows.iter().any(|flow| flow.kept.unknown.is_some()),
        }
    }

    pub fn record(&self) -> NearRecord {
        let state = self.locked();
        NearRecord {
            now_ns: monotonic_ns(),
            sent: state.schedule.record(),
            flows: state.flows.iter().enumerate().map(Flow::record).collect(),
            delays: state.delays.record(),
            host: state.watch.record(),
            refused: state.refused.clone(),
        }
    }

    /// Ends it; the second time nothing happens.
    pub fn end(&mut self) -> io::Result<()> {
        self.orders.end.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the thread that measures panicked")),
            Some(Ok(outcome)) => outcome,
            None => Ok(()),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        // Nobody wants to know any more how it went.
        let _ = self.end();
    }
}

fn opened(plan: &Plan) -> io::Result<Vec<Flow>> {
    let any = match plan.remote {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let open = |_: usize| -> io::Result<Flow> {
        let way = match plan.tcp {
            true => Way::Tcp(Tcp::default()),
            false => Way::Udp(Datagrams::bound(any)?),
        };
        Ok(Flow {
            local: match &way {
                Way::Udp(datagrams) => datagrams.local()?,
                Way::Tcp(_) => any,
            },
            way,
            sent: 0,
            kept: Kept {
                arrivals: Arrivals::new(plan.quiet_ns, plan.flows),
                heard: None,
                earlier: Vec::new(),
                unknown: None,
            },
        })
    };
    (0..plan.flows).map(open).collect()
}

fn run(plan: &Plan, state: &Mutex<State>, orders: &Orders) -> io::Result<()> {
    affinity::hurry(affinity::FIRST_NICE);
    affinity::sleep_precisely();
    netns::enter(plan.namespace.as_deref())?;
    let epoll = locked(state).epoll.again()?;
    for (number, flow) in locked(state).flows.iter().enumerate() {
        if let Way::Udp(datagrams) = &flow.way {
            let descriptor = datagrams.descriptor().as_raw_fd();
            epoll.watch(descriptor, libc::EPOLLIN, number as u64)?;
        }
    }
    let mut events = [NO_EVENT; 256];
    let mut due_ns = monotonic_ns();
    loop {
        let now_ns = monotonic_ns();
        let wait_ns = {
            let mut state = locked(state);
            state.watch.runs(now_ns, due_ns);
            let quiet = orders.quiet.load(Ordering::Relaxed);
            if quiet { LOOK_NS } else { state.send() }
        };
        due_ns = monotonic_ns() + wait_ns;
        let count = epoll.wait(Some(wait_ns), &mut events)?;
        let mut state = locked(state);
        for event in &events[..count] {
            state.receive(event.u64 as usize);
        }
        if orders.end.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Sends what is due, for a turn at most; returns the time until the next packet is due.
    fn send(&mut self) -> u64 {
        let to = KernelAddress::of(self.remote);
        for _ in 0..TURN {
            let now_ns = monotonic_ns();
            let slot = match self.schedule.next(now_ns) {
                Next::Wait { until_ns } => return LOOK_NS.min(until_ns - now_ns),
                Next::Send { slot } => slot,
            };
            let flows = self.flows.len() as u64;
            let number = slot % flows;
            let flow = &mut self.flows[number as usize];
            let (next, received) = flow.kept.arrivals.heard();
            let packet = Packet {
                kind: Kind::Data,
                flow: number as u16,
                token: self.token,
                number: slot / flows,
                sent_ns: monotonic_ns(),
                next,
                received,
                sent_before: flow.sent,
            };
            flow.sent += 1;
            let outcome = match &mut flow.way {
                Way::Udp(datagrams) => datagrams.send(&packet.write(), &to).map(|()| true),
                Way::Tcp(tcp) => {
                    let taken = tcp.send(&packet.write(), self.remote, &self.epoll, number);
                    Ok(taken)
                }
            };
            match outcome {
                Ok(taken) => self.sent += u64::from(taken),
                Err(error) => {
                    let number = error.raw_os_error().unwrap_or(0);
                    *self.refused.entry(number).or_default() += 1;
                }
            }
            let now_ns = monotonic_ns();
            self.schedule.sent(slot, now_ns);
            self.watch.works(now_ns);
        }
        0
    }

    /// Reads what came on a flow, for a turn at most.
    fn receive(&mut self, number: usize) {
        let ahead_ns = self.watch.stamps_ahead_ns();
        let Some(flow) = self.flows.get_mut(number) else {
            return;
        };
        let (way, kept) = (&mut flow.way, &mut flow.kept);
        let datagrams = match way {
            Way::Udp(datagrams) => datagrams,
            Way::Tcp(tcp) => {
                tcp.receive(ahead_ns, |packet, arrived_ns| {
                    if let Some(arrival) = kept.take(number, &packet, arrived_ns, || 0) {
                        self.delays.take(&arrival);
                    }
                });
                return;
            }
        };
        let mut room = [0; BYTES + 1];
        for _ in 0..TURN {
            let now_ns = monotonic_ns();
            let Some(datagram) = datagrams.receive(&mut room, ahead_ns) else {
                datagrams.drained(now_ns);
                return;
            };
            let Some(packet) = Packet::read(&room[..datagram.length]) else {
                continue;
            };
            let dropped = || datagrams.dropped();
            if let Some(arrival) = kept.take(number, &packet, datagram.arrived_ns, dropped) {
                self.delays.take(&arrival);
            }
        }
    }
}

impl Kept {
    /// Keeps what a packet says; returns its arrival if it is one of the flow's stream.
    fn take(
        &mut self,
        number: usize,
        packet: &Packet,
        arrived_ns: u64,
        dropped: impl FnOnce() -> u64,
    ) -> Option<Arrival> {
        if usize::from(packet.flow) != number {
            return None;
        }
        if packet.kind == Kind::Unknown {
            let unknown = self.unknown.get_or_insert(Unknown {
                number: packet.number,
                first_ns: arrived_ns,
                last_ns: arrived_ns,
                count: 0,
            });
            (unknown.last_ns, unknown.count) = (arrived_ns, unknown.count + 1);
            return None;
        }
        let arrival = Arrival {
            number: packet.number,
            sent_ns: packet.sent_ns,
            arrived_ns,
            sent_before: packet.sent_before,
        };
        self.arrivals.take(arrival, dropped);
        self.heard = Some(Heard {
            sent_ns: packet.sent_ns,
            arrived_ns,
            next: packet.next,
            received: packet.received,
        });
        Some(arrival)
    }
}

impl Tcp {
    /// Whether a connection took the packet. One that is over, or does not begin in time, is replaced by another one.
    fn send(
        &mut self,
        packet: &[u8; BYTES],
        remote: SocketAddr,
        epoll: &Epoll,
        number: u64,
    ) -> bool {
        let now_ns = monotonic_ns();
        if self.connection.is_none() && now_ns >= self.asked_ns + AGAIN_NS {
            (self.asked_ns, self.begun) = (now_ns, false);
            self.asked += 1;
            match Connection::to(remote) {
                Ok(made) => {
                    let wanted = libc::EPOLLIN | libc::EPOLLRDHUP;
                    // One that is not watched does not come to be read, and is replaced in time.
                    let _ = epoll.watch(made.descriptor(), wanted, number);
                    self.connection = Some(made);
                }
                Err(error) => self.over(now_ns, error.raw_os_error().unwrap_or(0)),
            }
        }
        let Some(connection) = &mut self.connection else {
            return false;
        };
        match connection.send(packet) {
            Ok(true) => {
                self.begun = true;
                true
            }
            Ok(false) => {
                if !self.begun && now_ns >= self.asked_ns + BEGINS_NS {
                    self.over(now_ns, -1);
                }
                false
            }
            Err(error) => {
                self.over(now_ns, error.raw_os_error().unwrap_or(0));
                false
            }
        }
    }

    fn receive(&mut self, ahead_ns: i64, take: impl FnMut(Packet, u64)) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if let Err(error) = connection.receive(ahead_ns, take) {
            self.over(monotonic_ns(), error.raw_os_error().unwrap_or(0));
        }
    }

    fn over(&mut self, at_ns: u64, error: i32) {
        self.connection = None;
        if self.breaks.len() < MOST_BREAKS {
            self.breaks.push(Break {
                at_ns,
                error,
                begun: self.begun,
            });
        }
    }
}

impl Flow {
    fn record((number, flow): (usize, &Flow)) -> FlowRecord {
        let (connections, breaks) = match &flow.way {
            Way::Udp(_) => (0, Vec::new()),
            Way::Tcp(tcp) => (tcp.asked, tcp.breaks.clone()),
        };
        FlowRecord {
            flow: number,
            local: flow.local.to_string(),
            arrivals: flow.kept.arrivals.record(),
            heard: flow.kept.heard,
            earlier: flow.kept.earlier.clone(),
            unknown: flow.kept.unknown,
            connections,
            breaks,
        }
    }
}
