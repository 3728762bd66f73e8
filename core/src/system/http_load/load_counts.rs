//! `LoadCounts`: what a load saw, added up over its threads. It counts only.

use serde::Serialize;

use crate::latency::histogram::{Buckets, Histogram};

/// Why requests failed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Failures {
    pub refused: u64,
    /// The connection broke, or ended before the response did.
    pub broken: u64,
    pub timed_out: u64,
    /// A response that is not valid HTTP/1.1.
    pub malformed: u64,
    /// There was no free local address or port, or another failure of this host.
    pub local: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Slice {
    pub completed: u64,
    pub bytes: u64,
}

#[derive(Clone, Default)]
pub struct LoadCounts {
    pub completed: u64,
    /// Of those, responses with a status of 400 or more.
    pub refusals: u64,
    /// Bytes of response bodies.
    pub body_bytes: u64,
    /// Bytes of responses with their headers.
    pub bytes: u64,
    pub failures: Failures,
    /// Requests that were under way at the end.
    pub given_up: u64,
    /// Requests that were due by the end but never sent, because all connections were in use.
    pub unsent: u64,
    /// From the beginning of a request (open loop: from when it was due) to its last byte.
    pub latency: Histogram,
    /// From `connect` to the first moment at which the request could be sent.
    pub connecting: Histogram,
    /// Open loop: from when a request was due to when it was begun.
    pub lag: Histogram,
    pub slices: Vec<Slice>,
    pub began_ns: u64,
    pub ended_ns: u64,
    /// Processor time of all threads.
    pub cpu_ns: u64,
}

impl LoadCounts {
    pub fn slice(&mut self, number: usize) -> &mut Slice {
        if self.slices.len() <= number {
            self.slices.resize(number + 1, Slice::default());
        }
        &mut self.slices[number]
    }

    pub fn add(&mut self, other: &LoadCounts) {
        self.completed += other.completed;
        self.refusals += other.refusals;
        self.body_bytes += other.body_bytes;
        self.bytes += other.bytes;
        self.failures.refused += other.failures.refused;
        self.failures.broken += other.failures.broken;
        self.failures.timed_out += other.failures.timed_out;
        self.failures.malformed += other.failures.malformed;
        self.failures.local += other.failures.local;
        self.given_up += other.given_up;
        self.unsent += other.unsent;
        self.cpu_ns += other.cpu_ns;
        self.began_ns = match self.began_ns {
            0 => other.began_ns,
            began => began.min(other.began_ns),
        };
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        for (number, slice) in other.slices.iter().enumerate() {
            let own = self.slice(number);
            own.completed += slice.completed;
            own.bytes += slice.bytes;
        }
        for (own, others) in [
            (&mut self.latency, &other.latency),
            (&mut self.connecting, &other.connecting),
            (&mut self.lag, &other.lag),
        ] {
            let buckets = others.buckets();
            for (&lower, &count) in buckets.lower_ns.iter().zip(&buckets.counts) {
                own.record_many(lower, count);
            }
        }
    }

    pub fn to_json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Shown<'a> {
            completed: u64,
            refusals: u64,
            body_bytes: u64,
            bytes: u64,
            failures: Failures,
            given_up: u64,
            unsent: u64,
            latency: Buckets,
            connecting: Buckets,
            lag: Buckets,
            slices: &'a [Slice],
            began_ns: u64,
            ended_ns: u64,
            cpu_ns: u64,
        }
        serde_json::to_string(&Shown {
            completed: self.completed,
            refusals: self.refusals,
            body_bytes: self.body_bytes,
            bytes: self.bytes,
            failures: self.failures,
            given_up: self.given_up,
            unsent: self.unsent,
            latency: self.latency.buckets(),
            connecting: self.connecting.buckets(),
            lag: self.lag.buckets(),
            slices: &self.slices,
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            cpu_ns: self.cpu_ns,
        })
    }
}
