//! The sequence numbers that are missing, as intervals with the times around them.
//!
//! Gaps are listed exactly while there are few. Above the limit, dense ranges of older gaps become bitmaps, which are
//! still exact but keep only the times around the whole range. What fits into neither becomes wider intervals with
//! exact counts. `finish` says which form was used. Memory is bounded for any trial.

use serde::Serialize;

use crate::account::bitmap::Bitmap;

/// The most entries in the list of a trial, of 64 bytes each.
pub const LIMIT: usize = 1 << 17;
/// Bytes of all bitmaps of a trial: 33 million sequence numbers.
pub const BITMAP_BYTES: usize = 1 << 22;
/// A bitmap covers at most an aligned cell of 2^15 numbers, 4 KiB.
const CELL_BITS: u32 = 15;
const NEVER: u64 = u64::MAX;

/// Missing sequence numbers from `first` to `last`, sent after one time and before another.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Gap {
    pub first: u64,
    pub last: u64,
    /// `last - first + 1`: all of them; or fewer where gaps had to be joined.
    pub count: u64,
    /// Transmit time of the frame received before the gap; `None` at the very start.
    pub after_ns: Option<u64>,
    /// Transmit time of the frame that revealed the gap; `None` at the very end.
    pub before_ns: Option<u64>,
    /// Joined gaps: which numbers are missing, if that is still known. Base64 of bytes in which bit k of byte k / 8,
    /// counted from the least significant bit, stands for `first + k`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<String>,
}

/// The least exact form in which a part of the loss is stored.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum KeptAs {
    /// Every gap separately, with the times around it.
    List,
    /// Every number, but some only in bitmaps.
    Bitmap,
    /// Some gaps were joined to intervals that keep only a count. Whether a frame that arrives that late is a
    /// duplicate is then decided by the count.
    Intervals,
}

/// One entry, which fits into one cache line.
struct Open {
    first: u64,
    last: u64,
    count: u64,
    after_ns: u64,
    before_ns: u64,
    /// Number of frames that had arrived when the gap was noticed; for joined gaps, when the last one was.
    noticed_at: u64,
    bitmap: Option<Bitmap>,
}

impl Open {
    fn told(&self, bitmap: Option<String>) -> Gap {
        let time = |time_ns| (time_ns != NEVER).then_some(time_ns);
        Gap {
            first: self.first,
            last: self.last,
            count: self.count,
            after_ns: time(self.after_ns),
            before_ns: time(self.before_ns),
            bitmap,
        }
    }
}

/// A number that was missing and then arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Number of frames that had arrived when its gap was noticed.
    pub noticed_at: u64,
    /// Missing numbers above it; `None` if that is unknown or takes too long to count.
    pub missing_above: Option<u64>,
}

/// The most gaps above a late number that are visited to count the missing numbers.
const LOOKED_THROUGH: usize = 1 << 10;

pub struct Gaps {
    /// Ascending and disjoint. New entries are appended and late frames are mostly recent, so a vector is faster than
    /// a tree: a device that loses every second frame costs little more than one that loses none.
    open: Vec<Open>,
    missing: u64,
    limit: usize,
    bitmap_bytes: usize,
    /// Aligned cells of 2^grain numbers within which neighbours are joined without a bitmap.
    grain: u32,
    joined: bool,
}

impl Gaps {
    pub fn new(limit: usize, bitmap_bytes: usize) -> Self {
        Gaps {
            open: Vec::new(),
            missing: 0,
            limit,
            bitmap_bytes,
            grain: CELL_BITS,
            joined: false,
        }
    }

    /// Sequence numbers missing now.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Missing numbers in entries that end below `sequence`.
    pub fn missing_below(&self, sequence: u64) -> u64 {
        let below = self.open.iter().take_while(|gap| gap.last < sequence);
        below.map(|gap| gap.count).sum()
    }

    /// Adds `first..=last`, which did not arrive and follow every number added before. The gap was noticed after
    /// `noticed_at` frames.
    pub fn add(
        &mut self,
        first: u64,
        last: u64,
        after_ns: Option<u64>,
        before_ns: Option<u64>,
        noticed_at: u64,
    ) {
        let count = last - first + 1;
        self.missing += count;
        self.open.push(Open {
            first,
            last,
            count,
            after_ns: after_ns.unwrap_or(NEVER),
            before_ns: before_ns.unwrap_or(NEVER),
            noticed_at,
            bitmap: None,
        });
        if self.open.len() > self.limit {
            self.make_room();
        }
    }

    /// Removes `sequence`, which arrived late. `None` if it was not missing.
    pub fn fill(&mut self, sequence: u64) -> Option<Filled> {
        let place = self.open.partition_point(|gap| gap.last < sequence);
        let gap = self
            .open
            .get_mut(place)
            .filter(|gap| gap.first <= sequence)?;
        let noticed_at = gap.noticed_at;
        let whole = gap.is_whole();
        let missing_here = match &gap.bitmap {
            Some(bitmap) => Some(bitmap.count_from(sequence - gap.first + 1)),
            None => whole.then(|| gap.last - sequence),
        };
        let bitmap = gap.bitmap.as_mut();
        let joined = bitmap.is_some();
        if bitmap.is_some_and(|bitmap| !bitmap.take(sequence - gap.first)) {
            return None;
        }
        let later = &self.open[place + 1..];
        let missing_above = missing_here
            .filter(|_| later.len() <= LOOKED_THROUGH)
            .map(|here| here + later.iter().map(|gap| gap.count).sum::<u64>());
        let gap = &mut self.open[place];
        if gap.count == 1 {
            self.open.remove(place);
        } else if whole && !joined {
            self.split(place, sequence);
        } else {
            // Joined gaps without a bitmap do not say which numbers are missing.
            gap.count -= 1;
        }
        self.missing -= 1;
        Some(Filled {
            noticed_at,
            missing_above,
        })
    }

    /// That with the most missing numbers, the earliest of several, without its bitmap.
    pub fn longest(&self) -> Option<Gap> {
        let longest = self.open.iter().rev().max_by_key(|gap| gap.count)?;
        Some(longest.told(None))
    }

    pub fn finish(self) -> (Vec<Gap>, KeptAs) {
        self.so_far()
    }

    /// What is missing now, as `finish` says it.
    pub fn so_far(&self) -> (Vec<Gap>, KeptAs) {
        let kept_as = if self.joined {
            KeptAs::Intervals
        } else if self.open.iter().any(|gap| gap.bitmap.is_some()) {
            KeptAs::Bitmap
        } else {
            KeptAs::List
        };
        let bitmap = |gap: &Open| gap.bitmap.as_ref().map(Bitmap::to_base64);
        let gaps = self.open.iter().map(|gap| gap.told(bitmap(gap)));
        (gaps.collect(), kept_as)
    }

    fn split(&mut self, place: usize, sequence: u64) {
        let gap = &mut self.open[place];
        if sequence == gap.first {
            gap.first += 1;
            gap.count -= 1;
        } else if sequence == gap.last {
            gap.last -= 1;
            gap.count -= 1;
        } else {
            let right = Open {
                first: sequence + 1,
                count: gap.last - sequence,
                bitmap: None,
                ..*gap
            };
            gap.last = sequence - 1;
            gap.count = sequence - gap.first;
            self.open.insert(place + 1, right);
            if self.open.len() > self.limit {
                self.make_room();
            }
        }
    }

    /// Reduces the list to three quarters of its limit in place. The newest quarter stays as it is.
    #[cold]
    fn make_room(&mut self) {
        let older = self.open.len() - self.limit / 4;
        let newest = self.open[older].first;
        into_bitmaps(&mut self.open[..older]);
        self.open.retain(|gap| gap.count > 0);
        self.forget_oldest_bitmaps();
        let enough = self.limit * 3 / 4;
        if self.open.len() > enough {
            self.join_neighbours(newest);
        }
        while self.open.len() > enough {
            self.grain += 1;
            self.join_neighbours(newest);
        }
    }

    /// Keeps the newest bitmaps that fit into their memory and that are few enough for joining the rest to make room.
    fn forget_oldest_bitmaps(&mut self) {
        let (mut bytes, mut bitmaps) = (0, 0);
        for gap in self.open.iter_mut().rev() {
            let Some(bitmap) = &gap.bitmap else { continue };
            bytes += bitmap.bytes();
            bitmaps += 1;
            if bytes > self.bitmap_bytes || bitmaps > self.limit / 8 {
                gap.bitmap = None;
                self.joined = true;
            }
        }
    }

    /// Joins entries below `newest` that have no bitmaps and lie in the same cell of `grain`.
    fn join_neighbours(&mut self, newest: u64) {
        let grain = self.grain.min(u64::BITS - 1);
        let before = self.open.len();
        self.open.dedup_by(|gap, left| {
            let joins = gap.first < newest
                && left.bitmap.is_none()
                && gap.bitmap.is_none()
                && left.first >> grain == gap.last >> grain;
            if joins {
                left.join(gap);
            }
            joins
        });
        self.joined |= self.open.len() < before;
    }
}

impl Open {
    /// True if every number from `first` to `last` is missing.
    fn is_whole(&self) -> bool {
        self.count == self.last - self.first + 1
    }

    /// Joins `right`, the next entry, and keeps only the count.
    fn join(&mut self, right: &Open) {
        self.last = right.last;
        self.count += right.count;
        self.before_ns = right.before_ns;
        self.noticed_at = right.noticed_at;
    }
}

/// Replaces exact neighbours in a cell by one entry with a bitmap where that takes less memory. The other entries of
/// the cell are left with a count of zero.
fn into_bitmaps(open: &mut [Open]) {
    let is_exact = |gap: &Open| gap.bitmap.is_none() && gap.is_whole();
    let groups = open.chunk_by_mut(|left, right| {
        is_exact(left) && is_exact(right) && left.first >> CELL_BITS == right.last >> CELL_BITS
    });
    for group in groups {
        let [left, others @ ..] = group else { continue };
        let Some(last) = others.last() else { continue };
        let numbers = last.last - left.first + 1;
        if numbers.div_ceil(64) as usize * 8 >= size_of_val(others) {
            continue;
        }
        let mut bitmap = Bitmap::new(numbers);
        bitmap.set(0, left.last - left.first);
        for gap in others {
            bitmap.set(gap.first - left.first, gap.last - left.first);
            left.join(gap);
            gap.count = 0;
        }
        left.bitmap = Some(bitmap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seventeen single numbers, too far apart for a bitmap, where there is room for sixteen.
    fn crowded() -> Gaps {
        let mut gaps = Gaps::new(16, 0);
        for n in 0..17 {
            gaps.add(1000 * n, 1000 * n, Some(10 * n), Some(10 * n + 5), n);
        }
        gaps
    }

    #[test]
    fn joined_gaps_keep_the_times_around_them_and_the_newest_quarter_stays_exact() {
        let (gaps, kept_as) = crowded().finish();
        assert_eq!(kept_as, KeptAs::Intervals);
        let joined = Gap {
            first: 0,
            last: 12_000,
            count: 13,
            after_ns: Some(0),
            before_ns: Some(125),
            bitmap: None,
        };
        assert_eq!(gaps[0], joined);
        let exact: Vec<_> = gaps[1..].iter().map(|gap| (gap.first, gap.last)).collect();
        assert_eq!(exact, [13, 14, 15, 16].map(|n| (1000 * n, 1000 * n)));
    }

    #[test]
    fn a_late_number_in_joined_gaps_is_counted_and_nothing_is_said_of_those_above_it() {
        let mut gaps = crowded();
        let filled = Filled {
            noticed_at: 12,
            missing_above: None,
        };
        assert_eq!(gaps.fill(500), Some(filled));
        assert_eq!(gaps.fill(12_500), None);
        assert_eq!((gaps.missing(), gaps.longest().unwrap().count), (16, 12));
    }

    #[test]
    fn only_gaps_that_end_below_a_number_are_missing_below_it() {
        let mut gaps = Gaps::new(16, 0);
        gaps.add(5, 7, None, None, 5);
        gaps.add(9, 9, None, None, 6);
        let missing = [7, 8, 9, 10].map(|sequence| gaps.missing_below(sequence));
        assert_eq!(missing, [0, 3, 3, 4]);
    }
}
