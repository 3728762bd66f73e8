//! Brackets: reads of a clock between two reads of the processor's counter. The clock had the value read at some
//! moment between these two reads.
//!
//! The narrowest of several attempts is kept, so that an interrupt between two reads costs an attempt and no
//! accuracy. The bound is strict: it assumes nothing about when within the bracket the clock was read.

use std::time::Duration;

use crate::host::kernel_clock::read;

use super::counter;

/// The clock showed `clock_ns` while the counter was between `before` and `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    pub before: u64,
    pub clock_ns: u64,
    pub after: u64,
}

impl Bracket {
    fn width(&self) -> u64 {
        self.after.wrapping_sub(self.before)
    }
}

/// The narrowest of `tries` (at least one) brackets of `clock`, which must exist.
pub fn bracket(clock: libc::clockid_t, tries: u32) -> Bracket {
    narrowest(tries, || {
        let before = counter::fenced_ticks();
        let clock_ns = read(clock);
        Bracket {
            before,
            clock_ns,
            after: counter::fenced_ticks(),
        }
    })
}

/// `count` brackets, with `pause` between them.
pub fn brackets(clock: libc::clockid_t, count: u32, tries: u32, pause: Duration) -> Vec<Bracket> {
    let mut found = Vec::with_capacity(count as usize);
    for turn in 0..count {
        if turn > 0 && !pause.is_zero() {
            std::thread::sleep(pause);
        }
        found.push(bracket(clock, tries));
    }
    found
}

fn narrowest(tries: u32, mut read: impl FnMut() -> Bracket) -> Bracket {
    let mut best = read();
    for _ in 1..tries {
        let next = read();
        if next.width() < best.width() {
            best = next;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_is_kept() {
        let widths = [500, 90, 104, 70, 30_000];
        let mut turn = 0;
        let found = narrowest(5, || {
            let before = 1000 * turn as u64;
            turn += 1;
            Bracket {
                before,
                clock_ns: turn as u64,
                after: before + widths[turn - 1],
            }
        });
        assert_eq!((found.clock_ns, found.width()), (4, 70));
        assert_eq!(turn, 5);
    }

    #[test]
    fn brackets_of_a_real_clock_are_in_order() {
        let found = brackets(libc::CLOCK_MONOTONIC, 5, 4, Duration::ZERO);
        assert_eq!(found.len(), 5);
        for pair in found.windows(2) {
            assert!(pair[0].clock_ns <= pair[1].clock_ns);
            assert!(pair[0].after <= pair[1].before);
        }
    }
}
