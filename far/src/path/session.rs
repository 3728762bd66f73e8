//! `keisoku-far path`: the other end of a two-ended measurement of a path; one client at a time.
//!
//! It sends probes only to the host that asks for them over TCP, to the port that this host greeted from, and no more than it was
//! asked to, within the limits of `probe`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::noise::stamp_noise;
use super::probe::{TOKEN_BYTES, Token, Train, bytes_of};
use super::probe_end::ProbeEnd;
use crate::running::plain;
use crate::two_ended::clients::Sessions;
use crate::two_ended::control::{Control, Message, Problem, field};
use crate::two_ended::peer::Peer;

const IDLE: Duration = Duration::from_secs(60);
const MOST_WAIT_S: f64 = 30.0;
const MOST_GAP_S: f64 = 10.0;
const MOST_COLLECTED: f64 = (1u32 << 20) as f64;
/// Of all trains that are asked for at once.
const MOST_BYTES: usize = 4_000_000;

pub struct PathSessions {
    /// UDP port of the probes; 0: any free one, another for each client.
    pub udp_port: u16,
}

impl Sessions for PathSessions {
    const GREETING: &'static [u8] = b"keisoku-path 1\n";

    fn answer(
        &self,
        control: &mut Control,
        local: Peer,
        host: Peer,
        stopped: &AtomicBool,
    ) -> Result<(), Problem> {
        let mut token: Token = [0; TOKEN_BYTES];
        let opened = getrandom::fill(&mut token)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                ProbeEnd::open(local.at(self.udp_port), token).map_err(|error| error.to_string())
            });
        let mut end = match opened {
            Ok(end) => end,
            Err(error) => {
                let at = local.at(self.udp_port);
                let sentence = format!(
                    "a udp socket at {at} cannot be opened: {error}; give its 'keisoku path serve' another --udp-port"
                );
                return control.send(&json!({"error": plain(&sentence)}));
            }
        };
        let named: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        control.send(&json!({"token": named, "udp_port": end.port(), "stamps": end.stamps()}))?;
        let mut peer = None;
        while !stopped.load(Ordering::Relaxed) {
            let Ok(message) = control.receive(IDLE) else {
                break; // it hung up, or is idle for too long
            };
            if let Err(problem) = carry_out(&message, control, &mut end, host, &mut peer)
                && !control.tell(problem)
            {
                break;
            }
        }
        Ok(())
    }
}

fn carry_out(
    message: &Message,
    control: &mut Control,
    end: &mut ProbeEnd,
    host: Peer,
    peer: &mut Option<SocketAddr>,
) -> Result<(), Problem> {
    let what: String = field(message, "do")?;
    let failed = |error: std::io::Error| {
        Problem::Refused(format!("probes cannot be received: {error}; measure again"))
    };
    match (what.as_str(), *peer) {
        ("hello", _) => {
            *peer = end
                .await_hello(host, seconds(message, "wait_s", MOST_WAIT_S)?)
                .map_err(failed)?;
            control.send(&json!({"heard": peer.is_some()}))
        }
        ("noise", _) => control.send(&json!({"noise_ns": stamp_noise(end.of_ipv6())})),
        ("watch" | "collect", _) => {
            let wait = seconds(message, "wait_s", MOST_WAIT_S)?;
            let packets = bounded(message, "packets", MOST_COLLECTED)? as usize;
            if what == "watch" {
                control.send(&json!({"ready": true}))?;
            }
            let rows = end.collect(packets, wait).map_err(failed)?;
            let facts = json!({"rows": rows.len(), "dropped": end.dropped(), "clock_steps": end.clock_steps()});
            control.send_with(&facts, &bytes_of(&rows))
        }
        ("send", Some(to)) => {
            let trains = trains_of(message, end.of_ipv6())?;
            let rows = end.send(to, &trains, bounded(message, "gap_s", MOST_GAP_S)?);
            control.send_with(&json!({"rows": rows.len()}), &bytes_of(&rows))
        }
        _ => Err(Problem::NotUnderstood(what)),
    }
}

fn bounded(message: &Message, name: &str, most: f64) -> Result<f64, Problem> {
    let value: f64 = field(message, name)?;
    Ok(value.clamp(0.0, most))
}

fn seconds(message: &Message, name: &str, most_s: f64) -> Result<Duration, Problem> {
    bounded(message, name, most_s).map(Duration::from_secs_f64)
}

fn trains_of(message: &Message, of_ipv6: bool) -> Result<Vec<Train>, Problem> {
    let asked: Vec<(u32, usize, usize)> = field(message, "trains")?;
    let trains: Vec<Train> = asked
        .into_iter()
        .map(|(number, ip_bytes, count)| Train {
            number,
            ip_bytes,
            count,
        })
        .collect();
    if !trains.iter().all(|train| train.is_possible(of_ipv6)) {
        return Err(Problem::NotUnderstood(
            "a train is too long, or its packets".into(),
        ));
    }
    if trains
        .iter()
        .map(|train| train.ip_bytes * train.count)
        .sum::<usize>()
        > MOST_BYTES
    {
        return Err(Problem::NotUnderstood("too many bytes".into()));
    }
    Ok(trains)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn trains(asked: Value) -> Result<Vec<Train>, Problem> {
        let message = json!({"trains": asked});
        trains_of(message.as_object().unwrap(), false)
    }

    #[test]
    fn what_may_be_sent_is_limited() {
        assert_eq!(
            trains(json!([[1, 1500, 2], [2, 60, 4096]])).unwrap().len(),
            2
        );
        for asked in [
            json!([[1, 1500, 0]]),
            json!([[1, 1500, 4097]]),
            json!([[1, 10, 1]]),
            json!([[1, 70_000, 1]]),
            json!([[1, 1500, 2000], [2, 1500, 2000]]),
            json!([[-1, 1500, 1]]),
            json!("all"),
        ] {
            assert!(trains(asked.clone()).is_err(), "{asked}");
        }
    }

    #[test]
    fn times_are_within_their_limits() {
        let message = json!({"wait_s": 1e300, "gap_s": -5, "none": null});
        let message = message.as_object().unwrap();
        assert_eq!(
            seconds(message, "wait_s", 30.0).unwrap(),
            Duration::from_secs(30)
        );
        assert_eq!(bounded(message, "gap_s", 10.0).unwrap(), 0.0);
        assert!(bounded(message, "none", 1.0).is_err());
    }
}
