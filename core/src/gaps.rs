//! Which sequence numbers are missing, as intervals with the times around them.
//!
//! Exact until more than `LIMIT` intervals are open; then neighbours are merged, each
//! keeping its exact count, and `exact` turns false. Memory is bounded for any trial.

use std::collections::BTreeMap;

use serde::Serialize;

/// Intervals kept apart before neighbours are merged.
pub const LIMIT: usize = 1 << 17;

/// Missing sequence numbers `first..=last`, sent after one time and before another.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Gap {
    pub first: u64,
    pub last: u64,
    /// `last - first + 1`, or fewer where gaps had to be merged.
    pub count: u64,
    /// Transmit time of the frame received before the gap; `None` at the very start.
    pub after_ns: Option<u64>,
    /// Transmit time of the frame that revealed the gap; `None` at the very end.
    pub before_ns: Option<u64>,
}

#[derive(Default)]
pub struct Gaps {
    open: BTreeMap<u64, Gap>,
    missing: u64,
    inexact: bool,
}

impl Gaps {
    /// Sequence numbers missing now.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    pub fn is_exact(&self) -> bool {
        !self.inexact
    }

    /// `first..=last` did not come; they follow every number added before.
    pub fn add(&mut self, first: u64, last: u64, after_ns: Option<u64>, before_ns: Option<u64>) {
        let count = last - first + 1;
        self.missing += count;
        self.open.insert(
            first,
            Gap {
                first,
                last,
                count,
                after_ns,
                before_ns,
            },
        );
        if self.open.len() > LIMIT {
            self.merge_neighbours();
        }
    }

    /// `sequence` came after all. False if it was not missing.
    pub fn fill(&mut self, sequence: u64) -> bool {
        let Some((_, &gap)) = self.open.range(..=sequence).next_back() else {
            return false;
        };
        if sequence > gap.last {
            return false;
        }
        self.missing -= 1;
        self.open.remove(&gap.first);
        if gap.count < gap.last - gap.first + 1 {
            // A merged gap: which of its numbers are missing is no longer known.
            if gap.count > 1 {
                self.open.insert(
                    gap.first,
                    Gap {
                        count: gap.count - 1,
                        ..gap
                    },
                );
            }
            return true;
        }
        if sequence > gap.first {
            self.keep(Gap {
                last: sequence - 1,
                ..gap
            });
        }
        if sequence < gap.last {
            self.keep(Gap {
                first: sequence + 1,
                ..gap
            });
        }
        true
    }

    pub fn into_list(self) -> Vec<Gap> {
        self.open.into_values().collect()
    }

    fn keep(&mut self, gap: Gap) {
        self.open.insert(
            gap.first,
            Gap {
                count: gap.last - gap.first + 1,
                ..gap
            },
        );
    }

    fn merge_neighbours(&mut self) {
        self.inexact = true;
        let mut gaps = std::mem::take(&mut self.open).into_values();
        while let Some(left) = gaps.next() {
            let merged = match gaps.next() {
                Some(right) => Gap {
                    last: right.last,
                    count: left.count + right.count,
                    before_ns: right.before_ns,
                    ..left
                },
                None => left,
            };
            self.open.insert(merged.first, merged);
        }
    }
}
