//! `HttpLoad`: HTTP/1.1 requests from one client host, as a closed or an open loop, and the latency of each.
//!
//! Closed loop: a fixed number of connections, each of which sends its next request when the previous one was
//! answered. Open loop: requests fall due at times that do not depend on responses, and latency is counted from the
//! time at which a request was due, so that the stall of a server shows in every request that it delayed (no
//! coordinated omission). This module counts and measures times; the analysis computes percentiles.

pub mod arrivals;
mod connection;
mod load_counts;
pub mod python;
pub mod response;
mod worker;

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};

use serde::Deserialize;

pub use load_counts::LoadCounts;

use crate::netns;

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
    fn check(&self) -> Result<(), &'static str> {
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

/// What all threads of a load share.
struct Shared {
    plan: Plan,
    stop: AtomicBool,
    /// Requests begun.
    begun: AtomicU64,
}

pub struct HttpLoad {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<LoadCounts>>>,
}

impl HttpLoad {
    /// Starts the threads, which wait for the plan's beginning.
    pub fn new(plan: Plan) -> io::Result<Self> {
        plan.check()
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem))?;
        let shared = Arc::new(Shared {
            plan,
            stop: AtomicBool::new(false),
            begun: AtomicU64::new(0),
        });
        let mut load = HttpLoad {
            shared,
            threads: Vec::new(),
        };
        for number in 0..load.shared.plan.threads {
            let shared = load.shared.clone();
            let work = move || {
                netns::enter(shared.plan.namespace.as_deref())?;
                worker::run(&shared, number)
            };
            let name = format!("keisoku-http-{number}");
            // Threads that were started end when `load` is dropped.
            load.threads
                .push(thread::Builder::new().name(name).spawn(work)?);
        }
        Ok(load)
    }

    /// Waits for the end and returns what all threads saw.
    pub fn finish(mut self) -> io::Result<LoadCounts> {
        let mut all = LoadCounts::default();
        let mut failure = None;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(counts)) => all.add(&counts),
                Ok(Err(error)) => failure = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        failure.map_or(Ok(all), Err)
    }
}

/// Ends a load early.
pub struct Stop(Arc<Shared>);

impl HttpLoad {
    pub fn stop(&self) -> Stop {
        Stop(self.shared.clone())
    }
}

impl Stop {
    pub fn now(&self) {
        self.0
            .stop
            .store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Drop for HttpLoad {
    fn drop(&mut self) {
        self.stop().now();
        for thread in self.threads.drain(..) {
            // The panic of a thread has been printed already; its error says no more.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    use super::*;

    const STALL: Duration = Duration::from_millis(400);

    /// Answers one connection after another, the first of them only after a stall.
    fn stalling_server() -> SocketAddrV4 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            unreachable!()
        };
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let mut stream = stream;
                let mut request = [0; 1024];
                let _ = stream.read(&mut request);
                if number == 0 {
                    thread::sleep(STALL);
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        address
    }

    fn plan(server: SocketAddrV4, per_second: Option<f64>) -> Plan {
        Plan {
            namespace: None,
            server,
            paths: vec![("/".into(), 1.0)],
            host: "test".into(),
            headers: Vec::new(),
            connections: 1,
            per_second,
            poisson: false,
            keep_alive: false,
            requests: Some(60),
            seconds: None,
            timeout_s: 60.0,
            begin_ns: 0,
            threads: 1,
            seed: 1,
            slice_ms: 100,
        }
    }

    fn slower_than(counts: &LoadCounts, least: Duration) -> u64 {
        let buckets = counts.latency.buckets();
        let long = |at: &usize| buckets.lower_ns[*at] >= least.as_nanos() as i64;
        (0..buckets.counts.len())
            .filter(long)
            .map(|at| buckets.counts[at])
            .sum()
    }

    #[test]
    fn an_open_loop_charges_a_stall_to_all_who_came_while_it_lasted() {
        // 100 requests/s on one connection: those of the first 200 ms wait for 200 ms or more, however fast the host is.
        let counts = HttpLoad::new(plan(stalling_server(), Some(100.0)))
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(counts.completed, 60);
        assert!(slower_than(&counts, STALL / 2) >= 19);
        assert_eq!(counts.unsent, 0);
    }

    #[test]
    fn a_closed_loop_asks_less_while_a_server_stalls() {
        let counts = HttpLoad::new(plan(stalling_server(), None))
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(counts.completed, 60);
        assert!(slower_than(&counts, STALL * 9 / 10) >= 1);
        assert_eq!(counts.failures.broken + counts.failures.timed_out, 0);
    }

    #[test]
    fn a_plan_that_cannot_be_is_refused() {
        let server = "127.0.0.1:9".parse().unwrap();
        let endless = Plan {
            requests: None,
            ..plan(server, None)
        };
        let fileless = Plan {
            paths: Vec::new(),
            ..plan(server, None)
        };
        for wrong in [endless, fileless, plan(server, Some(-1.0))] {
            assert!(HttpLoad::new(wrong).is_err());
        }
    }
}
