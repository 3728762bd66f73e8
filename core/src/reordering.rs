//! The effect of reordering on a receiver: the metrics of RFC 4737 §4 and §5 and of RFC 5236 for one stream.
//!
//! It is told of arrivals that are not the next number, and of no others. Lists of recent arrivals are bounded; if a
//! metric misses a frame because of that, the metric's own count shows it.

mod density;
pub mod extent;
mod occupancy;

use std::collections::VecDeque;

use serde::Serialize;

use crate::latency::histogram::{Buckets, Histogram};
use crate::reordering::density::Density;
use crate::reordering::extent::Extents;
use crate::reordering::occupancy::Occupancy;

/// Displacement and buffer-occupancy threshold of RFC 5236 (§3.4, §3.9), in frames.
pub const THRESHOLD: u64 = 1000;
/// The greatest n of n-reordering (the same as in RFC 4737 appendix A).
const DEGREES: usize = 100;
/// The most discontinuities that are stored.
const LIMIT: usize = 1 << 12;

pub struct Reordering {
    extents: Extents,
    byte_offset: Extents,
    late_time: Times,
    gaps: Extents,
    gap_time: Times,
    /// Discontinuities that were noticed, with the time of arrival, in order of arrival.
    noticed: VecDeque<Discontinuity>,
    /// Those discontinuities that have reordered frames; `discontinuities` is their number.
    overtaking: VecDeque<Discontinuity>,
    discontinuities: u64,
    /// Element k counts frames that are (k + 1)-reordered.
    n_reordered: Vec<u64>,
    /// Late frames among the last `DEGREES` arrivals that no later frame with a smaller number hides: arrival and
    /// number.
    lesser: VecDeque<(u64, u64)>,
    reordered: u64,
    /// Frames in order up to the last reordered one.
    in_order: u64,
    run_squares: u128,
    threshold: u64,
    density: Density,
    occupancy: Occupancy,
}

#[derive(Clone, Copy)]
struct Discontinuity {
    arrival: u64,
    received_ns: u64,
}

/// A reordered frame as the tracker knows it.
pub struct Late {
    pub sequence: u64,
    /// The number with which the stream continues.
    pub next: u64,
    /// Arrivals before it, and before the frame that overtook it first.
    pub arrivals: u64,
    pub noticed_at: u64,
    /// Numbers above it that are still missing, if that is known.
    pub missing_above: Option<u64>,
    pub received_ns: u64,
}

/// Counts are frames, unless a name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct ReorderingRecord {
    /// §4.2.
    pub extent: Extents,
    /// §4.4, in frames: frames with greater numbers that arrived before.
    pub byte_offset: Extents,
    /// §4.3.
    pub late_time: TimesRecord,
    /// §4.5: frames that overtook frames which then arrived late.
    pub discontinuities: u64,
    pub gap: Extents,
    pub gap_time: TimesRecord,
    /// §4.6: a and q; x is the number of reordered frames.
    pub in_order_frames: u64,
    pub run_squares: u128,
    /// §5.3: element k counts frames that are (k + 1)-reordered.
    pub n_reordered: Vec<u64>,
    /// RFC 5236 §3.4 and §3.9.
    pub threshold_frames: u64,
    /// RFC 5236 §3.5: displacement and frames, where there are any; early is negative.
    pub displacement: Vec<(i64, u64)>,
    /// RFC 5236 §3.10: occupancy and arrivals after which it was found.
    pub occupancy: Vec<(u64, u64)>,
    /// Frames displaced beyond the threshold: lost in the sense of RFC 5236.
    pub discarded_frames: u64,
}

/// Times in ns: exact extremes and sum, and their number.
#[derive(Default)]
struct Times {
    count: u64,
    max_ns: u64,
    sum_ns: u128,
    histogram: Histogram,
}

#[derive(Clone, Debug, Serialize)]
pub struct TimesRecord {
    pub count: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub histogram: Buckets,
}

impl Reordering {
    /// `first` is the number that the stream begins with.
    pub fn new(first: u64, threshold: u64) -> Self {
        Reordering {
            extents: Extents::default(),
            byte_offset: Extents::default(),
            late_time: Times::default(),
            gaps: Extents::default(),
            gap_time: Times::default(),
            noticed: VecDeque::new(),
            overtaking: VecDeque::new(),
            discontinuities: 0,
            n_reordered: Vec::new(),
            lesser: VecDeque::new(),
            reordered: 0,
            in_order: 0,
            run_squares: 0,
            threshold,
            density: Density::new(first, threshold),
            occupancy: Occupancy::new(first, threshold),
        }
    }

    /// Numbers are missing before `sequence`, which comes after `arrivals` others.
    pub fn skip(&mut self, sequence: u64, arrivals: u64, received_ns: u64) {
        push(
            &mut self.noticed,
            Discontinuity {
                arrival: arrivals,
                received_ns,
            },
        );
        self.density.skip(sequence, arrivals);
        self.occupancy.skip(sequence, arrivals);
    }

    /// A frame that was missing arrives.
    pub fn fill(&mut self, late: &Late) {
        let in_order = late.arrivals - self.reordered;
        self.run_squares += u128::from(in_order - self.in_order).pow(2);
        self.in_order = in_order;
        self.reordered += 1;
        self.extents.record(late.arrivals - late.noticed_at);
        if let Some(missing) = late.missing_above {
            self.byte_offset
                .record(late.next - 1 - late.sequence - missing);
        }
        let place = self
            .noticed
            .partition_point(|one| one.arrival < late.noticed_at);
        let overtaker = self.noticed.get(place).copied();
        if let Some(overtaker) = overtaker.filter(|one| one.arrival == late.noticed_at) {
            self.late_time
                .record(late.received_ns.saturating_sub(overtaker.received_ns));
            self.overtake(overtaker);
        }
        self.degree(late);
        self.density.fill(late.sequence, late.next, late.arrivals);
        self.occupancy.fill(late.sequence, late.arrivals);
    }

    pub fn finish(self, arrivals: u64) -> ReorderingRecord {
        let (displacement, discarded_frames) = self.density.finish(arrivals);
        ReorderingRecord {
            extent: self.extents,
            byte_offset: self.byte_offset,
            late_time: self.late_time.finish(),
            discontinuities: self.discontinuities,
            gap: self.gaps,
            gap_time: self.gap_time.finish(),
            in_order_frames: arrivals - self.reordered,
            run_squares: self.run_squares,
            n_reordered: self.n_reordered,
            threshold_frames: self.threshold,
            displacement,
            occupancy: self.occupancy.finish(arrivals),
            discarded_frames,
        }
    }

    /// "Gap(s[j']) = (j') - (j)": once for each discontinuity, to the one before that was already detected (§4.5.4).
    fn overtake(&mut self, overtaker: Discontinuity) {
        let place = self
            .overtaking
            .partition_point(|one| one.arrival < overtaker.arrival);
        if self
            .overtaking
            .get(place)
            .is_some_and(|one| one.arrival == overtaker.arrival)
        {
            return;
        }
        self.discontinuities += 1;
        if let Some(before) = place.checked_sub(1).map(|place| self.overtaking[place]) {
            self.gaps.record(overtaker.arrival - before.arrival);
            self.gap_time
                .record(overtaker.received_ns.saturating_sub(before.received_ns));
        }
        if self.overtaking.len() >= LIMIT && place > 0 {
            self.overtaking.pop_front();
            self.overtaking.insert(place - 1, overtaker);
        } else {
            self.overtaking.insert(place, overtaker);
        }
    }

    /// "n-reordered if and only if for all j such that i-n <= j < i, s[j] > s[i]" (§5.3).
    fn degree(&mut self, late: &Late) {
        while let Some((_, number)) = self.lesser.back()
            && *number > late.sequence
        {
            self.lesser.pop_back();
        }
        let since = match self.lesser.back() {
            Some((arrival, _)) => arrival + 1,
            None => late.noticed_at,
        };
        let n = (late.arrivals - since.max(late.noticed_at)).min(DEGREES as u64) as usize;
        if n > self.n_reordered.len() {
            self.n_reordered.resize(n, 0);
        }
        self.n_reordered[..n]
            .iter_mut()
            .for_each(|count| *count += 1);
        self.lesser.push_back((late.arrivals, late.sequence));
        if self.lesser.len() > DEGREES {
            self.lesser.pop_front();
        }
    }
}

impl Times {
    fn record(&mut self, time_ns: u64) {
        self.count += 1;
        self.max_ns = self.max_ns.max(time_ns);
        self.sum_ns += u128::from(time_ns);
        self.histogram.record(time_ns as i64);
    }

    fn finish(self) -> TimesRecord {
        TimesRecord {
            count: self.count,
            max_ns: self.max_ns,
            mean_ns: self.sum_ns as f64 / self.count.max(1) as f64,
            histogram: self.histogram.buckets(),
        }
    }
}

fn push(list: &mut VecDeque<Discontinuity>, one: Discontinuity) {
    if list.len() >= LIMIT {
        list.pop_front();
    }
    list.push_back(one);
}
