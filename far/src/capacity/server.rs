//! `CapacityServer`: answers clients of UDPSTP (RFC 9946), keisoku's and others; one client at a time.
//!
//! It sends a load only to an address that has answered from there, and then no more than a datagram now and then until a status has
//! come back: the search begins at the first row of the table.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keisoku::host::kernel_clock::monotonic_ns;
use keisoku::stamped_socket::{Kind, Options, Outgoing, Packet, StampedSocket};
use socket2::{Socket, Type};

use super::activation::{Activation, UP};
use super::carry::{carry_out, prepare, wall_ns};
use super::end::{End, SILENT_NS};
use super::pdu::OK;
use super::receiving_end::ReceivingEnd;
use super::seal::{Keys, OPEN, SIGNED, SealError, Tail, sealed, verify};
use super::sending_end::SendingEnd;
use super::sending_rate::{PACKET_BYTES, TRADITIONAL_PACKET_BYTES, table};
use super::setup::{self, Setup, TRADITIONAL_MTU};
use crate::running::{say, spawn};
use crate::two_ended::busy::Busy;
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::{bound, is_readable, port_of};

/// Of one client at a time.
const MOST_CONNECTIONS: usize = 8;
const MOST_CONNECTIONS_OF_A_TEST: u8 = 24;
const LISTEN_NS: u64 = 100_000_000;
const LOOK: Duration = Duration::from_millis(100);
const MOST_AT_ONCE: usize = 64;
const LONGEST: usize = 2048;

/// Its address, and the number that its connections have in common.
type Client = (Peer, u16);

pub struct CapacityServer {
    socket: StampedSocket,
    own: SocketAddr,
    key: Option<Vec<u8>>,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    /// Taken while a client measures, so that others of this host do not measure at the same time.
    busy: Arc<Busy>,
    stopped: AtomicBool,
    tests: Mutex<Tests>,
}

#[derive(Default)]
struct Tests {
    client: Option<Client>,
    count: usize,
}

impl CapacityServer {
    pub fn open(at: SocketAddr, key: Option<Vec<u8>>, busy: Arc<Busy>) -> Result<Self, String> {
        let options = Options {
            kind: Kind::Udp,
            bind: at,
            connect: None,
            do_not_fragment: false,
            hardware: false,
            receive_bytes: None,
        };
        let socket = StampedSocket::open(options, None, None).map_err(|error| {
            format!("cannot listen at UDP {at}: {error}; choose another address or --capacity")
        })?;
        Ok(CapacityServer {
            socket,
            own: at,
            key,
            shared: Arc::new(Shared {
                busy,
                stopped: AtomicBool::new(false),
                tests: Mutex::default(),
            }),
            threads: Mutex::default(),
        })
    }

    /// The UDP port.
    pub fn port(&self) -> u16 {
        self.socket.address().map_or(0, |address| address.port())
    }

    /// Answers clients, each test on a thread of its own, until `stop`.
    pub fn serve(&self) {
        let mut packets = Vec::new();
        while !self.shared.stopped.load(Ordering::Relaxed) {
            packets.clear();
            let deadline_ns = monotonic_ns() + LISTEN_NS;
            if self
                .socket
                .receive(deadline_ns, 1, MOST_AT_ONCE, false, &mut packets)
                .is_err()
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            for packet in &packets {
                // Whoever sends what is no request hears nothing, and one whose socket cannot be opened asks again.
                let _ = self.set_up(packet);
            }
            self.threads().retain(|thread| !thread.is_finished());
        }
        for thread in self.threads().drain(..) {
            // Its panic has been printed already.
            let _ = thread.join();
        }
    }

    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request, and waits on another thread for its activation. `None` for what is no request.
    fn set_up(&self, packet: &Packet) -> Option<()> {
        let source = packet.source?;
        let request = Setup::parse(&packet.data).filter(|one| one.command == setup::REQUEST)?;
        let tail = Tail::of(&packet.data)?;
        let signed = self.key.as_ref().filter(|_| tail.mode == SIGNED);
        let keys = signed.map(|key| Keys::of(key, tail.unix_s));
        let mut answer = request;
        answer.command = setup::RESPONSE;
        let peer = Peer::of(source);
        answer.response = match self.refusal(&request, &packet.data, tail, keys.as_ref()) {
            0 => self.shared.claim((peer, request.connections_id)),
            refusal => refusal,
        };
        if answer.response == setup::BAD_VERSION {
            answer.version = setup::VERSION;
        }
        let mut test = None;
        if answer.response == OK {
            let claimed = Claim(self.shared.clone());
            let asked = Peer {
                ip: packet.local.unwrap_or(self.own.ip()).to_canonical(),
                scope: peer.scope,
            };
            let made = opened(asked).ok()?;
            answer.port = port_of(&made);
            test = Some((made, claimed));
        }
        let server = keys.as_ref().map(|keys| &keys.server[..]);
        let data = sealed(answer.pack(), server, tail.key_id);
        let outgoing = Outgoing {
            data: &data,
            destination: Some(source),
            ttl: None,
        };
        self.socket.send(&[outgoing], 0);
        let (made, claimed) = test?;
        let null = sealed(setup::null(), server, tail.key_id);
        made.send_to(&null, &peer.at(source.port()).into()).ok()?;
        let packet_bytes = match request.modifiers & TRADITIONAL_MTU {
            0 => PACKET_BYTES,
            _ => TRADITIONAL_PACKET_BYTES,
        };
        let work = move || {
            let done = test_of(&made, peer, keys.as_ref(), packet_bytes, &claimed.0.stopped);
            if let Err(error) = done {
                say(&format!("{peer}: {error}"));
            }
            drop(claimed);
        };
        let thread = spawn("keisoku-capacity", work).ok()?;
        self.threads().push(thread);
        Some(())
    }

    /// Why a request is refused; 0 if it is not.
    fn refusal(&self, request: &Setup, data: &[u8], tail: Tail, keys: Option<&Keys>) -> u8 {
        if request.version != setup::VERSION {
            return setup::BAD_VERSION;
        }
        match (&self.key, tail.mode) {
            (_, mode) if mode > SIGNED => return setup::BAD_MODE,
            (None, SIGNED) => return setup::NO_KEY_HERE,
            (Some(_), OPEN) => return setup::KEY_NEEDED,
            _ => {}
        }
        match keys.map_or(Ok(()), |keys| verify(data, &keys.client)) {
            Ok(()) => {}
            Err(SealError::Digest) => return setup::BAD_DIGEST,
            Err(SealError::Time) => return setup::BAD_TIME,
        }
        let possible = (1..=MOST_CONNECTIONS_OF_A_TEST).contains(&request.connections)
            && request.connection < request.connections;
        if possible { 0 } else { setup::BAD_CONNECTIONS }
    }
}

impl Shared {
    fn tests(&self) -> MutexGuard<'_, Tests> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `OK` if the client may have a test more, which then counts until a `Claim` is dropped.
    fn claim(&self, client: Client) -> u8 {
        let mut tests = self.tests();
        if tests.count > 0 {
            if tests.client != Some(client) {
                return setup::CAPACITY_EXCEEDED;
            }
            if tests.count >= MOST_CONNECTIONS {
                return setup::NO_CONNECTION;
            }
        } else if !self.busy.take(Duration::ZERO) {
            return setup::CAPACITY_EXCEEDED;
        }
        tests.client = Some(client);
        tests.count += 1;
        OK
    }
}

/// One test that counts.
struct Claim(Arc<Shared>);

impl Drop for Claim {
    fn drop(&mut self) {
        let mut tests = self.0.tests();
        tests.count -= 1;
        if tests.count == 0 {
            tests.client = None;
            self.0.busy.free();
        }
    }
}

fn opened(at: Peer) -> io::Result<Socket> {
    let made = bound(at.at(0), Type::DGRAM)?;
    prepare(&made)?;
    Ok(made)
}

fn test_of(
    made: &Socket,
    host: Peer,
    keys: Option<&Keys>,
    packet_bytes: u32,
    stopped: &AtomicBool,
) -> io::Result<()> {
    let Some((mut parameters, peer, tail)) = activation(made, host, keys, stopped) else {
        return Ok(());
    };
    made.connect(&peer.into())?;
    say(&format!("{host} measures the capacity"));
    let (now_ns, wall_ns) = (monotonic_ns(), wall_ns());
    let mut end: Box<dyn End> = if parameters.command == UP {
        parameters.rate = table(packet_bytes)[0];
        Box::new(ReceivingEnd::new(parameters, now_ns, wall_ns, packet_bytes))
    } else {
        let of_ipv6 = host.ip.is_ipv6();
        Box::new(SendingEnd::new(
            parameters,
            now_ns,
            wall_ns,
            packet_bytes,
            of_ipv6,
        ))
    };
    made.send(&sealed(
        parameters.pack(),
        keys.map(|keys| &keys.server[..]),
        tail.key_id,
    ))?;
    carry_out(&mut *end, made, stopped)?;
    say(&format!("{host} is done"));
    Ok(())
}

/// What the client asks for, within what is possible, and from where; `None` if it does not ask in time.
fn activation(
    made: &Socket,
    host: Peer,
    keys: Option<&Keys>,
    stopped: &AtomicBool,
) -> Option<(Activation, SocketAddr, Tail)> {
    let deadline = Instant::now() + Duration::from_nanos(SILENT_NS);
    let mut room = [std::mem::MaybeUninit::uninit(); LONGEST];
    while Instant::now() < deadline && !stopped.load(Ordering::Relaxed) {
        if !is_readable(made, LOOK) {
            continue;
        }
        let Ok((count, from)) = made.recv_from(&mut room) else {
            continue;
        };
        // SAFETY: the kernel filled so many bytes.
        let data = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), count) };
        let Some(from) = from.as_socket().filter(|from| Peer::of(*from) == host) else {
            continue;
        };
        let (Some(asked), Some(tail)) = (Activation::parse(data), Tail::of(data)) else {
            continue;
        };
        if keys.is_none_or(|keys| verify(data, &keys.client).is_ok()) {
            return Some((asked.granted(), from, tail));
        }
    }
    None
}
