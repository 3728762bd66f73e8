//! `Plan`: what a load requests, and how.

use std::net::SocketAddrV4;

use serde::Deserialize;

/// What is requested, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// File of the client's network namespace; `None`: this one.
    pub namespace: Option<String>,
    pub server: SocketAddrV4,
    /// Files, and the relative frequency with which each is requested at random.
    pub paths: Vec<(String, f64)>,
    /// Value of the `Host` header.
    pub host: String,
    /// More headers: names and values.
    pub headers: Vec<(String, String)>,
    pub connections: usize,
    /// Open loop: requests a second. `None`: closed loop.
    pub per_second: Option<f64>,
    /// Open loop: gaps between requests are exponential; else they are all the same.
    pub poisson: bool,
    /// Each connection carries more than one request.
    pub keep_alive: bool,
    /// The load ends after this many requests.
    pub requests: Option<u64>,
    /// The load ends after this time; requests that are then under way are abandoned.
    pub seconds: Option<f64>,
    /// A request without a response after this time has failed.
    pub timeout_s: f64,
    /// CLOCK_MONOTONIC at which it begins, so that several clients begin together.
    pub begin_ns: u64,
    pub threads: usize,
    pub seed: u64,
    /// Length of the time slices for which counts are kept.
    pub slice_ms: u64,
}

impl Plan {
    pub fn check(&self) -> Result<(), &'static str> {
        let weights: f64 = self.paths.iter().map(|(_, weight)| weight).sum();
        if weights <= 0.0 || weights.is_nan() || self.paths.iter().any(|(_, weight)| *weight < 0.0)
        {
            return Err("no path has a weight above zero");
        }
        if self.connections < 1 || self.threads < 1 || self.threads > self.connections {
            return Err("there is less than one connection for each thread");
        }
        if self.requests.is_none() && self.seconds.is_none() {
            return Err("a load ends after a number of requests or a time");
        }
        if self
            .per_second
            .is_some_and(|rate| !(rate > 0.0 && rate < 1e7))
        {
            return Err("a rate is above zero");
        }
        if !(self.timeout_s > 0.0 && self.timeout_s < 1e6) || self.slice_ms == 0 {
            return Err("a time is above zero");
        }
        Ok(())
    }
}
