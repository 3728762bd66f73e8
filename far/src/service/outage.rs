//! `keisoku-far outage`: the other end of measurements of interruptions, for whoever asks for a session over TCP.
//!
//! A client needs a connection only to be let in, and to ask what was received; its packets go their own way. Several are
//! served at once, as each asks for a moment only.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keisoku::host::kernel_clock::monotonic_ns;
use keisoku::outage::far::{Far, Opened, Wanted};
use keisoku::outage::local_addresses::local_addresses;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Open, Service};
use crate::options::{Form, Options};
use crate::two_ended::clients::{Server, Sessions};
use crate::two_ended::control::{Control, Message, Problem};
use crate::two_ended::peer::Peer;

/// Packets a second of all clients together.
const MOST_PER_SECOND: u64 = 200_000;
const IDLE: Duration = Duration::from_secs(5);

pub const SERVICE: Service = Service {
    name: "outage",
    summary: "answers 'keisoku outage' of other hosts, and is an end of a mesh",
    port: 8622,
    options: &[Form {
        name: "mesh",
        value: None,
        help: "also send to other far ends that let this one in, where 'keisoku outage mesh' asks for it",
    }],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let address = options.place()?.address(options.port()?)?;
    let mesh = options.has("mesh");
    let sessions = |listener| OutageSessions::at(listener, mesh);
    Ok(Box::new(Server::open(address, None, sessions)?))
}

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

struct OutageSessions {
    far: Far,
    /// Whether clients may tell it to send to other far ends.
    mesh: bool,
}

impl OutageSessions {
    /// Packets have the port of the listener, and connections of flows the next one.
    fn at(listener: SocketAddr, mesh: bool) -> Result<Self, String> {
        let failed = |error: std::io::Error| {
            format!("{listener} cannot be listened at: {error}; choose another address or --port")
        };
        let at = listener.ip();
        let far = Far::begin(None, listener.port(), MOST_PER_SECOND).map_err(failed)?;
        // Clients from before a restart are told that they are not known, wherever they reach this host.
        for local in local_addresses(at).map_err(failed)? {
            if let Err(error) = far.listen(local)
                && local == at
            {
                return Err(failed(error));
            }
        }
        Ok(OutageSessions { far, mesh })
    }

    fn carry_out(&self, message: Message, local: Peer, host: Peer) -> Result<Value, Problem> {
        let request = serde_json::from_value(Value::Object(message))
            .map_err(|error| Problem::NotUnderstood(error.to_string()))?;
        Ok(match request {
            Request::Open { wanted } => {
                let opened = self.far.open(&wanted, host.ip, local.ip);
                let mut answer = json!(opened.map_err(Problem::Refused)?);
                // Where the client seems to be, which it cannot see behind a NAT.
                answer["seen"] = json!(host.ip);
                answer
            }
            Request::Join { .. } if !self.mesh => {
                let refusal = "sends to no other far end; start it with --mesh";
                return Err(Problem::Refused(refusal.into()));
            }
            Request::Join { wanted, remote } => {
                let token = self.join(&wanted, remote).map_err(Problem::Refused)?;
                json!({"token": token})
            }
            Request::Look { tokens } => {
                let looks: Vec<_> = tokens.iter().map(|token| self.far.look(*token)).collect();
                json!({"now_ns": monotonic_ns(), "looks": looks})
            }
            Request::Known { token } => json!({"known": self.far.knows(token, host.ip)}),
            Request::Report { token } => json!({"record": self.far.record(token)}),
            Request::Close { token } => {
                self.far.close(token);
                json!({"closed": true})
            }
        })
    }

    fn join(&self, wanted: &Wanted, remote: SocketAddr) -> Result<u64, String> {
        let (opened, local) = let_in(wanted, remote)?;
        let to = SocketAddr::new(remote.ip(), opened.port);
        self.far.join(wanted, opened.token, to, local)?;
        Ok(opened.token)
    }
}

/// What the far end at `remote` opens for this one, which asks as a measuring end does, and this host's address on the way
/// there. The error is one sentence for whoever wants it.
fn let_in(wanted: &Wanted, remote: SocketAddr) -> Result<(Opened, IpAddr), String> {
    let (mut control, local) = TcpStream::connect_timeout(&remote, IDLE)
        .and_then(|stream| {
            let local = stream.local_addr()?.ip().to_canonical();
            Ok((Control::new(stream)?, local))
        })
        .map_err(|error| {
            format!("does not reach {remote}: {error}; start 'keisoku outage serve' there")
        })?;
    let answer = control
        .greet(OutageSessions::GREETING, IDLE)
        .and_then(|()| control.send(&json!({"do": "open", "wanted": wanted})))
        .and_then(|()| control.receive(IDLE));
    match answer {
        Ok(message) => serde_json::from_value(Value::Object(message))
            .map(|opened| (opened, local))
            .map_err(|_| format!("does not understand {remote}; use the same keisoku everywhere")),
        Err(Problem::Gone(why) | Problem::Refused(why) | Problem::NotUnderstood(why)) => {
            Err(format!("is refused by {remote}, which {why}"))
        }
    }
}

impl Sessions for OutageSessions {
    const GREETING: &'static [u8] = b"keisoku-outage 1\n";

    fn answer(
        &self,
        control: &mut Control,
        local: Peer,
        host: Peer,
        stopped: &AtomicBool,
    ) -> Result<(), Problem> {
        while !stopped.load(Ordering::Relaxed)
            && let Ok(message) = control.receive(IDLE)
        {
            match self.carry_out(message, local, host) {
                Ok(answer) => control.send(&answer)?,
                Err(problem) => {
                    if !control.tell(problem) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Open for Server<OutageSessions> {
    fn says(&self) -> String {
        format!("listening at TCP and UDP port {}", self.port())
    }

    fn serve(&self) {
        Server::serve(self);
    }

    fn stop(&self) {
        Server::stop(self);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};

    use super::*;

    fn asked(stream: &mut TcpStream, message: &Value) -> Value {
        let text = message.to_string().into_bytes();
        let lengths = [(text.len() as u32).to_be_bytes(), [0; 4]].concat();
        stream.write_all(&[lengths, text].concat()).unwrap();
        let mut lengths = [0; 8];
        stream.read_exact(&mut lengths).unwrap();
        let mut room = vec![0; u32::from_be_bytes(lengths[..4].try_into().unwrap()) as usize];
        stream.read_exact(&mut room).unwrap();
        serde_json::from_slice(&room).unwrap()
    }

    fn greeted(port: u16) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(OutageSessions::GREETING).unwrap();
        let mut greeting = vec![0; OutageSessions::GREETING.len()];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting, OutageSessions::GREETING);
        stream
    }

    fn opened(mesh: bool) -> Server<OutageSessions> {
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        Server::open(at, None, |listener| OutageSessions::at(listener, mesh)).unwrap()
    }

    /// Stops a server whatever becomes of the test, which would otherwise wait for it.
    struct Stopping<'a>(&'a Server<OutageSessions>);

    impl Drop for Stopping<'_> {
        fn drop(&mut self) {
            self.0.stop();
        }
    }

    #[test]
    fn clients_are_let_in_side_by_side_and_told_what_came_and_nonsense_is_refused_in_a_sentence() {
        let server = opened(false);
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve());
            let _stopping = Stopping(&server);
            let (mut one, mut other) = (greeted(server.port()), greeted(server.port()));
            let wanted = json!({"flows": 1, "interval_ns": 10_000_000, "quiet_ns": 1, "first": 0});
            let opened = asked(&mut one, &json!({"do": "open", "wanted": wanted}));
            let token = opened["token"].as_u64().unwrap();
            assert_eq!(
                (&opened["port"], &opened["seen"]),
                (&json!(server.port()), &json!("127.0.0.1"))
            );
            let known = asked(&mut other, &json!({"do": "known", "token": token}));
            assert_eq!(known["known"], true);
            let report = asked(&mut one, &json!({"do": "report", "token": token}));
            assert_eq!(report["record"]["flows"][0]["arrivals"]["received"], 0);
            asked(&mut one, &json!({"do": "close", "token": token}));
            let report = asked(&mut one, &json!({"do": "report", "token": token}));
            assert!(report["record"].is_null());
            let none = json!({"do": "open", "wanted": {"flows": 0, "interval_ns": 1, "quiet_ns": 1, "first": 0}});
            assert_eq!(asked(&mut one, &none)["error"], "serves 1 to 1000 flows");
            let refused = asked(&mut one, &json!({"do": "dance"}));
            let said = refused["error"].as_str().unwrap();
            assert!(said.starts_with("does not understand"), "{said}");
            drop((one, other));
        });
    }

    #[test]
    fn two_far_ends_send_to_each_other_where_one_may_be_told_to() {
        let (one, other) = (opened(true), opened(false));
        std::thread::scope(|scope| {
            scope.spawn(|| one.serve());
            scope.spawn(|| other.serve());
            let _stopping = (Stopping(&one), Stopping(&other));
            let mut streams = [greeted(one.port()), greeted(other.port())];
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
                    std::thread::sleep(Duration::from_millis(5));
                }
                let report = asked(stream, &json!({"do": "report", "token": token}));
                // A sender that a busy host holds up leaves numbers out, which are missing here.
                let arrivals = &report["record"]["flows"][0]["arrivals"];
                let number = |value: &Value| value.as_u64().unwrap();
                let missing = arrivals["missing"].as_array().unwrap().iter();
                let missing: u64 = missing.map(|run| number(&run["count"])).sum();
                assert_eq!(
                    number(&arrivals["received"]) + missing,
                    number(&arrivals["next"]) - number(&arrivals["first"]["number"]),
                    "{arrivals}"
                );
            }
            let mut nothing = join(other.port());
            nothing["wanted"]["flows"] = json!(0);
            let refusals = [
                (
                    asked(&mut streams[0], &join(1)),
                    "does not reach 127.0.0.1:1".to_string(),
                ),
                (
                    asked(&mut streams[0], &nothing),
                    format!(
                        "is refused by 127.0.0.1:{}, which serves 1 to 1000 flows",
                        other.port()
                    ),
                ),
                (
                    asked(&mut streams[1], &join(one.port())),
                    "sends to no other far end; start it with --mesh".into(),
                ),
            ];
            for (refused, said) in refusals {
                assert!(
                    refused["error"].as_str().unwrap().starts_with(&said),
                    "{refused}"
                );
            }
            drop(streams);
        });
    }
}
