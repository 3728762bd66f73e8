//! `Far`: the other end. It answers nobody that was not let in (`open`): packets with a token that it drew, from the address
//! that it was drawn for. To those it sends a stream of its own, at the rate that was asked for, until `close`, or until it
//! has heard nothing for long enough. It may also be told to send to another far end that has let it in (`join`): then
//! both are ends of a mesh. To all others it sends nothing, or, where their packets have the form of ours, half as
//! many bytes as came.

mod session;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
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

use super::arrivals::DelaysRecord;
use super::connection::Listener;
use super::host_watch::{HostRecord, HostWatch};
use super::packet::{BYTES, Kind, Packet, UNKNOWN_BYTES};
use super::schedule::ScheduleRecord;
use super::socket::Datagrams;
use super::{LOOK_NS, MOST_FLOWS, TURN};
use session::{FarFlowRecord, Flow, Guest, Session, Way};

pub use session::Wanted;

/// How long a report is kept of a client that is not heard any more.
const KEPT_NS: u64 = 600_000_000_000;
const MOST_SESSIONS: usize = 64;
/// Answers to packets of unknown sessions in a second.
const MOST_UNKNOWN: u64 = 1000;
const IDLE_NS: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Connections that have not said to whom they belong, for so long.
const MOST_STRANGERS: usize = 256;
const STRANGER_NS: u64 = 5_000_000_000;
/// From here on, numbers of an epoll are of listeners, and of connections.
const LISTENERS: u64 = 1 << 32;
const CONNECTIONS: u64 = 1 << 33;

/// What came of a session, as whoever asked for it looks at it while it goes on.
#[derive(Debug, Serialize)]
pub struct Look {
    pub received: u64,
    /// For how long nothing has come.
    pub silent_ns: u64,
}

/// Where a client may send, and with which token.
#[derive(Debug, Deserialize, Serialize)]
pub struct Opened {
    pub token: u64,
    pub port: u16,
    /// For connections.
    pub tcp_port: u16,
}

/// What this end has seen of a session. Times are CLOCK_MONOTONIC of this host.
#[derive(Debug, Serialize)]
pub struct FarRecord {
    pub now_ns: u64,
    pub opened_ns: u64,
    pub sent: ScheduleRecord,
    pub flows: Vec<FarFlowRecord>,
    pub delays: DelaysRecord,
    pub host: HostRecord,
    pub refused: BTreeMap<i32, u64>,
}

struct State {
    namespace: Option<String>,
    port: u16,
    most_per_second: u64,
    sockets: Vec<(IpAddr, Datagrams)>,
    listeners: Vec<(IpAddr, Listener)>,
    guests: Vec<Option<Guest>>,
    epoll: Epoll,
    sessions: HashMap<u64, Session>,
    watch: HostWatch,
    /// The second in which answers to unknown sessions are counted, and how many there were.
    unknown: (u64, u64),
}

pub struct Far {
    state: Arc<Mutex<State>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Far {
    /// Answers at UDP port `port` of the addresses that clients are let in at, in a namespace or here, and sends so many
    /// packets a second at most.
    pub fn begin(namespace: Option<String>, port: u16, most_per_second: u64) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State {
            namespace,
            port,
            most_per_second,
            sockets: Vec::new(),
            listeners: Vec::new(),
            guests: Vec::new(),
            epoll: Epoll::new()?,
            sessions: HashMap::new(),
            watch: HostWatch::begin(),
            unknown: (0, 0),
        }));
        let end = Arc::<AtomicBool>::default();
        let thread = thread::Builder::new()
            .name("keisoku-outage".into())
            .spawn({
                let (state, end) = (state.clone(), end.clone());
                move || run(&state, &end)
            })?;
        Ok(Far {
            state,
            end,
            thread: Some(thread),
        })
    }

    /// Opens the socket at one of this host's addresses, if there is none yet, so that clients from before a restart are told
    /// that they are not known.
    pub fn listen(&self, local: IpAddr) -> io::Result<u16> {
        let mut state = self.locked();
        state.listen(local)
    }

    /// Lets a client at `peer` in, which reached this host at `local`. The error is one sentence for it.
    pub fn open(&self, wanted: &Wanted, peer: IpAddr, local: IpAddr) -> Result<Opened, String> {
        self.locked().open(wanted, peer, local)
    }

    /// Whether there is such a session of a client at this address.
    pub fn knows(&self, token: u64, peer: IpAddr) -> bool {
        let state = self.locked();
        state
            .sessions
            .get(&token)
            .is_some_and(|own| own.peer == peer)
    }

    /// Sends to another far end, at `to`, which has let this one in with `token` where it comes from `local`: both then hold
    /// the same session. It goes on as long as somebody looks at it. The error is one sentence for whoever wants it.
    pub fn join(
        &self,
        wanted: &Wanted,
        token: u64,
        to: SocketAddr,
        local: IpAddr,
    ) -> Result<(), String> {
        let mut state = self.locked();
        state.has_room(wanted)?;
        state.listen_for(local)?;
        let mut session = Session::new(wanted, to.ip().to_canonical(), local, monotonic_ns());
        session.joined = true;
        for flow in &mut session.flows {
            flow.to = Some(Way::Udp(KernelAddress::of(to)));
            flow.from.push((session.opened_ns, to));
        }
        state.sessions.insert(token, session);
        Ok(())
    }

    /// What came of a session until now; it goes on as long as somebody looks. `None` if there is no such session.
    pub fn look(&self, token: u64) -> Option<Look> {
        let mut state = self.locked();
        let session = state.sessions.get_mut(&token)?;
        let now_ns = monotonic_ns();
        session.looked_ns = now_ns;
        let flows = session.flows.iter();
        Some(Look {
            received: flows.map(|flow| flow.arrivals.heard().1).sum(),
            silent_ns: now_ns.saturating_sub(session.heard_ns),
        })
    }

    /// `None` if there is no such session.
    pub fn record(&self, token: u64) -> Option<FarRecord> {
        let state = self.locked();
        let session = state.sessions.get(&token)?;
        Some(FarRecord {
            now_ns: monotonic_ns(),
            opened_ns: session.opened_ns,
            sent: session.schedule.record(),
            flows: session.flows.iter().enumerate().map(Flow::record).collect(),
            delays: session.delays.record(),
            host: state.watch.record(),
            refused: session.refused.clone(),
        })
    }

    /// Nothing more is sent to the client, and what was seen of it is forgotten.
    pub fn close(&self, token: u64) {
        self.locked().sessions.remove(&token);
    }

    /// Ends it; the second time nothing happens.
    pub fn end(&mut self) -> io::Result<()> {
        self.end.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the thread that answers panicked")),
            Some(Ok(outcome)) => outcome,
            None => Ok(()),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Nobody wants to know any more how it went.
        let _ = self.end();
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(state: &Mutex<State>, end: &AtomicBool) -> io::Result<()> {
    affinity::hurry(affinity::FIRST_NICE);
    affinity::sleep_precisely();
    let waiting = locked(state).epoll.again()?;
    let mut events = [NO_EVENT; 64];
    let mut due_ns = monotonic_ns();
    while !end.load(Ordering::Relaxed) {
        let wait_ns = {
            let mut state = locked(state);
            state.watch.runs(monotonic_ns(), due_ns);
            state.send()
        };
        due_ns = monotonic_ns() + wait_ns;
        let count = waiting.wait(Some(wait_ns), &mut events)?;
        let mut state = locked(state);
        for event in &events[..count] {
            let number = event.u64;
            match number {
                CONNECTIONS.. => state.read((number - CONNECTIONS) as usize),
                LISTENERS.. => state.accept((number - LISTENERS) as usize),
                _ => state.receive(number as usize),
            }
        }
    }
    Ok(())
}

impl State {
    fn listen(&mut self, local: IpAddr) -> io::Result<u16> {
        if let Some((_, socket)) = self.sockets.iter().find(|(address, _)| *address == local) {
            return Ok(socket.local()?.port());
        }
        let address = SocketAddr::new(local, self.port);
        let socket = netns::within(self.namespace.as_deref(), || Datagrams::bound(address))?;
        let (number, port) = (self.sockets.len() as u64, socket.local()?.port());
        self.epoll
            .watch(socket.descriptor().as_raw_fd(), libc::EPOLLIN, number)?;
        self.sockets.push((local, socket));
        Ok(port)
    }

    fn open(&mut self, wanted: &Wanted, peer: IpAddr, local: IpAddr) -> Result<Opened, String> {
        self.has_room(wanted)?;
        let port = self.listen_for(local)?;
        let tcp_port = self
            .wait_for_connections(local)
            .map_err(|error| format!("cannot open a TCP port at {local}: {error}"))?;
        let token = drawn().map_err(|error| format!("has no random numbers: {error}"))?;
        let session = Session::new(wanted, peer, local, monotonic_ns());
        self.sessions.insert(token, session);
        Ok(Opened {
            token,
            port,
            tcp_port,
        })
    }

    fn listen_for(&mut self, local: IpAddr) -> Result<u16, String> {
        self.listen(local)
            .map_err(|error| format!("cannot open a UDP port at {local}: {error}"))
    }

    /// Whether one more session may be had. The error is one sentence for whoever asks.
    fn has_room(&mut self, wanted: &Wanted) -> Result<(), String> {
        if !(1..=MOST_FLOWS).contains(&wanted.flows) || wanted.interval_ns == 0 {
            return Err(format!("serves 1 to {MOST_FLOWS} flows"));
        }
        let rate = |flows: usize, interval_ns: u64| {
            (flows as u128 * u128::from(SECOND_NS)).div_ceil(u128::from(interval_ns)) as u64
        };
        let now_ns = monotonic_ns();
        self.sessions
            .retain(|_, session| now_ns.saturating_sub(session.wanted_ns()) < KEPT_NS);
        let others = self.sessions.values().filter(|one| one.is_wanted(now_ns));
        let busy: u64 = others
            .map(|one| {
                let (interval_ns, flows) = one.schedule.pace();
                rate(flows as usize, interval_ns)
            })
            .sum();
        if self.sessions.len() >= MOST_SESSIONS {
            return Err("measures with too many others; try again later".into());
        }
        if busy + rate(wanted.flows, wanted.interval_ns) > self.most_per_second {
            return Err(format!(
                "sends at most {} packets/s, of which {busy} are in use; ask for fewer",
                self.most_per_second
            ));
        }
        Ok(())
    }

    /// Sends what is due in all sessions, for a turn of each at most; returns the time until something is due.
    fn send(&mut self) -> u64 {
        let mut wait_ns = IDLE_NS;
        for (token, session) in &mut self.sessions {
            if !session.is_wanted(monotonic_ns()) {
                continue;
            }
            let socket = self
                .sockets
                .iter()
                .find(|(local, _)| *local == session.local);
            if let Some((_, socket)) = socket {
                self.watch.works(monotonic_ns());
                let due_ns = session.send(*token, socket, &mut self.guests);
                self.watch.works(monotonic_ns());
                wait_ns = wait_ns.min(due_ns).min(LOOK_NS);
            }
        }
        wait_ns
    }

    /// Reads what came at a socket, for a turn at most.
    fn receive(&mut self, number: usize) {
        let ahead_ns = self.watch.stamps_ahead_ns();
        let Some((_, socket)) = self.sockets.get_mut(number) else {
            return;
        };
        let mut room = [0; BYTES + 1];
        for _ in 0..TURN {
            let now_ns = monotonic_ns();
            let Some(datagram) = socket.receive(&mut room, ahead_ns) else {
                socket.drained(now_ns);
                return;
            };
            let packet = Packet::read(&room[..datagram.length]);
            let Some(packet) = packet.filter(|packet| packet.kind == Kind::Data) else {
                continue;
            };
            let Some(from) = datagram.from.get() else {
                continue;
            };
            let Some(session) = self.sessions.get_mut(&packet.token) else {
                if self.unknown.0 != now_ns / SECOND_NS {
                    self.unknown = (now_ns / SECOND_NS, 0);
                }
                self.unknown.1 += 1;
                if self.unknown.1 <= MOST_UNKNOWN {
                    let answer = Packet {
                        kind: Kind::Unknown,
                        ..packet
                    };
                    // If it is lost, the next packet is answered.
                    let _ = socket.send(&answer.write()[..UNKNOWN_BYTES], &datagram.from);
                }
                continue;
            };
            if session.peer == from.ip().to_canonical() {
                let way = Way::Udp(datagram.from);
                session.take(&packet, way, from, datagram.arrived_ns, || socket.dropped());
            }
        }
    }
}

impl State {
    /// Opens a TCP port for connections at one of this host's addresses, one above that of datagrams.
    fn wait_for_connections(&mut self, local: IpAddr) -> io::Result<u16> {
        if let Some((_, listener)) = self.listeners.iter().find(|(address, _)| *address == local) {
            return listener.port();
        }
        let port = if self.port == 0 {
            0
        } else {
            self.port.checked_add(1).unwrap_or(0)
        };
        let address = SocketAddr::new(local, port);
        let listener = netns::within(self.namespace.as_deref(), || Listener::at(address))?;
        let (number, port) = (self.listeners.len() as u64, listener.port()?);
        self.epoll
            .watch(listener.descriptor(), libc::EPOLLIN, LISTENERS + number)?;
        self.listeners.push((local, listener));
        Ok(port)
    }

    /// Takes connections that wait, if there is room for strangers.
    fn accept(&mut self, number: usize) {
        let now_ns = monotonic_ns();
        for guest in &mut self.guests {
            let stale = |guest: &Guest| guest.of.is_none() && now_ns > guest.since_ns + STRANGER_NS;
            if guest.as_ref().is_some_and(stale) {
                *guest = None;
            }
        }
        while let Some((_, listener)) = self.listeners.get(number)
            && let Some((connection, from)) = listener.accept()
        {
            let strangers = self.guests.iter().flatten();
            if strangers.filter(|guest| guest.of.is_none()).count() >= MOST_STRANGERS {
                continue;
            }
            let free = self.guests.iter().position(Option::is_none);
            let place = free.unwrap_or_else(|| {
                self.guests.push(None);
                self.guests.len() - 1
            });
            let watched = self.epoll.watch(
                connection.descriptor(),
                libc::EPOLLIN | libc::EPOLLRDHUP,
                CONNECTIONS + place as u64,
            );
            self.guests[place] = watched.ok().map(|()| Guest {
                connection,
                from,
                since_ns: now_ns,
                of: None,
            });
        }
    }

    /// Reads what came on a connection; one that is over, or belongs to nobody that was let in, is closed.
    fn read(&mut self, place: usize) {
        let ahead_ns = self.watch.stamps_ahead_ns();
        let Some(mut guest) = self.guests.get_mut(place).and_then(Option::take) else {
            return;
        };
        let from = guest.from;
        let mut of = guest.of;
        let mut unknown = None;
        let outcome = guest.connection.receive(ahead_ns, |packet, arrived_ns| {
            let session = self.sessions.get_mut(&packet.token);
            match session.filter(|session| session.peer == from.ip().to_canonical()) {
                Some(session) => {
                    of = Some((packet.token, usize::from(packet.flow)));
                    session.take(&packet, Way::Tcp(place), from, arrived_ns, || 0);
                }
                None => unknown = Some(packet),
            }
        });
        guest.of = of;
        if let Some(packet) = unknown {
            let answer = Packet {
                kind: Kind::Unknown,
                ..packet
            };
            // It is closed behind it anyway.
            let _ = guest.connection.send(&answer.write());
        } else if outcome.is_ok() {
            self.guests[place] = Some(guest);
        }
    }
}

/// A number that nobody can guess.
fn drawn() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: the kernel fills at most as many bytes as there are.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match count {
        8 => Ok(u64::from_be_bytes(bytes) >> 1),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
