//! What a client of iperf3 asks for, in JSON, and its limits.

use serde::Deserialize;

const MOST_STREAMS: usize = 128;
const MOST_BLOCK_BYTES: usize = 1 << 20;
const MOST_DATAGRAM_BYTES: usize = 65_507;
/// Room for the head of a datagram.
const LEAST_DATAGRAM_BYTES: usize = 16;
const MOST_S: f64 = 3600.0;
const MOST_OMITTED_S: f64 = 60.0;

/// Names are the client's.
#[derive(Clone, Debug, Deserialize)]
pub struct Parameters {
    #[serde(default)]
    pub udp: bool,
    #[serde(default)]
    sctp: bool,
    /// Seconds; 0: until the client has had enough.
    #[serde(default)]
    time: f64,
    /// Seconds at the beginning that do not count.
    #[serde(default)]
    pub omit: f64,
    #[serde(default = "one")]
    pub parallel: usize,
    /// This end sends.
    #[serde(default)]
    pub reverse: bool,
    #[serde(default)]
    bidirectional: bool,
    pub len: usize,
    /// bit/s of a stream; 0: as fast as possible.
    #[serde(default)]
    pub bandwidth: u64,
    #[serde(default)]
    pub nodelay: bool,
    /// Bytes of a socket's buffer.
    pub window: Option<usize>,
    #[serde(rename = "MSS")]
    pub mss: Option<u32>,
    #[serde(rename = "TOS")]
    pub tos: Option<u32>,
    pub congestion: Option<String>,
    #[serde(default)]
    udp_counters_64bit: u32,
}

fn one() -> usize {
    1
}

impl Parameters {
    /// `None` for what this end does not do.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let found: Parameters = serde_json::from_slice(text).ok()?;
        let most = if found.udp {
            MOST_DATAGRAM_BYTES
        } else {
            MOST_BLOCK_BYTES
        };
        let least = if found.udp { LEAST_DATAGRAM_BYTES } else { 1 };
        let possible = (least..=most).contains(&found.len)
            && (1..=MOST_STREAMS).contains(&found.parallel)
            && (0.0..=MOST_S).contains(&found.time)
            && (0.0..=MOST_OMITTED_S).contains(&found.omit)
            && !found.sctp;
        possible.then_some(found)
    }

    /// Whether this end sends, for each stream in the order in which the client opens them.
    pub fn senders(&self) -> Vec<bool> {
        let own = vec![self.reverse; self.parallel];
        if self.bidirectional {
            [vec![false; self.parallel], vec![true; self.parallel]].concat()
        } else {
            own
        }
    }

    /// How long a test may last at most, in s.
    pub fn most_s(&self) -> f64 {
        self.omit + if self.time > 0.0 { self.time } else { MOST_S }
    }

    /// Bytes of the number of a datagram.
    pub fn number_bytes(&self) -> usize {
        if self.udp_counters_64bit == 1 { 8 } else { 4 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn streams_are_in_the_order_in_which_a_client_opens_them() {
        let of = |more: &str| {
            let text =
                format!(r#"{{"tcp":true,"omit":0,"time":10,"parallel":2,"len":131072{more}}}"#);
            Parameters::parse(text.as_bytes())
        };
        assert_eq!(of("").unwrap().senders(), [false, false]);
        assert_eq!(of(r#","reverse":true"#).unwrap().senders(), [true, true]);
        let both = of(r#","bidirectional":true"#).unwrap();
        assert_eq!(both.senders(), [false, false, true, true]);
        assert!(of(r#","time":99999"#).is_none());
        for wrong in [r#","sctp":true"#, r#","omit":61"#, r#","window":-1"#] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parameters_or_none(text in r#"[{}\[\]":,a-z0-9. ]{0,80}"#) {
            let _ = Parameters::parse(text.as_bytes());
        }
    }
}
