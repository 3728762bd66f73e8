//! Bounds of the difference between the counters of two cores, by ping-pong between two threads that are pinned to
//! the cores.
//!
//! A core that answers a signal reads its counter after the asking core did and before the asking core reads again.
//! Each round therefore bounds the difference from both sides, and the bounds of many rounds are intersected. No
//! midpoint is given, because the two directions may take different times.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde::Serialize;

use crate::host::affinity;
use crate::host::kernel_clock::monotonic_ns;

use super::counter;

/// Longest time for one round: a thread that is not running has to be scheduled first.
const PATIENCE_NS: u64 = 300_000_000;
/// Spins between two checks of the time.
const SPINS: u32 = 10_000;

/// How far the counter of `core` is ahead of that of `reference`, in ticks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossCore {
    pub reference: usize,
    pub core: usize,
    pub low: i64,
    pub high: i64,
    pub rounds: u64,
    /// The shortest round trip.
    pub round_trip: u64,
}

/// A value on a cache line of its own, because two cores would otherwise write to the same line.
#[repr(align(128))]
struct Line(AtomicU64);

/// Bounds for every core that this thread may run on, against the first such core; empty with a single core.
pub fn cross_core(rounds: u64) -> Vec<CrossCore> {
    let cores = affinity::allowed().unwrap_or_default();
    let Some((&reference, others)) = cores.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .filter_map(|&core| between(reference, core, rounds))
        .collect()
}

/// `None` if the two threads never ran at the same time.
fn between(reference: usize, core: usize, rounds: u64) -> Option<CrossCore> {
    let asked = Line(AtomicU64::new(0));
    let answered = Line(AtomicU64::new(0));
    let seen = Line(AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            affinity::restrict(&[core]);
            affinity::hurry(affinity::FIRST_NICE);
            for round in 1..=rounds {
                while asked.0.load(Ordering::Acquire) != round {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    std::hint::spin_loop();
                }
                seen.0.store(counter::fenced_ticks(), Ordering::Relaxed);
                answered.0.store(round, Ordering::Release);
            }
        });
        let asking = scope.spawn(|| {
            affinity::restrict(&[reference]);
            affinity::hurry(affinity::FIRST_NICE);
            let mut bounds = Bounds::default();
            let until_ns = monotonic_ns() + PATIENCE_NS;
            for round in 1..=rounds {
                let before = counter::fenced_ticks();
                asked.0.store(round, Ordering::Release);
                let mut spins = 0;
                while answered.0.load(Ordering::Acquire) != round {
                    spins += 1;
                    if spins % SPINS == 0 && monotonic_ns() > until_ns {
                        stop.store(true, Ordering::Relaxed);
                        return bounds;
                    }
                    std::hint::spin_loop();
                }
                let after = counter::fenced_ticks();
                bounds.take(before, seen.0.load(Ordering::Relaxed), after);
            }
            bounds
        });
        let bounds = asking.join().unwrap_or_default();
        stop.store(true, Ordering::Relaxed);
        (bounds.rounds > 0).then_some(CrossCore {
            reference,
            core,
            low: bounds.low,
            high: bounds.high,
            rounds: bounds.rounds,
            round_trip: bounds.round_trip,
        })
    })
}

/// The bounds intersected over all rounds. If `low` is above `high`, the difference of the counters is not constant.
#[derive(Debug)]
struct Bounds {
    low: i64,
    high: i64,
    rounds: u64,
    round_trip: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            low: i64::MIN,
            high: i64::MAX,
            rounds: 0,
            round_trip: u64::MAX,
        }
    }
}

impl Bounds {
    /// The other counter showed `other` while this one was between `before` and `after`.
    fn take(&mut self, before: u64, other: u64, after: u64) {
        self.low = self.low.max(other.wrapping_sub(after) as i64);
        self.high = self.high.min(other.wrapping_sub(before) as i64);
        self.rounds += 1;
        self.round_trip = self.round_trip.min(after.wrapping_sub(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_difference_is_within_the_bounds_however_long_the_ways_take(
            ahead in -100_000i64..100_000,
            ways in proptest::collection::vec((1u64..5000, 1u64..5000), 1..100),
        ) {
            let mut bounds = Bounds::default();
            let mut now = 1_000_000u64;
            for (there, back) in ways {
                let seen = (now + there).wrapping_add_signed(ahead);
                bounds.take(now, seen, now + there + back);
                now += there + back;
            }
            prop_assert!(bounds.low <= ahead && ahead <= bounds.high);
        }
    }

    #[test]
    fn bounds_that_exclude_each_other_stay_visible() {
        let mut bounds = Bounds::default();
        bounds.take(0, 1000, 100);
        bounds.take(2000, 2010, 2100);
        assert!(bounds.low > bounds.high);
    }

    #[test]
    fn one_core_has_nothing_to_compare() {
        thread::spawn(|| {
            let first = affinity::allowed().expect("Linux tells")[0];
            affinity::restrict(&[first]);
            assert_eq!(cross_core(10), []);
        })
        .join()
        .expect("it does not panic");
    }
}
