//! `keisoku-far outage`: the other end of measurements of interruptions, for whoever asks for a session over TCP.
//!
//! A client needs a connection only to be let in, and to ask what was received; its packets go their own way. Several are
//! served at once, as each asks for a moment only.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keisoku::outage::far::{Far, Wanted};
use keisoku::outage::local_addresses::local_addresses;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Open, Service};
use crate::options::Options;
use crate::two_ended::clients::{Server, Sessions};
use crate::two_ended::control::{Control, Message, Problem};
use crate::two_ended::peer::Peer;

/// Packets a second of all clients together.
const MOST_PER_SECOND: u64 = 200_000;
const IDLE: Duration = Duration::from_secs(5);

pub const SERVICE: Service = Service {
    name: "outage",
    summary: "answers 'keisoku outage udp' and 'outage tcp' of other hosts",
    port: 8622,
    options: &[],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let address = options.place()?.address(options.port()?)?;
    Ok(Box::new(Server::open(address, None, OutageSessions::at)?))
}

/// What a client asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request {
    Open { wanted: Wanted },
    Known { token: u64 },
    Report { token: u64 },
    Close { token: u64 },
}

struct OutageSessions {
    far: Far,
}

impl OutageSessions {
    /// Packets have the port of the listener, and connections of flows the next one.
    fn at(listener: SocketAddr) -> Result<Self, String> {
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
        Ok(OutageSessions { far })
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
            Request::Known { token } => json!({"known": self.far.knows(token, host.ip)}),
            Request::Report { token } => json!({"record": self.far.record(token)}),
            Request::Close { token } => {
                self.far.close(token);
                json!({"closed": true})
            }
        })
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

    #[test]
    fn clients_are_let_in_side_by_side_and_told_what_came_and_nonsense_is_refused_in_a_sentence() {
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let server = Server::open(at, None, OutageSessions::at).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve());
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
            server.stop();
        });
    }
}
