//! The steps of a time source from one read to the next: its true resolution, and whether it ever goes backwards.
//!
//! Reads are back to back on one thread. `keisoku/subjects/clock/cost/resolution.py` interprets the steps.

use serde::Serialize;

use crate::host::kernel_clock::monotonic_ns;

use super::tally::{Tally, tally};

/// A coarse clock steps once in 1 to 10 ms, so it is read for this long unless it steps often.
const LOOKED_AT_NS: u64 = 100_000_000;
const STEPS_ENOUGH: usize = 1000;
/// Reads between two checks of the time.
const BATCH: usize = 1000;

/// The steps in the unit of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steps {
    pub reads: u64,
    /// Reads that showed the same as the one before.
    pub zero: u64,
    /// Steps ahead, by size.
    pub ahead: Tally,
    /// Reads that showed less than the one before.
    pub back: u64,
    pub back_max: u64,
}

/// Steps of at least so many reads.
pub fn steps(reads: usize, read: impl Fn() -> u64) -> Steps {
    let mut ahead = Vec::with_capacity(reads);
    let mut found = Steps {
        reads: 0,
        zero: 0,
        ahead: Vec::new(),
        back: 0,
        back_max: 0,
    };
    let begun_ns = monotonic_ns();
    let mut last = read();
    loop {
        for _ in 0..BATCH.min(reads) {
            let now = read();
            found.reads += 1;
            if now > last {
                ahead.push(now - last);
            } else if now == last {
                found.zero += 1;
            } else {
                found.back += 1;
                found.back_max = found.back_max.max(last - now);
            }
            last = now;
        }
        let enough = found.reads >= reads as u64 && ahead.len() >= STEPS_ENOUGH.min(reads / 2);
        if enough || (found.reads >= reads as u64 && monotonic_ns() - begun_ns >= LOOKED_AT_NS) {
            break;
        }
    }
    found.ahead = tally(ahead);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn steps_of_a_known_source_are_told_apart() {
        let turn = Cell::new(0usize);
        let shown = [100, 100, 126, 152, 150, 204];
        let read = || {
            let at = turn.get();
            turn.set(at + 1);
            shown[at % shown.len()] + (at / shown.len()) as u64 * 1000
        };
        let found = steps(6, read);
        assert_eq!(
            (found.reads, found.zero, found.back, found.back_max),
            (6, 1, 1, 2)
        );
        assert_eq!(found.ahead, [(26, 2), (54, 1), (896, 1)]);
    }
}
