//! One trial of streams or of transactions, as a client asks for it, and within which limits
//! (`keisoku/subjects/stream/trial.py` and `transaction/trial.py`).

use keisoku::transaction::{HEAD_BYTES, Kind};
use serde::Deserialize;

pub const MOST_STREAMS: usize = 256;
const MOST_MESSAGE_BYTES: usize = 1 << 26;
const MOST_STREAM_S: f64 = 600.0;
const MOST_SEGMENTS: usize = 64;
const MOST_TRANSACTION_BYTES: usize = 1 << 20;
/// Payload of the longest IPv4 datagram.
const MOST_DATAGRAM_BYTES: usize = 65_507;
const MOST_CONNECTIONS: u64 = 10_000;
const MOST_TRANSACTIONS_S: f64 = 60.0;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Tcp,
    Udp,
}

/// `Forward` is away from the tester.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Forward,
    Reverse,
    Both,
}

/// Every stream of a direction sends on a thread of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamTrial {
    pub protocol: Protocol,
    /// Of one call to send; for UDP the payload of a datagram.
    pub message_bytes: usize,
    /// In each direction that is used.
    #[serde(default = "one")]
    pub streams: usize,
    #[serde(default = "forward")]
    pub direction: Direction,
    /// Of sending.
    #[serde(default = "second")]
    pub duration_s: f64,
    #[serde(default = "warm_up")]
    pub warm_up_s: f64,
    /// Of each stream; `None`: as fast as possible.
    #[serde(default)]
    pub bps: Option<f64>,
    #[serde(default = "one")]
    pub segments: usize,
    #[serde(default)]
    pub congestion: Option<String>,
    #[serde(default)]
    pub buffer_bytes: Option<u32>,
    #[serde(default)]
    pub no_delay: bool,
    #[serde(default)]
    pub segment_bytes: Option<u32>,
}

fn one() -> usize {
    1
}

fn forward() -> Direction {
    Direction::Forward
}

fn second() -> f64 {
    1.0
}

fn warm_up() -> f64 {
    0.2
}

impl StreamTrial {
    /// The error names what is beyond its limits.
    pub fn check(&self) -> Result<(), &'static str> {
        let congestion = |name: &String| {
            let known = |letter: u8| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_'
            };
            (1..=15).contains(&name.len()) && name.bytes().all(known)
        };
        let checks = [
            (
                "message_bytes",
                (1..=MOST_MESSAGE_BYTES).contains(&self.message_bytes),
            ),
            ("streams", (1..=MOST_STREAMS).contains(&self.streams)),
            (
                "duration_s",
                self.duration_s > 0.0 && self.duration_s <= MOST_STREAM_S,
            ),
            ("warm_up_s", (0.0..=MOST_STREAM_S).contains(&self.warm_up_s)),
            (
                "bps",
                self.bps.is_none_or(|bps| bps > 0.0 && bps.is_finite()),
            ),
            ("segments", (1..=MOST_SEGMENTS).contains(&self.segments)),
            (
                "congestion",
                self.congestion.as_ref().is_none_or(congestion),
            ),
            (
                "buffer_bytes",
                self.buffer_bytes
                    .is_none_or(|bytes| (1024..=1 << 30).contains(&bytes)),
            ),
            (
                "segment_bytes",
                self.segment_bytes
                    .is_none_or(|bytes| (88..=65_495).contains(&bytes)),
            ),
        ];
        checks
            .iter()
            .find(|(_, holds)| !holds)
            .map_or(Ok(()), |(name, _)| Err(*name))
    }

    /// Of every stream, by its number: whether this end sends it.
    pub fn sent_here(&self) -> Vec<bool> {
        let of = |sends: bool| std::iter::repeat_n(sends, self.streams);
        match self.direction {
            Direction::Forward => of(false).collect(),
            Direction::Reverse => of(true).collect(),
            Direction::Both => of(false).chain(of(true)).collect(),
        }
    }
}

/// What one trial of transactions does; most of it concerns the client alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionTrial {
    pub kind: Kind,
    #[serde(default = "one_connection")]
    pub connections: u64,
    #[serde(default = "short")]
    pub request_bytes: usize,
    #[serde(default = "short")]
    pub response_bytes: usize,
    #[serde(default = "second")]
    duration_s: f64,
    #[serde(default = "second")]
    timeout_s: f64,
    #[serde(default)]
    rate_rps: Option<f64>,
    #[serde(default)]
    #[expect(dead_code, reason = "the client's alone")]
    poisson: bool,
    #[serde(default = "yes")]
    pub stamps: bool,
    #[serde(default)]
    #[expect(dead_code, reason = "the client's alone")]
    seed: i64,
}

fn one_connection() -> u64 {
    1
}

fn short() -> usize {
    64
}

fn yes() -> bool {
    true
}

impl TransactionTrial {
    /// The error names what is beyond its limits.
    pub fn check(&self) -> Result<(), &'static str> {
        let most = match self.kind {
            Kind::Udp => MOST_DATAGRAM_BYTES,
            _ => MOST_TRANSACTION_BYTES,
        };
        let time = |seconds: f64| seconds > 0.0 && seconds <= MOST_TRANSACTIONS_S;
        let checks = [
            (
                "connections",
                (1..=MOST_CONNECTIONS).contains(&self.connections),
            ),
            (
                "request_bytes",
                (HEAD_BYTES..=most).contains(&self.request_bytes),
            ),
            (
                "response_bytes",
                (HEAD_BYTES..=most).contains(&self.response_bytes),
            ),
            ("duration_s", time(self.duration_s)),
            ("timeout_s", time(self.timeout_s)),
            (
                "rate_rps",
                self.rate_rps.is_none_or(|rate| rate > 0.0 && rate <= 1e6),
            ),
        ];
        checks
            .iter()
            .find(|(_, holds)| !holds)
            .map_or(Ok(()), |(name, _)| Err(*name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn stream(more: Value) -> Result<(), String> {
        let mut all = json!({"protocol": "tcp", "message_bytes": 1000});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let trial: StreamTrial = from_value(all).map_err(|error| error.to_string())?;
        trial.check().map_err(str::to_owned)
    }

    #[test]
    fn a_trial_within_its_limits_is_taken_and_no_other() {
        assert_eq!(
            stream(json!({"streams": 256, "direction": "both", "congestion": "bbr2_x"})),
            Ok(())
        );
        for (name, value) in [
            ("message_bytes", json!(0)),
            ("message_bytes", json!((1 << 26) + 1)),
            ("streams", json!(257)),
            ("streams", json!(-1)),
            ("duration_s", json!(0)),
            ("duration_s", json!(600.1)),
            ("warm_up_s", json!(-0.1)),
            ("bps", json!(0)),
            ("segments", json!(65)),
            ("congestion", json!("no such")),
            ("congestion", json!("")),
            ("buffer_bytes", json!(1)),
            ("segment_bytes", json!(1)),
            ("more", json!(1)),
        ] {
            assert!(stream(json!({name: value})).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn streams_of_both_directions_are_numbered_forward_first() {
        let trial: StreamTrial = from_value(
            json!({"protocol": "udp", "message_bytes": 1, "streams": 2, "direction": "both"}),
        )
        .unwrap();
        assert_eq!(trial.sent_here(), [false, false, true, true]);
    }

    #[test]
    fn transactions_have_limits_too() {
        let of = |kind: &str, bytes: usize, connections: u64| {
            let value = json!({"kind": kind, "request_bytes": bytes, "connections": connections});
            from_value::<TransactionTrial>(value).unwrap().check()
        };
        assert_eq!(of("crr", 1 << 20, 10_000), Ok(()));
        assert_eq!(of("udp-rr", 1 << 20, 1), Err("request_bytes"));
        assert_eq!(of("rr", 15, 1), Err("request_bytes"));
        assert_eq!(of("rr", 64, 10_001), Err("connections"));
    }
}
