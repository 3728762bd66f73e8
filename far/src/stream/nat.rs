//! The far end of a look at a NAT: remembers where datagrams came from, and sends there what it is asked to.
//!
//! It sends only to the host that it serves, and only to whoever knows the token, which that host got over TCP. Requests and
//! answers have one length (`keisoku/subjects/path/nat/message.py`), so it never sends more than twice what it was sent.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use keisoku::host::kernel_clock::monotonic_ns;
use serde_json::{Value, json};

use super::transactions::token;
use crate::running::spawn;
use crate::two_ended::control::Problem;
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::readable;

const MARK: &[u8; 8] = b"kei-nat\n";
pub const BYTES: usize = 52;
const MOST_BINDINGS: usize = 1024;
const TRIES: usize = 20;
const WAKE: Duration = Duration::from_millis(100);

const OPEN: u8 = 1;
const ECHO: u8 = 2;
const SEND: u8 = 4;
const SEND_TO: u8 = 5;

#[derive(Clone, Copy)]
enum Kind {
    Echo = 1,
    /// The one that a NAT may keep out.
    Copy = 2,
    /// Sent directly after the copy, to the binding that asked for it.
    Twin = 3,
}

/// What the near end asks.
struct Request {
    token: u64,
    binding: u32,
    number: u32,
    action: u8,
    far: u8,
    target: u32,
}

impl Request {
    fn parse(data: &[u8]) -> Option<Self> {
        let data: &[u8; BYTES] = data.try_into().ok()?;
        let word =
            |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        let action = data[24];
        let known = data.starts_with(MARK) && (OPEN..=SEND_TO).contains(&action);
        known.then(|| Request {
            token: u64::from(word(8)) << 32 | u64::from(word(12)),
            binding: word(16),
            number: word(20),
            action,
            far: data[25],
            target: word(26),
        })
    }
}

/// A datagram to be sent: number of the socket, destination, bytes.
type Outgoing = (usize, SocketAddr, [u8; BYTES]);

/// What is known of the bindings of one client. It does no I/O.
struct FarEnd {
    token: u64,
    host: Peer,
    sockets: usize,
    /// Where each binding's last datagram came from, and when.
    bindings: HashMap<u32, (SocketAddr, u64)>,
    /// Datagrams of this client that came from another address than its TCP, which are not answered.
    from_elsewhere: u64,
}

impl FarEnd {
    /// What a datagram that arrived at socket `at` leads to. What a full queue has no room for is the second one.
    fn heard(&mut self, now_ns: u64, at: usize, source: SocketAddr, data: &[u8]) -> Vec<Outgoing> {
        let Some(asked) = Request::parse(data).filter(|asked| asked.token == self.token) else {
            return Vec::new();
        };
        if Peer::of(source) != self.host {
            self.from_elsewhere += 1;
            return Vec::new();
        }
        let far = usize::from(asked.far);
        let to = match asked.action {
            OPEN | ECHO => {
                if !self.bindings.contains_key(&asked.binding)
                    && self.bindings.len() >= MOST_BINDINGS
                {
                    return Vec::new();
                }
                self.bindings.insert(asked.binding, (source, now_ns));
                if asked.action == OPEN {
                    return Vec::new();
                }
                return vec![(
                    at,
                    source,
                    self.about(asked.binding, asked.number, Kind::Echo, now_ns),
                )];
            }
            SEND if far < self.sockets => self.bindings.get(&asked.target).map(|(from, _)| *from),
            SEND_TO if far < self.sockets && (1..1 << 16).contains(&asked.target) => {
                Some(Peer::of(source).at(asked.target as u16))
            }
            _ => None,
        };
        let about = |kind| self.about(asked.target, asked.number, kind, now_ns);
        let twin = (at, source, about(Kind::Twin));
        match to {
            Some(to) => vec![(far, to, about(Kind::Copy)), twin],
            None => vec![twin],
        }
    }

    fn about(&self, binding: u32, number: u32, kind: Kind, now_ns: u64) -> [u8; BYTES] {
        let known = self.bindings.get(&binding);
        let idle_ns = known.map_or(0, |(_, heard_ns)| now_ns.saturating_sub(*heard_ns));
        let mut answer = [0; BYTES];
        answer[..8].copy_from_slice(MARK);
        answer[8..16].copy_from_slice(&self.token.to_be_bytes());
        answer[16..20].copy_from_slice(&binding.to_be_bytes());
        answer[20..24].copy_from_slice(&number.to_be_bytes());
        answer[24] = kind as u8;
        answer[26..34].copy_from_slice(&idle_ns.to_be_bytes());
        if let Some((from, _)) = known {
            let octets = match Peer::of(*from).ip {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            answer[25] = octets.len() as u8;
            answer[34..34 + octets.len()].copy_from_slice(&octets);
            answer[50..].copy_from_slice(&from.port().to_be_bytes());
        }
        answer
    }
}

/// A `FarEnd` on sockets of its own: two ports at an address, and the same two at the other address if there is one. It answers
/// until it is dropped.
pub struct NatResponder {
    ports: Vec<u16>,
    other: Option<IpAddr>,
    token: u64,
    from_elsewhere: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NatResponder {
    /// `other`: a second address of this host, which counts only if it is of the same family.
    pub fn open(local: Peer, other: Option<IpAddr>, host: Peer) -> Result<Self, Problem> {
        let other = other.filter(|one| one.is_ipv6() == local.ip.is_ipv6() && *one != local.ip);
        let mut addresses = vec![local.at(0)];
        addresses.extend(other.map(|one| SocketAddr::new(one, 0)));
        let sockets = at_same_ports(&addresses).map_err(|error| {
            let names: Vec<String> = addresses.iter().map(|one| one.ip().to_string()).collect();
            Problem::Refused(format!(
                "no UDP ports can be opened at {}: {error}; measure again",
                names.join(" and ")
            ))
        })?;
        let mut end = FarEnd {
            token: token()?,
            host,
            sockets: sockets.len(),
            bindings: HashMap::new(),
            from_elsewhere: 0,
        };
        let port_of = |one: &UdpSocket| one.local_addr().map_or(0, |address| address.port());
        let (ports, token) = (sockets.iter().take(2).map(port_of).collect(), end.token);
        let (from_elsewhere, stopped) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (count, over) = (from_elsewhere.clone(), stopped.clone());
        let thread = spawn("keisoku-nat", move || {
            serve(&mut end, &sockets, &count, &over)
        })
        .map_err(Problem::Refused)?;
        Ok(NatResponder {
            ports,
            other,
            token,
            from_elsewhere,
            stopped,
            thread: Some(thread),
        })
    }

    /// Where it answers: two ports, the other address or nothing, and the token.
    pub fn at(&self) -> Value {
        json!({"ports": self.ports, "other": self.other, "token": self.token})
    }

    /// What only this end knows.
    pub fn report(&self) -> Value {
        json!({"from_elsewhere": self.from_elsewhere.load(Ordering::Relaxed)})
    }
}

impl Drop for NatResponder {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed already.
            let _ = thread.join();
        }
    }
}

fn serve(
    end: &mut FarEnd,
    sockets: &[UdpSocket],
    from_elsewhere: &AtomicU64,
    stopped: &AtomicBool,
) {
    let descriptors: Vec<_> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    // One byte more shows what is too long.
    let mut room = [0; BYTES + 1];
    while !stopped.load(Ordering::Relaxed) {
        let Ok(ready) = readable(&descriptors, WAKE) else {
            return;
        };
        for at in ready {
            let Ok((count, source)) = sockets[at].recv_from(&mut room) else {
                continue;
            };
            for (number, to, answer) in end.heard(monotonic_ns(), at, source, &room[..count]) {
                // A copy that this host refuses to send has no twin, which would say that it was sent.
                if sockets[number].send_to(&answer, to).is_err() {
                    break;
                }
            }
            from_elsewhere.store(end.from_elsewhere, Ordering::Relaxed);
        }
    }
}

/// Two sockets at each address, with the same two ports at each.
fn at_same_ports(addresses: &[SocketAddr]) -> io::Result<Vec<UdpSocket>> {
    let attempt = || -> io::Result<Vec<UdpSocket>> {
        let mut made = vec![
            UdpSocket::bind(addresses[0])?,
            UdpSocket::bind(addresses[0])?,
        ];
        let ports = [made[0].local_addr()?.port(), made[1].local_addr()?.port()];
        for address in &addresses[1..] {
            for port in ports {
                made.push(UdpSocket::bind(SocketAddr::new(address.ip(), port))?);
            }
        }
        Ok(made)
    };
    let mut tries = (0..TRIES).map(|_| attempt());
    let last = tries.find(Result::is_ok);
    last.unwrap_or_else(attempt)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: u64 = 77;

    fn end() -> FarEnd {
        FarEnd {
            token: TOKEN,
            host: Peer::of("192.0.2.1:1".parse().unwrap()),
            sockets: 2,
            bindings: HashMap::new(),
            from_elsewhere: 0,
        }
    }

    fn request(action: u8, binding: u32, far: u8, target: u32) -> [u8; BYTES] {
        let mut data = [0; BYTES];
        data[..8].copy_from_slice(MARK);
        data[8..16].copy_from_slice(&TOKEN.to_be_bytes());
        data[16..20].copy_from_slice(&binding.to_be_bytes());
        data[24..26].copy_from_slice(&[action, far]);
        data[26..30].copy_from_slice(&target.to_be_bytes());
        data
    }

    fn from(port: u16) -> SocketAddr {
        SocketAddr::new("192.0.2.1".parse().unwrap(), port)
    }

    #[test]
    fn what_is_asked_of_a_binding_goes_to_where_it_came_from() {
        let mut end = end();
        assert!(
            end.heard(100, 0, from(1000), &request(OPEN, 1, 0, 0))
                .is_empty()
        );
        let sent = end.heard(150, 0, from(2000), &request(SEND, 2, 1, 1));
        assert_eq!(
            (sent[0].0, sent[0].1, sent[1].1),
            (1, from(1000), from(2000))
        );
        assert_eq!(sent[0].2[26..34], 50u64.to_be_bytes());
        assert_eq!(sent[0].2[50..], 1000u16.to_be_bytes());
        let to_port = end.heard(160, 0, from(2000), &request(SEND_TO, 2, 0, 9));
        assert_eq!(to_port[0].1, from(9));
        assert_eq!(
            end.heard(170, 0, from(2000), &request(SEND, 2, 9, 1)).len(),
            1
        );
    }

    #[test]
    fn others_and_bindings_beyond_the_most_are_not_answered() {
        let mut end = end();
        let other = "192.0.2.9:5".parse().unwrap();
        assert!(end.heard(1, 0, other, &request(ECHO, 1, 0, 0)).is_empty());
        assert_eq!(end.from_elsewhere, 1);
        for binding in 0..2 * MOST_BINDINGS as u32 {
            let answers = end.heard(1, 0, from(1), &request(ECHO, binding, 0, 0));
            assert_eq!(
                answers.len(),
                usize::from((binding as usize) < MOST_BINDINGS)
            );
        }
    }

    proptest! {
        #[test]
        fn any_datagram_leads_to_two_of_its_length_to_its_host_at_most(
            mut data in prop::collection::vec(any::<u8>(), 0..80), marked in any::<bool>(), port in 1u16..,
        ) {
            if marked && data.len() >= 16 {
                data[..8].copy_from_slice(MARK);
                data[8..16].copy_from_slice(&TOKEN.to_be_bytes());
                data.resize(BYTES, 0);
            }
            let sent = end().heard(1, 0, from(port), &data);
            prop_assert!(sent.len() <= 2 && sent.iter().all(|(at, to, _)| *at < 2 && to.ip() == from(1).ip()));
            prop_assert!(sent.is_empty() || data.len() == BYTES);
        }
    }
}
