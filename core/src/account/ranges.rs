//! Sequence numbers to which something happened, in that order, as ranges.
//!
//! It counts without a limit. It lists at most `LIMIT` ranges and then says that the list is incomplete.

use serde::Serialize;

/// The most ranges of a trial.
pub const LIMIT: usize = 1 << 16;

#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Ranges {
    pub count: u64,
    /// `[first, last]` pairs, both included.
    pub ranges: Vec<(u64, u64)>,
    /// False if there were more ranges than could be listed.
    pub complete: bool,
    #[serde(skip)]
    limit: usize,
}

impl Ranges {
    /// Lists at most `limit` ranges.
    pub fn new(limit: usize) -> Self {
        Ranges {
            limit,
            complete: true,
            ..Ranges::default()
        }
    }

    pub fn push(&mut self, sequence: u64) {
        self.count += 1;
        if let Some((_, last)) = self.ranges.last_mut().filter(|_| self.complete)
            && *last + 1 == sequence
        {
            *last = sequence;
        } else if self.ranges.len() < self.limit {
            self.ranges.push((sequence, sequence));
        } else {
            self.complete = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_counted_and_the_list_says_so() {
        let mut ranges = Ranges::new(2);
        for sequence in [1, 2, 5] {
            ranges.push(sequence);
        }
        assert!(ranges.complete);
        for sequence in [9, 10, 6] {
            ranges.push(sequence);
        }
        assert_eq!(ranges.ranges, [(1, 2), (5, 5)]);
        assert_eq!((ranges.count, ranges.complete), (6, false));
    }
}
