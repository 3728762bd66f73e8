//! Accounts for every frame of one stream that arrives, and at the end for every one that did not.
//!
//! Engines tell it of arrivals in the order of arrival; it does no I/O and reads no clock.
//! Equality holds at `finish`: offered = forwarded + lost + corrupt, and
//! received = forwarded + duplicated + corrupt arrivals + foreign.

use serde::Serialize;

use crate::gaps::{Gap, Gaps};
use crate::latency::{Latencies, LatencyRecord};
use crate::ranges::Ranges;
use crate::series::{Interval, Series};

/// Claims of corrupt frames that are kept until the end.
const CLAIM_LIMIT: usize = 1 << 16;

pub struct Tracker {
    start_ns: u64,
    next: u64,
    last_sent_ns: Option<u64>,
    gaps: Gaps,
    duplicated: Ranges,
    reordered: Ranges,
    claims: Vec<u64>,
    received: u64,
    forwarded: u64,
    corrupt_arrivals: u64,
    foreign: u64,
    latencies: Latencies,
    tag: Option<u64>,
    tagged_latency_ps: Option<i64>,
    series: Series,
}

/// The receiver's half of a record. Times are ns since the start of the trial.
#[derive(Clone, Debug, Serialize)]
pub struct Tracked {
    /// Every frame that arrived while the trial was watched.
    pub received_frames: u64,
    /// Distinct sequence numbers that arrived intact.
    pub forwarded_frames: u64,
    /// Sequence numbers that did not arrive at all.
    pub lost_frames: u64,
    /// Sequence numbers that arrived with wrong bytes only.
    pub corrupt: Ranges,
    /// Arrivals of ours with wrong bytes, identified or not.
    pub corrupt_arrivals: u64,
    /// Second and further arrivals of a sequence number.
    pub duplicated: Ranges,
    /// Arrivals with a smaller sequence number than one before them (RFC 4737, type-P-reordered).
    pub reordered: Ranges,
    /// Frames that this stream did not send.
    pub foreign_frames: u64,
    pub lost: Vec<Gap>,
    /// False if there were so many gaps that neighbours were merged.
    pub lost_exact: bool,
    pub latency: Option<LatencyRecord>,
    pub tagged_latency_ns: Option<f64>,
    pub series: Vec<Interval>,
}

impl Tracker {
    /// `start_ns`: when the first frame is due, on the clock of `sent_ns`.
    pub fn new(start_ns: u64, interval_ns: u64) -> Self {
        Tracker {
            start_ns,
            next: 0,
            last_sent_ns: None,
            gaps: Gaps::default(),
            duplicated: Ranges::new(),
            reordered: Ranges::new(),
            claims: Vec::new(),
            received: 0,
            forwarded: 0,
            corrupt_arrivals: 0,
            foreign: 0,
            latencies: Latencies::default(),
            tag: None,
            tagged_latency_ps: None,
            series: Series::new(interval_ns),
        }
    }

    /// Keeps the latency of one frame (RFC 2544 §26.2).
    pub fn tagged(self, tag: Option<u64>) -> Self {
        Tracker { tag, ..self }
    }

    /// An intact frame of the stream arrived.
    #[inline]
    pub fn arrive(&mut self, sequence: u64, sent_ns: u64, latency_ps: i64) {
        self.received += 1;
        if sequence == self.next {
            self.next += 1;
            self.last_sent_ns = Some(sent_ns);
        } else if !self.out_of_sequence(sequence, sent_ns) {
            return;
        }
        self.forwarded += 1;
        self.latencies.record(latency_ps);
        if Some(sequence) == self.tag {
            self.tagged_latency_ps = Some(latency_ps);
        }
        let received_ns = sent_ns.wrapping_add_signed(latency_ps / 1000);
        self.series
            .record(received_ns.saturating_sub(self.start_ns), latency_ps);
    }

    /// A frame of ours with wrong bytes arrived; it claims to be `sequence`.
    pub fn corrupt(&mut self, sequence: u64) {
        self.received += 1;
        self.corrupt_arrivals += 1;
        if self.claims.len() < CLAIM_LIMIT {
            self.claims.push(sequence);
        }
    }

    pub fn foreign(&mut self) {
        self.received += 1;
        self.foreign += 1;
    }

    /// Frames forwarded up to now, for live counters.
    pub fn forwarded_frames(&self) -> u64 {
        self.forwarded
    }

    /// Ends the trial: `offered` frames were sent, with sequence numbers below `offered`.
    pub fn finish(mut self, offered: u64) -> Tracked {
        if self.next < offered {
            self.gaps.add(
                self.next,
                offered - 1,
                self.relative(self.last_sent_ns),
                None,
            );
        }
        // A corrupt frame's claim is believed only where a frame is missing.
        let mut corrupt = Ranges::new();
        self.claims.sort_unstable();
        for claim in std::mem::take(&mut self.claims) {
            if self.gaps.fill(claim) {
                corrupt.push(claim);
            }
        }
        Tracked {
            received_frames: self.received,
            forwarded_frames: self.forwarded,
            lost_frames: self.gaps.missing(),
            corrupt,
            corrupt_arrivals: self.corrupt_arrivals,
            duplicated: self.duplicated,
            reordered: self.reordered,
            foreign_frames: self.foreign,
            lost_exact: self.gaps.is_exact(),
            lost: self.gaps.into_list(),
            latency: self.latencies.finish(),
            tagged_latency_ns: self
                .tagged_latency_ps
                .map(|latency| latency as f64 / 1000.0),
            series: self.series.finish(),
        }
    }

    /// True if this is the first arrival of `sequence`.
    #[cold]
    fn out_of_sequence(&mut self, sequence: u64, sent_ns: u64) -> bool {
        if sequence > self.next {
            let (after, before) = (
                self.relative(self.last_sent_ns),
                self.relative(Some(sent_ns)),
            );
            self.gaps.add(self.next, sequence - 1, after, before);
            self.next = sequence + 1;
            self.last_sent_ns = Some(sent_ns);
            return true;
        }
        let first = self.gaps.fill(sequence);
        if first {
            &mut self.reordered
        } else {
            &mut self.duplicated
        }
        .push(sequence);
        first
    }

    fn relative(&self, time_ns: Option<u64>) -> Option<u64> {
        time_ns.map(|time| time.saturating_sub(self.start_ns))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use proptest::prelude::*;

    /// What the tracker must find, in the plainest words: sets over the whole list of arrivals.
    fn reference(offered: u64, arrivals: &[u64]) -> (BTreeSet<u64>, u64, u64) {
        let mut seen = BTreeMap::new();
        let (mut duplicated, mut reordered, mut highest) = (0, 0, None);
        for &sequence in arrivals {
            let times = seen.entry(sequence).or_insert(0);
            *times += 1;
            if *times > 1 {
                duplicated += 1;
            } else if Some(sequence) < highest {
                reordered += 1;
            }
            highest = highest.max(Some(sequence));
        }
        let lost = (0..offered)
            .filter(|sequence| !seen.contains_key(sequence))
            .collect();
        (lost, duplicated, reordered)
    }

    fn listed(gaps: &[Gap]) -> BTreeSet<u64> {
        gaps.iter().flat_map(|gap| gap.first..=gap.last).collect()
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_reference_on_any_arrivals(
            offered in 1u64..200,
            picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..300),
        ) {
            let arrivals: Vec<u64> =
                picks.iter().map(|pick| pick.index(offered as usize) as u64).collect();
            let mut tracker = Tracker::new(0, 1_000_000_000);
            for &sequence in &arrivals {
                tracker.arrive(sequence, sequence * 1000, 5_000);
            }
            let tracked = tracker.finish(offered);
            let (lost, duplicated, reordered) = reference(offered, &arrivals);
            prop_assert_eq!(tracked.lost_frames, lost.len() as u64);
            prop_assert_eq!(listed(&tracked.lost), lost);
            prop_assert_eq!(tracked.duplicated.count, duplicated);
            prop_assert_eq!(tracked.reordered.count, reordered);
            prop_assert_eq!(tracked.forwarded_frames + tracked.lost_frames, offered);
            prop_assert_eq!(
                tracked.received_frames,
                tracked.forwarded_frames + tracked.duplicated.count
            );
        }
    }

    #[test]
    fn a_corrupt_claim_is_believed_only_where_a_frame_is_missing() {
        let mut tracker = Tracker::new(0, 1);
        for sequence in [0, 1, 3, 4] {
            tracker.arrive(sequence, 0, 0);
        }
        tracker.corrupt(2);
        tracker.corrupt(3);
        tracker.corrupt(1 << 40);
        let tracked = tracker.finish(6);
        assert_eq!(tracked.corrupt.ranges, [(2, 2)]);
        assert_eq!(tracked.corrupt_arrivals, 3);
        assert_eq!((tracked.lost_frames, tracked.forwarded_frames), (1, 4));
        assert_eq!(tracked.lost[0].first, 5);
    }

    #[test]
    fn memory_stays_bounded_when_every_second_frame_is_lost() {
        let mut tracker = Tracker::new(0, 1_000_000_000);
        let offered = 8 * crate::gaps::LIMIT as u64;
        for sequence in (0..offered).step_by(2) {
            tracker.arrive(sequence, sequence, 0);
        }
        let tracked = tracker.finish(offered);
        assert_eq!(tracked.lost_frames, offered / 2);
        assert!(!tracked.lost_exact);
        assert!(tracked.lost.len() <= crate::gaps::LIMIT);
        assert_eq!(
            tracked.lost.iter().map(|gap| gap.count).sum::<u64>(),
            offered / 2
        );
    }
}
