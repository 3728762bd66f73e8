//! What is reported of interference with the tester.

use serde::Serialize;

use crate::latency::histogram::Buckets;

use super::speed::Speed;
use super::throttling::Throttling;
use super::waits::Thread;

const LONG_NS: u64 = 1_000_000;

/// How late the sleeping thread of one core woke up, over all points of time.
#[derive(Clone, Debug, Serialize)]
pub struct Lateness {
    /// Number of points of time. A point that was missed counts with its own lateness, so that a long interruption
    /// counts more than a single late wake-up.
    pub points: u64,
    pub max_ns: u64,
    pub over_1_ms: u64,
    pub histogram: Buckets,
}

impl Lateness {
    pub fn note(&mut self, late_ns: u64) {
        self.points += 1;
        self.max_ns = self.max_ns.max(late_ns);
        self.over_1_ms += u64::from(late_ns > LONG_NS);
    }
}

/// One core of the tester during the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Core {
    pub cpu: usize,
    /// Time that the hypervisor gave to others; None if the kernel does not report it.
    pub steal_ns: Option<u64>,
    /// How often the core was slowed down because of heat; None if the kernel does not report it.
    pub heat_events: Option<u64>,
    /// At the beginning and at the end; None if the kernel does not report it.
    pub frequency_khz: Option<(u64, u64)>,
    /// None where a sender spins.
    pub lateness: Option<Lateness>,
    /// Only where a sender works.
    pub speed: Option<Speed>,
}

/// Everything that interfered with the tester during a trial.
#[derive(Clone, Debug, Serialize)]
pub struct HiccupRecord {
    pub span_ns: u64,
    /// Steal times are whole multiples of this and are less than one multiple off.
    pub steal_resolution_ns: u64,
    pub cores: Vec<Core>,
    pub threads: Vec<Thread>,
    /// None if no CPU quota is visible.
    pub throttling: Option<Throttling>,
    /// The kernel's clock source at the beginning and at the end.
    pub clock_sources: (String, String),
}
