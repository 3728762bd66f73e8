//! How often and for how long a thread that only reads the counter is interrupted: by interrupts, the hypervisor or
//! other threads. These stalls cause the tail of the distribution of single reads.

use serde::Serialize;

use super::counter;

/// The three limits of a long stall, as fractions of a second: 1, 10 and 100 µs.
const LONG_PER_S: [u64; 3] = [1_000_000, 100_000, 10_000];

/// Stalls, with durations in ticks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    pub elapsed: u64,
    /// Gaps longer than 1, 10 and 100 µs.
    pub over: [u64; 3],
    pub max: u64,
    /// Sum of the gaps longer than 1 µs.
    pub lost: u64,
}

impl Stalls {
    fn take(&mut self, gap: u64, long: &[u64; 3]) {
        if gap > long[0] {
            self.lost += gap;
            for (count, long) in self.over.iter_mut().zip(long) {
                *count += u64::from(gap > *long);
            }
        }
        self.max = self.max.max(gap);
    }
}

/// Reads for `duration` ticks a counter that makes `ticks_per_s`.
pub fn stalls(duration: u64, ticks_per_s: f64) -> Stalls {
    let long = LONG_PER_S.map(|part| (ticks_per_s / part as f64) as u64);
    let mut found = Stalls::default();
    let first = counter::unordered_ticks();
    let mut last = first;
    while last.wrapping_sub(first) < duration {
        let now = counter::unordered_ticks();
        // A counter that steps back between two cores would look like a gap of centuries.
        found.take((now.wrapping_sub(last) as i64).max(0) as u64, &long);
        last = now;
    }
    found.elapsed = last.wrapping_sub(first);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_above_each_limit() {
        let mut found = Stalls::default();
        for gap in [5, 1000, 1001, 20_000, 300_000] {
            found.take(gap, &[1000, 10_000, 100_000]);
        }
        assert_eq!(found.over, [3, 2, 1]);
        assert_eq!((found.max, found.lost), (300_000, 321_001));
    }
}
