//! The flows of one trial at the far end: sockets with the options that the trial asks for, and who may open a flow.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use keisoku::stream::end::StreamEnd;
use keisoku::stream::report::Task;
use keisoku::stream::socket::set;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::trial::{Protocol, StreamTrial};
use crate::two_ended::control::Problem;
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::{is_readable, port_of, readable};

/// How long a client may take to open all flows.
const OPENING: Duration = Duration::from_secs(6);
/// Asked for in each call to receive.
const RECEIVE_BYTES: usize = 1 << 17;
pub const UDP_BUFFER_BYTES: u32 = 8 << 20;
/// First bytes of a TCP stream: its trial's token and its number.
pub const OPENING_BYTES: usize = 12;
/// A datagram that tells where a UDP stream comes from: mark, token, number.
const HELLO_MARK: &[u8; 8] = b"keisoku\n";
const HELLO_BYTES: usize = 20;

/// Sockets of all flows in their order, each connected to the client.
pub struct Flows {
    pub sockets: Vec<Socket>,
}

/// A socket of this end, with what the trial asks for.
fn new_socket(trial: &StreamTrial, address: SocketAddr) -> Result<Socket, Problem> {
    let kind = match trial.protocol {
        Protocol::Tcp => Type::STREAM,
        Protocol::Udp => Type::DGRAM,
    };
    let made = Socket::new(Domain::for_address(address), kind, None).map_err(no_socket)?;
    let buffer = trial
        .buffer_bytes
        .or((trial.protocol == Protocol::Udp).then_some(UDP_BUFFER_BYTES));
    if let Some(bytes) = buffer {
        set_buffers(made.as_fd(), bytes).map_err(no_socket)?;
    }
    if trial.protocol == Protocol::Tcp {
        if trial.no_delay {
            made.set_tcp_nodelay(true).map_err(no_socket)?;
        }
        if let Some(bytes) = trial.segment_bytes {
            made.set_tcp_mss(bytes).map_err(no_socket)?;
        }
        if let Some(name) = &trial.congestion {
            made.set_tcp_congestion(name.as_bytes()).map_err(|error| {
                let known = "/proc/sys/net/ipv4/tcp_available_congestion_control";
                Problem::Refused(format!(
                    "congestion control {name} is refused by this host ({error}); choose one of {known}"
                ))
            })?;
        }
    }
    made.bind(&address.into()).map_err(no_socket)?;
    Ok(made)
}

fn no_socket(error: io::Error) -> Problem {
    Problem::Refused(format!(
        "a socket of the streams cannot be opened: {error}; measure again"
    ))
}

/// Both buffers, larger than the host's limit where this process may.
pub fn set_buffers(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    for (forced, asked) in [
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
    ] {
        let value = bytes.to_ne_bytes();
        set(socket, libc::SOL_SOCKET, forced, &value)
            .or_else(|_| set(socket, libc::SOL_SOCKET, asked, &value))?;
    }
    Ok(())
}

/// What the kernel made of the options.
pub fn facts(socket: &Socket, trial: &StreamTrial) -> Value {
    let mut found = json!({
        "send_buffer_bytes": socket.send_buffer_size().unwrap_or(0),
        "receive_buffer_bytes": socket.recv_buffer_size().unwrap_or(0),
    });
    if trial.protocol == Protocol::Tcp
        && let Ok(name) = socket.tcp_congestion()
    {
        let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
        found["congestion"] = String::from_utf8_lossy(&name).into();
    }
    found
}

/// Where a client may open its flows, before it does.
pub enum Awaited {
    Listener(Socket),
    Datagrams(Vec<Socket>),
}

impl Awaited {
    pub fn open(trial: &StreamTrial, local: Peer, flows: usize) -> Result<Self, Problem> {
        let at = local.at(0);
        match trial.protocol {
            Protocol::Tcp => {
                let made = new_socket(trial, at)?;
                made.listen(flows as i32).map_err(no_socket)?;
                Ok(Awaited::Listener(made))
            }
            Protocol::Udp => {
                let all: Result<_, _> = (0..flows).map(|_| new_socket(trial, at)).collect();
                Ok(Awaited::Datagrams(all?))
            }
        }
    }

    /// The port of each flow.
    pub fn ports(&self, flows: usize) -> Vec<u16> {
        match self {
            Awaited::Listener(one) => vec![port_of(one); flows],
            Awaited::Datagrams(all) => all.iter().map(port_of).collect(),
        }
    }

    /// Waits until the client at `host` has opened all flows with their tokens; what others send is left.
    pub fn opened(self, tokens: &[u64], host: Peer) -> Result<Flows, Problem> {
        let until = Instant::now() + OPENING;
        let sockets = match self {
            Awaited::Listener(listener) => accepted(&listener, tokens, host, until)?,
            Awaited::Datagrams(all) => heard(all, tokens, host, until)?,
        };
        Ok(Flows { sockets })
    }
}

/// Streams of the client, by number; connections of others are closed.
fn accepted(
    listener: &Socket,
    tokens: &[u64],
    host: Peer,
    until: Instant,
) -> Result<Vec<Socket>, Problem> {
    let late = || Problem::Refused("not all streams were connected in time; measure again".into());
    let mut found: BTreeMap<u32, Socket> = BTreeMap::new();
    while found.len() < tokens.len() {
        if !is_readable(listener, until.saturating_duration_since(Instant::now())) {
            return Err(late());
        }
        let Ok((stream, address)) = listener.accept() else {
            continue;
        };
        if address.as_socket().map(Peer::of) != Some(host) {
            continue;
        }
        let Some((token, flow)) = opening_of(&stream, until) else {
            continue;
        };
        if tokens.get(flow as usize) == Some(&token) {
            found.insert(flow, stream);
        }
    }
    Ok(found.into_values().collect())
}

/// What a stream begins with; `None` if that does not come in time.
pub fn opening_of(stream: &Socket, until: Instant) -> Option<(u64, u32)> {
    let mut bytes = [0; OPENING_BYTES];
    let mut got = 0;
    while got < bytes.len() {
        let left = until.checked_duration_since(Instant::now())?;
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .ok()?;
        match (&mut &*stream).read(&mut bytes[got..]) {
            Ok(0) | Err(_) => return None,
            Ok(count) => got += count,
        }
    }
    stream.set_read_timeout(None).ok()?;
    Some(split(&bytes))
}

fn split(bytes: &[u8; OPENING_BYTES]) -> (u64, u32) {
    let (token, flow) = bytes.split_at(8);
    let token = token
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    (
        token,
        flow.iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte)),
    )
}

/// Waits for a greeting at every socket, and connects it to where that came from.
fn heard(
    sockets: Vec<Socket>,
    tokens: &[u64],
    host: Peer,
    until: Instant,
) -> Result<Vec<Socket>, Problem> {
    let mut waiting: Vec<usize> = (0..sockets.len()).collect();
    while !waiting.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Problem::Refused(
                "does not receive the streams' datagrams; open UDP between both ends in their firewalls".into(),
            ));
        }
        let descriptors: Vec<_> = waiting
            .iter()
            .map(|flow| sockets[*flow].as_raw_fd())
            .collect();
        let ready = readable(&descriptors, left).map_err(no_socket)?;
        let mut known = Vec::new();
        for place in ready {
            let flow = waiting[place];
            if greeted(&sockets[flow], tokens[flow], flow as u32, host).map_err(no_socket)? {
                known.push(flow);
            }
        }
        waiting.retain(|flow| !known.contains(flow));
    }
    Ok(sockets)
}

/// Whether the next datagram is the client's greeting; the socket is then connected, and further greetings are thrown away.
fn greeted(socket: &Socket, token: u64, flow: u32, host: Peer) -> io::Result<bool> {
    let mut room = [std::mem::MaybeUninit::uninit(); 64];
    let Ok((count, from)) = socket.recv_from(&mut room) else {
        return Ok(false);
    };
    let mut wanted = HELLO_MARK.to_vec();
    wanted.extend(token.to_be_bytes());
    wanted.extend(flow.to_be_bytes());
    // SAFETY: the kernel filled so many bytes.
    let came = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), count) };
    if count != HELLO_BYTES || came != wanted || from.as_socket().map(Peer::of) != Some(host) {
        return Ok(false);
    }
    socket.connect(&from)?;
    socket.set_nonblocking(true)?;
    while socket.recv(&mut room).is_ok() {}
    Ok(true)
}

impl Flows {
    /// This end of the trial: receivers begin at once.
    pub fn begin(&self, trial: &StreamTrial, tokens: &[u64]) -> Result<StreamEnd, Problem> {
        let tasks = trial
            .sent_here()
            .into_iter()
            .enumerate()
            .map(|(flow, sends)| Task {
                flow: flow as u32,
                fd: self.sockets[flow].as_raw_fd(),
                sends,
                udp: trial.protocol == Protocol::Udp,
                message_bytes: if sends {
                    trial.message_bytes
                } else {
                    RECEIVE_BYTES
                },
                segments: trial.segments,
                bytes_per_second: trial.bps.map(|bps| ((bps / 8.0).round() as u64).max(1)),
                warm_up_ns: (trial.warm_up_s * 1e9).round() as u64,
                token: tokens[flow],
            });
        StreamEnd::new(tasks.collect()).map_err(|error| {
            Problem::Refused(format!("the streams cannot begin: {error}; measure again"))
        })
    }
}

/// Packets, of whatever traffic, for which this host's receive backlogs had no room since it started.
pub fn backlog_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    let second = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    text.lines().filter_map(second).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_a_token_and_a_number() {
        let bytes = [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4];
        assert_eq!(split(&bytes), (258, 772));
    }
}
