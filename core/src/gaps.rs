//! Which sequence numbers are missing, as intervals with the times around them.
//!
//! Exact until more than `LIMIT` intervals are open; then neighbours are merged, each
//! keeping its exact count, and `exact` turns false. Memory is bounded for any trial.

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
    /// Ascending and apart. New ones come at the end and late frames are mostly recent, so a
    /// vector beats a tree: a device that loses every second frame costs little more than none.
    open: Vec<Gap>,
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
        self.open.push(Gap {
            first,
            last,
            count,
            after_ns,
            before_ns,
        });
        if self.open.len() > LIMIT {
            self.merge_neighbours();
        }
    }

    /// `sequence` came after all. False if it was not missing.
    pub fn fill(&mut self, sequence: u64) -> bool {
        let place = self.open.partition_point(|gap| gap.last < sequence);
        let Some(&gap) = self.open.get(place).filter(|gap| gap.first <= sequence) else {
            return false;
        };
        self.missing -= 1;
        // Of a merged gap it is no longer known which numbers are missing: only the count falls.
        let exact = gap.count == gap.last - gap.first + 1;
        match (gap.count, exact) {
            (1, _) => drop(self.open.remove(place)),
            (_, false) => self.open[place].count -= 1,
            (_, true) => self.split(place, sequence),
        }
        true
    }

    pub fn into_list(self) -> Vec<Gap> {
        self.open
    }

    fn split(&mut self, place: usize, sequence: u64) {
        let gap = self.open[place];
        let part = |first, last| Gap {
            first,
            last,
            count: last - first + 1,
            ..gap
        };
        if sequence == gap.first {
            self.open[place] = part(sequence + 1, gap.last);
        } else if sequence == gap.last {
            self.open[place] = part(gap.first, sequence - 1);
        } else {
            self.open[place] = part(gap.first, sequence - 1);
            self.open.insert(place + 1, part(sequence + 1, gap.last));
        }
    }

    fn merge_neighbours(&mut self) {
        self.inexact = true;
        let pairs = self.open.chunks(2).map(|pair| {
            let (left, right) = (pair[0], pair[pair.len() - 1]);
            let count = pair.iter().map(|gap| gap.count).sum();
            Gap {
                last: right.last,
                count,
                before_ns: right.before_ns,
                ..left
            }
        });
        self.open = pairs.collect();
    }
}
