//! Transactions: requests, each of which is answered, over TCP connections that stay, TCP connections of their own, or
//! UDP. A client keeps a row for each of them; a server answers and counts where its own host's time goes.
//!
//! Closed loop: a connection sends its next request when the previous one was answered. Open loop: transactions fall
//! due at times that do not depend on answers, and each row says when its own was due, so that what waits behind a slow
//! one is not left out. This module keeps times and never interprets them.

pub mod arrivals;
pub mod client;
#[cfg(feature = "python")]
pub mod python;
mod row;
pub mod server;
mod shares;
pub mod stamped;

use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;

pub use row::{Failure, Row};
pub use shares::Shares;

/// Bytes at the front of each request, which its response repeats: the trial's token and the request's number.
pub const HEAD_BYTES: usize = 16;
/// In the number of a request that is in no row, as it only shows that a connection is open.
const GREETING: u64 = 1 << 63;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Kind {
    /// TCP: all transactions of a connection one after the other.
    #[serde(rename = "rr")]
    Kept,
    /// TCP: a connection for each transaction, which the server closes after its response.
    #[serde(rename = "crr")]
    Own,
    #[serde(rename = "udp-rr")]
    Udp,
}

/// What a client does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub kind: Kind,
    pub server: SocketAddr,
    pub token: u64,
    pub connections: usize,
    pub request_bytes: usize,
    pub response_bytes: usize,
    /// For so long transactions are begun; those under way are then waited for.
    pub duration_ns: u64,
    /// A transaction that is not answered after this time has failed.
    pub timeout_ns: u64,
    /// Open loop: transactions a second. `None`: closed loop.
    pub per_second: Option<f64>,
    /// Open loop: gaps between due times are exponential; else they are all the same.
    pub poisson: bool,
    pub seed: u64,
    /// Whether the kernel is asked when packets leave and arrive.
    pub stamps: bool,
    /// No transaction is begun after so many.
    pub most_rows: usize,
}

impl Plan {
    fn check(&self) -> Result<(), &'static str> {
        check_sizes(self.kind, self.request_bytes, self.response_bytes)?;
        if self.connections < 1 || self.duration_ns < 1 || self.timeout_ns < 1 {
            return Err("connections and times are above zero");
        }
        match self.per_second {
            Some(rate) if !(rate > 0.0 && rate < 1e7) => Err("a rate is above zero"),
            _ => Ok(()),
        }
    }
}

/// What a server answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub kind: Kind,
    /// The only host that is answered.
    pub peer: IpAddr,
    pub token: u64,
    pub request_bytes: usize,
    pub response_bytes: usize,
    pub stamps: bool,
}

fn check_sizes(kind: Kind, request: usize, response: usize) -> Result<(), &'static str> {
    let most = match kind {
        Kind::Udp => crate::stream::udp::MOST_BYTES,
        _ => 1 << 26,
    };
    if request.min(response) < HEAD_BYTES || request.max(response) > most {
        return Err("a request or a response cannot be so long");
    }
    Ok(())
}

/// The front of a request, and of its response.
fn head(token: u64, number: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&token.to_be_bytes());
    head[8..].copy_from_slice(&number.to_be_bytes());
    head
}
