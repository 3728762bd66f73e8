//! How fast a core works: a fixed piece of work, timed again and again.
//!
//! Two hardware threads of one core share its units, and a hypervisor gives the other one to another guest without
//! counting that as steal: each then works at about two thirds of its speed, for milliseconds up to many seconds
//! (docs/guards.md). The work here has four independent chains, which two threads cannot both keep busy, and no
//! memory. This file never judges what it finds.

use std::hint::black_box;

use serde::Serialize;

use crate::host::kernel_clock::monotonic_ns;
use crate::host::{affinity, precedence};

/// Rounds of one piece: 1 to 3 µs, a hundred times as long as reading the clock.
const ROUNDS: u64 = 2000;
/// Rounds before the clock is read, which bring the work into the core's caches.
const PREPARING: u64 = 100;
/// A sender works a piece after this time: 0.1 % of it.
const PERIOD_NS: u64 = 2_000_000;
/// A piece of more than this many of the fastest was interrupted: that is no speed, and is measured as lateness.
const INTERRUPTED: u64 = 4;

/// The first so many pieces of a trial are kept one by one.
const KEPT: usize = 1 << 16;

/// A piece: when it began on CLOCK_MONOTONIC, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub begun_ns: u64,
    pub took_ns: u64,
}

/// The pieces of one trial or one look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speed {
    pub pieces: u64,
    /// The shortest time that a piece took since the meter was made.
    pub fastest_ns: u64,
    /// Sum of the times of all pieces.
    pub total_ns: u64,
}

/// The meter of one core. It keeps the fastest piece from one trial to the next.
#[derive(Default)]
pub struct Meter {
    fastest_ns: Option<u64>,
    pieces: u64,
    total_ns: u64,
    worked_ns: u64,
    kept: Vec<Piece>,
}

impl Meter {
    /// Works a piece if one is due at `now_ns`.
    pub fn work_when_due(&mut self, now_ns: u64) {
        if now_ns >= self.worked_ns + PERIOD_NS {
            self.work();
            self.worked_ns = now_ns;
        }
    }

    /// Works a piece.
    pub fn work(&mut self) {
        chains(PREPARING);
        let begun_ns = monotonic_ns();
        chains(ROUNDS);
        let took_ns = monotonic_ns() - begun_ns;
        if self.kept.len() < KEPT {
            self.kept.push(Piece { begun_ns, took_ns });
        }
        self.took(took_ns);
    }

    fn took(&mut self, took_ns: u64) {
        let fastest_ns = self.fastest_ns.map_or(took_ns, |own| own.min(took_ns));
        self.fastest_ns = Some(fastest_ns);
        if took_ns <= INTERRUPTED * fastest_ns {
            self.pieces += 1;
            self.total_ns += took_ns;
        }
    }

    /// The pieces since the last call of `take`, one by one, in the order of time.
    pub fn pieces(&self) -> &[Piece] {
        &self.kept
    }

    /// The pieces since the last call.
    pub fn take(&mut self) -> Speed {
        self.kept.clear();
        Speed {
            pieces: std::mem::take(&mut self.pieces),
            fastest_ns: self.fastest_ns.unwrap_or(0),
            total_ns: std::mem::take(&mut self.total_ns),
        }
    }
}

/// Four chains of simple instructions that do not wait for each other.
#[inline(never)]
fn chains(rounds: u64) {
    let (mut a, mut b, mut c, mut d) = (1u64, 2u64, 3u64, 4u64);
    for round in 0..rounds {
        a = a.wrapping_mul(3).wrapping_add(round);
        b = b.wrapping_mul(5).wrapping_add(round);
        c ^= (c << 1) ^ round;
        d = d.wrapping_add((d >> 3) ^ round);
    }
    black_box((a, b, c, d));
}

/// Works pieces on `cpu` for `span_ns`, on a thread of their own.
pub fn speed_of(cpu: usize, span_ns: u64) -> Speed {
    let watched = std::thread::spawn(move || {
        affinity::restrict(&[cpu]);
        precedence::go_first();
        let mut meter = Meter::default();
        let end_ns = monotonic_ns() + span_ns;
        while monotonic_ns() < end_ns {
            meter.work();
        }
        meter.take()
    });
    watched
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Python's `keisoku._core.speed_of_cpu`.
#[cfg(feature = "python")]
pub mod python {
    use pyo3::prelude::*;

    /// Works pieces on a CPU for `span_ns`: how many, the fastest one, and the sum of their times in ns.
    #[pyfunction]
    pub fn speed_of_cpu(py: Python<'_>, cpu: usize, span_ns: u64) -> (u64, u64, u64) {
        let found = py.detach(|| super::speed_of(cpu, span_ns));
        (found.pieces, found.fastest_ns, found.total_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_piece_is_kept_and_the_others_are_handed_over_once() {
        let mut meter = Meter::default();
        for took_ns in [1000, 900, 1500, 1000] {
            meter.took(took_ns);
        }
        let first = Speed {
            pieces: 4,
            fastest_ns: 900,
            total_ns: 4400,
        };
        assert_eq!(meter.take(), first);
        meter.took(1200);
        let second = Speed {
            pieces: 1,
            fastest_ns: 900,
            total_ns: 1200,
        };
        assert_eq!(meter.take(), second);
    }

    #[test]
    fn an_interrupted_piece_is_no_speed() {
        let mut meter = Meter::default();
        for took_ns in [1000, 5_000_000, 1000] {
            meter.took(took_ns);
        }
        assert_eq!(meter.take().pieces, 2);
    }

    #[test]
    fn pieces_are_worked_when_they_are_due() {
        let mut meter = Meter::default();
        for now_ns in [PERIOD_NS, PERIOD_NS + 1, 2 * PERIOD_NS, 3 * PERIOD_NS - 1] {
            meter.work_when_due(now_ns);
        }
        assert_eq!(meter.pieces().len(), 2);
        // The host may interrupt a piece, which then counts for nothing.
        let found = meter.take();
        assert!((1..=2).contains(&found.pieces));
        assert!(found.total_ns >= found.pieces * found.fastest_ns && found.fastest_ns > 0);
    }
}
