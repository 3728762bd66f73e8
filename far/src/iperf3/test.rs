//! One test of iperf3: its course by the states that both ends tell each other (iperf_api.h), and its streams.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use keisoku::stream::pace::Pace;
use keisoku::stream::socket::again;
use keisoku::stream::tcp_info::TcpInfo;
use serde_json::{Value, json};
use socket2::SockRef;

use super::datagrams::{HELLOS, Received, write_head};
use super::parameters::Parameters;
use crate::two_ended::peer::Peer;

const TEST_START: i8 = 1;
const TEST_RUNNING: i8 = 2;
const TEST_END: i8 = 4;
const PARAM_EXCHANGE: i8 = 9;
const CREATE_STREAMS: i8 = 10;
const EXCHANGE_RESULTS: i8 = 13;
const DISPLAY_RESULTS: i8 = 14;
const SERVER_ERROR: i8 = -2;
/// iperf_api.h: "unable to receive parameters from client", the nearest to what is not served.
const UNKNOWN_PARAMETERS: u32 = 115;

const MOST_JSON: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
/// A client says the end itself; this end waits for so much longer.
const GRACE_S: f64 = 30.0;
const LOOK: Duration = Duration::from_millis(50);
/// Datagrams are sent together where they are due within this.
const PAUSE: Duration = Duration::from_millis(1);
const CLIENTS: &str = "which is no client of iperf3";

pub struct Test {
    control: TcpStream,
    host: Peer,
    streams: Receiver<TcpStream>,
    wanted: Parameters,
}

/// Counts of a stream, while it is running.
struct Counts {
    sends: bool,
    bytes: AtomicU64,
    packets: AtomicU64,
    received: Mutex<Received>,
}

/// What a stream is over.
enum Way {
    Tcp(TcpStream),
    Udp(SocketAddr),
}

/// Of a stream at one moment.
#[derive(Clone, Copy, Default)]
struct Seen {
    bytes: u64,
    packets: u64,
    lost: u64,
    jitter_s: f64,
    retransmissions: u32,
}

impl Test {
    /// Asks the client at `host` what it wants; refuses what is not served.
    pub fn new(
        mut control: TcpStream,
        host: Peer,
        streams: Receiver<TcpStream>,
    ) -> io::Result<Self> {
        control.set_nodelay(true)?;
        control.set_read_timeout(Some(PATIENCE))?;
        control.set_write_timeout(Some(PATIENCE))?;
        tell(&mut control, PARAM_EXCHANGE)?;
        let text = read_text(&mut control)?;
        let Some(wanted) = Parameters::parse(&text) else {
            tell(&mut control, SERVER_ERROR)?;
            control.write_all(&UNKNOWN_PARAMETERS.to_be_bytes())?;
            control.write_all(&0u32.to_be_bytes())?;
            return Err(io::Error::other("asks for what is not served"));
        };
        Ok(Test {
            control,
            host,
            streams,
            wanted,
        })
    }

    pub fn carry_out(mut self) -> io::Result<()> {
        let local = self.control.local_addr()?;
        // An IPv4 client's datagrams come to a socket of IPv4, whichever its connection came to.
        let local = Peer::of(local).at(local.port());
        let datagrams = match self.wanted.udp {
            true => Some(UdpSocket::bind(local)?),
            false => None,
        };
        tell(&mut self.control, CREATE_STREAMS)?;
        let senders = self.wanted.senders();
        let ways = match &datagrams {
            None => self.connections(senders.len())?,
            Some(socket) => self.greeted(socket, senders.len())?,
        };
        tell(&mut self.control, TEST_START)?;
        tell(&mut self.control, TEST_RUNNING)?;
        let counts: Vec<Counts> = senders
            .into_iter()
            .map(|sends| Counts {
                sends,
                bytes: AtomicU64::new(0),
                packets: AtomicU64::new(0),
                received: Mutex::default(),
            })
            .collect();
        let (over, spent_s) = (AtomicBool::new(false), cpu_s());
        let (seen, seconds) = thread::scope(|scope| {
            for (way, own) in ways.iter().zip(&counts) {
                let (wanted, over, datagrams) = (&self.wanted, &over, &datagrams);
                match way {
                    Way::Tcp(stream) => {
                        scope.spawn(move || carry(stream, own, wanted, over));
                    }
                    Way::Udp(to) => {
                        if let (Some(socket), true) = (datagrams, own.sends) {
                            scope.spawn(move || send_datagrams(socket, *to, own, wanted, over));
                        }
                    }
                }
            }
            if let Some(socket) = &datagrams {
                let (ways, counts, wanted, over) = (&ways, &counts, &self.wanted, &over);
                scope.spawn(move || receive_datagrams(socket, ways, counts, wanted, over));
            }
            let found = watch(&self.control, &self.wanted, &ways, &counts);
            over.store(true, Ordering::Relaxed);
            for way in &ways {
                if let Way::Tcp(stream) = way {
                    // One that the client has closed already is over as well.
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            found
        })?;
        let [user, system] = cpu_s();
        drop(ways);
        tell(&mut self.control, EXCHANGE_RESULTS)?;
        read_text(&mut self.control)?;
        let text = results(
            &counts,
            &seen,
            seconds,
            [user - spent_s[0], system - spent_s[1]],
        )
        .to_string();
        self.control.write_all(&(text.len() as u32).to_be_bytes())?;
        self.control.write_all(text.as_bytes())?;
        tell(&mut self.control, DISPLAY_RESULTS)?;
        // It says that it is done, or just goes.
        let _ = self.control.read(&mut [0]);
        Ok(())
    }

    fn connections(&self, count: usize) -> io::Result<Vec<Way>> {
        let wanted = &self.wanted;
        let open = |_| {
            let stream = self
                .streams
                .recv_timeout(PATIENCE)
                .map_err(|_| io::Error::other("opens fewer streams than it said"))?;
            stream.set_read_timeout(None)?;
            stream.set_write_timeout(None)?;
            stream.set_nodelay(wanted.nodelay)?;
            let socket = SockRef::from(&stream);
            if let Some(bytes) = wanted.window.filter(|bytes| *bytes > 0) {
                socket.set_send_buffer_size(bytes)?;
                socket.set_recv_buffer_size(bytes)?;
            }
            if let Some(bytes) = wanted.mss.filter(|bytes| *bytes > 0) {
                socket.set_tcp_mss(bytes)?;
            }
            if let Some(name) = &wanted.congestion {
                socket.set_tcp_congestion(name.as_bytes())?;
            }
            if let Some(tos) = wanted.tos.filter(|tos| *tos > 0) {
                mark(&socket, tos)?;
            }
            Ok(Way::Tcp(stream))
        };
        (0..count).map(open).collect()
    }

    /// The streams in the order in which their first datagrams come, each of which is answered before the next one.
    fn greeted(&self, socket: &UdpSocket, count: usize) -> io::Result<Vec<Way>> {
        let mut found = Vec::new();
        let until = Instant::now() + PATIENCE;
        let options = SockRef::from(socket);
        if let Some(bytes) = self.wanted.window.filter(|bytes| *bytes > 0) {
            options.set_send_buffer_size(bytes)?;
            options.set_recv_buffer_size(bytes)?;
        }
        if let Some(tos) = self.wanted.tos.filter(|tos| *tos > 0) {
            mark(&options, tos)?;
        }
        socket.set_read_timeout(Some(LOOK))?;
        while found.len() < count {
            if Instant::now() > until {
                return Err(io::Error::other("opens fewer streams than it said"));
            }
            let mut room = [0; 64];
            let Ok((length, from)) = socket.recv_from(&mut room) else {
                continue;
            };
            let Some(word) = room[..length]
                .first_chunk()
                .copied()
                .map(u32::from_ne_bytes)
            else {
                continue;
            };
            let answer = HELLOS.iter().find(|(hello, _)| *hello == word);
            let is_new = !found
                .iter()
                .any(|way| matches!(way, Way::Udp(at) if *at == from));
            if let Some((_, answer)) = answer
                && Peer::of(from) == self.host
            {
                socket.send_to(&answer.to_ne_bytes(), from)?;
                if is_new {
                    found.push(Way::Udp(from));
                }
            }
        }
        Ok(found)
    }
}

fn mark(socket: &SockRef<'_>, tos: u32) -> io::Result<()> {
    // IPv4 has its own mark, also at a socket of both versions.
    let local = socket.local_addr()?.as_socket();
    if local.is_some_and(|local| Peer::of(local).ip.is_ipv6()) {
        socket.set_tclass_v6(tos)
    } else {
        socket.set_tos_v4(tos)
    }
}

fn tell(control: &mut TcpStream, state: i8) -> io::Result<()> {
    control.write_all(&state.to_ne_bytes())
}

fn read_text(control: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MOST_JSON {
        return Err(io::Error::other(format!(
            "sends a text of {length} bytes, {CLIENTS}"
        )));
    }
    let mut text = vec![0; length];
    control.read_exact(&mut text)?;
    Ok(text)
}

/// Until the client says the end: what every stream had done before the part that counts, and then, in how many seconds of it.
fn watch(
    mut control: &TcpStream,
    wanted: &Parameters,
    ways: &[Way],
    counts: &[Counts],
) -> io::Result<(Vec<[Seen; 2]>, f64)> {
    let (begun, mut counted_from) = (Instant::now(), 0.0);
    let mut before = vec![Seen::default(); counts.len()];
    control.set_read_timeout(Some(LOOK))?;
    let ended = loop {
        let now_s = begun.elapsed().as_secs_f64();
        if counted_from == 0.0 && wanted.omit > 0.0 && now_s >= wanted.omit {
            before = looked(ways, counts);
            counted_from = now_s;
        }
        if now_s > wanted.most_s() + GRACE_S {
            break Err(io::Error::other("does not end its test"));
        }
        let mut state = [0];
        match control.read(&mut state) {
            Ok(0) => break Err(io::Error::other("is gone")),
            Ok(_) if state[0] as i8 == TEST_END => break Ok(()),
            Ok(_) => break Err(io::Error::other("gives its test up")),
            Err(error) if again(&error) => {}
            Err(error) => break Err(error),
        }
    };
    let seconds = begun.elapsed().as_secs_f64() - counted_from;
    control.set_read_timeout(Some(PATIENCE))?;
    ended?;
    let both = before.into_iter().zip(looked(ways, counts));
    Ok((both.map(|(then, now)| [then, now]).collect(), seconds))
}

fn looked(ways: &[Way], counts: &[Counts]) -> Vec<Seen> {
    let look = |(way, own): (&Way, &Counts)| {
        let received = *own.received.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, packets) = (
            own.bytes.load(Ordering::Relaxed),
            own.packets.load(Ordering::Relaxed),
        );
        // Of both only one counts: what is sent, or what came.
        Seen {
            bytes: bytes + received.bytes,
            packets: packets + received.packets,
            lost: received.lost,
            jitter_s: received.jitter_s,
            retransmissions: match way {
                Way::Tcp(stream) => {
                    TcpInfo::of(stream.as_fd()).map_or(0, |info| info.retransmissions)
                }
                Way::Udp(_) => 0,
            },
        }
    };
    ways.iter().zip(counts).map(look).collect()
}

/// Names and numbers of streams as iperf3 has them: the first is 1, the second 3, the third 4.
fn results(counts: &[Counts], seen: &[[Seen; 2]], seconds: f64, cpu: [f64; 2]) -> Value {
    let sends = counts.iter().any(|one| one.sends);
    let streams: Vec<Value> = counts
        .iter()
        .zip(seen)
        .enumerate()
        .map(|(place, (own, [before, seen]))| {
            let retransmissions = seen.retransmissions.saturating_sub(before.retransmissions);
            json!({
                "id": if place == 0 { 1 } else { place + 2 },
                "bytes": seen.bytes - before.bytes,
                "retransmits": if own.sends { i64::from(retransmissions) } else { -1 },
                "jitter": seen.jitter_s,
                "errors": seen.lost,
                "packets": seen.packets,
                "omitted_errors": before.lost,
                "omitted_packets": before.packets,
                "start_time": 0,
                "end_time": seconds,
            })
        })
        .collect();
    let [user, system] = cpu.map(|spent_s| 100.0 * spent_s / seconds.max(1e-9));
    json!({
        "cpu_util_total": user + system,
        "cpu_util_user": user,
        "cpu_util_system": system,
        "sender_has_retransmits": if sends { 1 } else { -1 },
        "streams": streams,
    })
}

/// CPU time of this program in s, in itself and in the kernel.
fn cpu_s() -> [f64; 2] {
    // SAFETY: plain numbers, for which all zero is a value, and which the kernel fills; it cannot fail for this process.
    let usage: libc::rusage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6)
}

/// Sends or receives on a connection until it is over.
fn carry(mut stream: &TcpStream, own: &Counts, wanted: &Parameters, over: &AtomicBool) {
    let mut block = vec![0; wanted.len];
    let mut pace = Paced::new(wanted.bandwidth);
    while !over.load(Ordering::Relaxed) {
        let done = if own.sends {
            pace.wait(over);
            stream.write(&block)
        } else {
            stream.read(&mut block)
        };
        match done {
            Ok(0) => return,
            Ok(count) => {
                pace.sent(count);
                own.bytes.fetch_add(count as u64, Ordering::Relaxed);
            }
            Err(error) if again(&error) => {}
            Err(_) => return,
        }
    }
}

/// Keeps to a rate, if there is one.
struct Paced {
    pace: Option<Pace>,
    begun: Instant,
}

impl Paced {
    fn new(bits_per_second: u64) -> Self {
        Paced {
            pace: (bits_per_second > 0).then(|| Pace::new((bits_per_second / 8).max(1))),
            begun: Instant::now(),
        }
    }

    /// Until something is due.
    fn wait(&mut self, over: &AtomicBool) {
        let Some(pace) = &mut self.pace else {
            return;
        };
        loop {
            let wait = Duration::from_nanos(pace.wait_ns(self.begun.elapsed().as_nanos() as u64));
            if wait.is_zero() || over.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(wait.clamp(PAUSE, LOOK));
        }
    }

    fn sent(&mut self, bytes: usize) {
        if let Some(pace) = &mut self.pace {
            pace.sent(bytes as u64);
        }
    }
}

/// Clients compare times with their own clock's.
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

fn send_datagrams(
    socket: &UdpSocket,
    to: SocketAddr,
    own: &Counts,
    wanted: &Parameters,
    over: &AtomicBool,
) {
    let mut datagram = vec![0; wanted.len];
    let mut pace = Paced::new(wanted.bandwidth);
    let mut number = 0;
    while !over.load(Ordering::Relaxed) {
        pace.wait(over);
        number += 1;
        write_head(&mut datagram, since_1970(), number, wanted.number_bytes());
        // What the kernel refuses is not sent, and lost for the client.
        let sent = socket.send_to(&datagram, to).unwrap_or(0);
        pace.sent(wanted.len);
        own.bytes.fetch_add(sent as u64, Ordering::Relaxed);
        own.packets.store(number, Ordering::Relaxed);
    }
}

fn receive_datagrams(
    socket: &UdpSocket,
    ways: &[Way],
    counts: &[Counts],
    wanted: &Parameters,
    over: &AtomicBool,
) {
    let mut room = vec![0; 1 << 16];
    while !over.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut room) else {
            continue; // nothing came in a while, or an error of a datagram that was sent
        };
        let is_it = |way: &Way| matches!(way, Way::Udp(at) if *at == from);
        if let Some(own) = ways.iter().position(is_it).map(|place| &counts[place])
            && !own.sends
        {
            let mut received = own.received.lock().unwrap_or_else(PoisonError::into_inner);
            received.take(&room[..length], since_1970(), wanted.number_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::two_ended::sockets::listening;

    #[test]
    fn a_client_of_ipv4_is_answered_with_its_mark_at_a_socket_of_both_versions() {
        let Ok(listener) = listening((Ipv6Addr::UNSPECIFIED, 0).into()) else {
            return; // a kernel without IPv6
        };
        let port = listener.local_addr().unwrap().port();
        let _client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let (answers, _) = listener.accept().unwrap();
        let socket = SockRef::from(&answers);
        mark(&socket, 0x20).unwrap();
        assert_eq!(socket.tos_v4().unwrap(), 0x20);
    }
}
