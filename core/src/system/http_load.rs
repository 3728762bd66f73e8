//! `HttpLoad`: HTTP/1.1 requests from one client host, as a closed or an open loop, and the latency of each.
//!
//! Closed loop: a fixed number of connections, each of which sends its next request when the previous one was
//! answered. Open loop: requests fall due at times that do not depend on responses, and latency is counted from the
//! time at which a request was due, so that the stall of a server shows in every request that it delayed (no
//! coordinated omission). This module counts and measures times; the analysis computes percentiles.

mod connection;
mod load_counts;
mod plan;
pub mod python;
pub mod response;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};

pub use load_counts::LoadCounts;
pub use plan::Plan;

use crate::host::netns;

use worker::Shared;

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
    use std::net::{SocketAddr, SocketAddrV4, TcpListener};
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
