//! `Service`: lets clients in over TCP, and tells them afterwards what was received. A connection begins with a greeting of both
//! ends; then each message is a JSON object with two lengths before it, as `keisoku/ground/host/two_ended/control.py` has it.
//! A client needs a connection only to ask; its packets go their own way (`far`).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::kernel_clock::monotonic_ns;
use crate::stamped_socket::address::from_kernel;

use super::far::{Far, Wanted};
use super::join::let_in;

const GREETING: &[u8] = b"keisoku-outage 1\n";
const IDLE: Duration = Duration::from_secs(5);
/// A message of a client is shorter.
const MOST_BYTES: usize = 4096;
const MOST_CLIENTS: usize = 32;
/// How soon it ends.
const LOOK_MS: i32 = 100;

/// What a client asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request {
    Open {
        wanted: Wanted,
    },
    /// This end asks the far end at `remote` to be let in, and sends to it: one pair of a mesh.
    Join {
        wanted: Wanted,
        remote: SocketAddr,
    },
    Look {
        tokens: Vec<u64>,
    },
    Known {
        token: u64,
    },
    Report {
        token: u64,
    },
    Close {
        token: u64,
    },
}

pub struct Service {
    listener: TcpListener,
    far: Far,
    port: u16,
    over: AtomicBool,
    clients: AtomicUsize,
    /// Whether clients may tell it to send to other far ends.
    mesh: bool,
}

impl Service {
    /// Listens at an address of this host; its packets have the same port, and connections of flows the next one.
    pub fn open(address: SocketAddr, most_per_second: u64, mesh: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let port = listener.local_addr()?.port();
        let far = Far::begin(None, port, most_per_second)?;
        // Clients from before a restart are told that they are not known, wherever they reach this host.
        for local in addresses(address.ip())? {
            if let Err(error) = far.listen(local)
                && local == address.ip()
            {
                return Err(error);
            }
        }
        Ok(Service {
            listener,
            far,
            port,
            over: AtomicBool::new(false),
            clients: AtomicUsize::new(0),
            mesh,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers clients, each on a thread of its own, until `stop`.
    pub fn serve(&self) {
        thread::scope(|scope| {
            while !self.over.load(Ordering::Relaxed) {
                if !readable(&self.listener) {
                    continue;
                }
                let Ok((stream, from)) = self.listener.accept() else {
                    continue;
                };
                if self.clients.fetch_add(1, Ordering::Relaxed) < MOST_CLIENTS {
                    scope.spawn(move || {
                        // What went wrong, the client sees as well.
                        let _ = self.attend(stream, from.ip().to_canonical());
                        self.clients.fetch_sub(1, Ordering::Relaxed);
                    });
                } else {
                    self.clients.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Ends `serve` soon.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn attend(&self, mut stream: TcpStream, peer: IpAddr) -> io::Result<()> {
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        stream.set_nodelay(true)?;
        stream.write_all(GREETING)?;
        let mut greeting = vec![0; GREETING.len()];
        stream.read_exact(&mut greeting)?;
        if greeting != GREETING {
            return Ok(());
        }
        let local = stream.local_addr()?.ip().to_canonical();
        loop {
            let mut lengths = [0; 8];
            stream.read_exact(&mut lengths)?;
            let length =
                u32::from_be_bytes([lengths[0], lengths[1], lengths[2], lengths[3]]) as usize;
            if length > MOST_BYTES || lengths[4..] != [0; 4] {
                return Ok(());
            }
            let mut text = vec![0; length];
            stream.read_exact(&mut text)?;
            let answer = match serde_json::from_slice(&text) {
                Ok(request) => self.answer(request, peer, local),
                Err(error) => {
                    let said =
                        format!("does not understand ({error}); use the same keisoku at both ends");
                    json!({ "error": said })
                }
            };
            let text = answer.to_string().into_bytes();
            stream.write_all(&(text.len() as u32).to_be_bytes())?;
            stream.write_all(&[0; 4])?;
            stream.write_all(&text)?;
        }
    }

    fn answer(&self, request: Request, peer: IpAddr, local: IpAddr) -> Value {
        match request {
            Request::Open { wanted } => match self.far.open(&wanted, peer, local) {
                Ok(opened) => json!(opened),
                Err(refusal) => json!({ "error": refusal }),
            },
            Request::Join { .. } if !self.mesh => {
                json!({ "error": "sends to no other far end; start it with --mesh" })
            }
            Request::Join { wanted, remote } => match self.join(&wanted, remote) {
                Ok(token) => json!({ "token": token }),
                Err(refusal) => json!({ "error": refusal }),
            },
            Request::Look { tokens } => {
                let looks: Vec<_> = tokens.iter().map(|token| self.far.look(*token)).collect();
                json!({ "now_ns": monotonic_ns(), "looks": looks })
            }
            Request::Known { token } => json!({ "known": self.far.record(token).is_some() }),
            Request::Report { token } => json!({ "record": self.far.record(token) }),
            Request::Close { token } => {
                self.far.close(token);
                json!({ "closed": true })
            }
        }
    }
}

impl Service {
    fn join(&self, wanted: &Wanted, remote: SocketAddr) -> Result<u64, String> {
        let (opened, local) = let_in(wanted, remote)?;
        let to = SocketAddr::new(remote.ip(), opened.port);
        self.far.join(wanted, opened.token, to, local)?;
        Ok(opened.token)
    }
}

/// Those of this host at which it listens: all that clients may use, if it is at any.
fn addresses(at: IpAddr) -> io::Result<Vec<IpAddr>> {
    if !at.is_unspecified() {
        return Ok(vec![at]);
    }
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is written to a place that lives across the call, and freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut next) = (Vec::new(), first);
    while !next.is_null() {
        // SAFETY: an entry of the list, which is freed only below.
        let entry = unsafe { &*next };
        if !entry.ifa_addr.is_null() {
            // SAFETY: an address of the family that it names, or of one that is passed over.
            found.extend(unsafe { from_kernel(entry.ifa_addr) }.map(|address| address.ip()));
        }
        next = entry.ifa_next;
    }
    // SAFETY: as getifaddrs gave it.
    unsafe { libc::freeifaddrs(first) };
    // One that is valid on its link only would need its interface.
    found.retain(|address| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(own) => at.is_ipv6() && !own.is_unicast_link_local(),
    });
    Ok(found)
}

/// Whether somebody wants to connect, within a moment.
fn readable(listener: &TcpListener) -> bool {
    let mut wanted = libc::pollfd {
        fd: listener.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the kernel reads and writes the one structure, which lives across the call.
    unsafe { libc::poll(&raw mut wanted, 1, LOOK_MS) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn asked(stream: &mut TcpStream, message: &Value) -> Value {
        let text = message.to_string().into_bytes();
        stream
            .write_all(&(text.len() as u32).to_be_bytes())
            .unwrap();
        stream.write_all(&[0; 4]).unwrap();
        stream.write_all(&text).unwrap();
        let mut lengths = [0; 8];
        stream.read_exact(&mut lengths).unwrap();
        let mut room = vec![0; u32::from_be_bytes(lengths[..4].try_into().unwrap()) as usize];
        stream.read_exact(&mut room).unwrap();
        serde_json::from_slice(&room).unwrap()
    }

    #[test]
    fn a_client_is_let_in_and_told_what_came_and_nonsense_is_refused_in_a_sentence() {
        let service = Service::open((Ipv4Addr::LOCALHOST, 0).into(), 1000, false).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| service.serve());
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, service.port())).unwrap();
            stream.write_all(GREETING).unwrap();
            let mut greeting = vec![0; GREETING.len()];
            stream.read_exact(&mut greeting).unwrap();
            assert_eq!(greeting, GREETING);
            let wanted = json!({"flows": 1, "interval_ns": 10_000_000, "quiet_ns": 1, "first": 0});
            let opened = asked(&mut stream, &json!({"do": "open", "wanted": wanted}));
            let token = opened["token"].as_u64().unwrap();
            assert_eq!(opened["port"], service.port());
            let known = asked(&mut stream, &json!({"do": "known", "token": token}));
            assert_eq!(known["known"], true);
            let report = asked(&mut stream, &json!({"do": "report", "token": token}));
            assert_eq!(report["record"]["flows"][0]["arrivals"]["received"], 0);
            asked(&mut stream, &json!({"do": "close", "token": token}));
            let report = asked(&mut stream, &json!({"do": "report", "token": token}));
            assert!(report["record"].is_null());
            let refused = asked(&mut stream, &json!({"do": "dance"}));
            assert!(
                refused["error"]
                    .as_str()
                    .unwrap()
                    .starts_with("does not understand")
            );
            drop(stream);
            service.stop();
        });
    }

    fn greeted(service: &Service) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, service.port())).unwrap();
        stream.write_all(GREETING).unwrap();
        stream.read_exact(&mut vec![0; GREETING.len()]).unwrap();
        stream
    }

    #[test]
    fn two_far_ends_send_to_each_other_where_one_may_be_told_to() {
        let open = |mesh| Service::open((Ipv4Addr::LOCALHOST, 0).into(), 1000, mesh).unwrap();
        let (one, other) = (open(true), open(false));
        thread::scope(|scope| {
            scope.spawn(|| one.serve());
            scope.spawn(|| other.serve());
            let mut streams = [greeted(&one), greeted(&other)];
            let wanted = json!({"flows": 1, "interval_ns": 5_000_000, "quiet_ns": 1_000_000_000, "first": 0});
            let join = |port| json!({"do": "join", "wanted": wanted, "remote": format!("127.0.0.1:{port}")});
            let token = asked(&mut streams[0], &join(other.port()))["token"]
                .as_u64()
                .unwrap();
            for stream in &mut streams {
                let look = json!({"do": "look", "tokens": [token, 1]});
                loop {
                    let looked = asked(stream, &look);
                    assert!(looked["looks"][1].is_null() && looked["now_ns"].is_u64());
                    if looked["looks"][0]["received"].as_u64().unwrap() >= 20 {
                        break;
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                let report = asked(stream, &json!({"do": "report", "token": token}));
                let arrivals = &report["record"]["flows"][0]["arrivals"];
                assert!(arrivals["missing"].as_array().unwrap().is_empty());
            }
            let refusals = [
                (
                    asked(&mut streams[0], &join(1)),
                    "does not reach 127.0.0.1:1",
                ),
                (
                    asked(&mut streams[1], &join(one.port())),
                    "sends to no other far end; start it with --mesh",
                ),
            ];
            for (refused, said) in refusals {
                assert!(
                    refused["error"].as_str().unwrap().starts_with(said),
                    "{refused}"
                );
            }
            drop(streams);
            one.stop();
            other.stop();
        });
    }
}
