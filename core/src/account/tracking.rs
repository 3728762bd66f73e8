//! The account of every frame of one stream: of each that arrives, and at the end of each that did not.
//!
//! Engines report arrivals in the order of arrival. This file does no I/O and reads no clock. After `finish` these
//! equalities hold: offered = forwarded + lost + corrupt, and received = forwarded + duplicated + corrupt arrivals +
//! foreign.

use serde::Serialize;

use crate::account::gaps::{self, Gap, Gaps, KeptAs};
use crate::account::packed;
use crate::account::ranges::{self, Ranges};
use crate::latency::histogram::{Buckets, Histogram};
use crate::latency::jitter::JitterRecord;
use crate::latency::series::{self, Interval, Series};
use crate::latency::variation::{self, Variation, VariationRecord};
use crate::latency::{Latencies, LatencyRecord};
use crate::reordering::{self, Late, Reordering, ReorderingRecord};

/// The most claims of corrupt frames that wait until they can be decided.
const CLAIM_LIMIT: usize = 1 << 16;
/// The least number of entries in each list of one stream, however many streams a trial has.
const LEAST: usize = 1 << 9;
/// Frames of a gap whose latencies are told apart.
const PLACES_OF_LOST: u64 = 256;
const NO_TAG: u64 = u64::MAX;

/// The kind of an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first arrival of its number, and no greater one came before.
    InOrder,
    /// The first arrival of its number, but overtaken (RFC 4737 §3, type-P-reordered).
    Reordered,
    /// A second or further arrival of its number.
    Duplicate,
    /// A frame of another stream, or with a number that this stream did not send.
    Foreign,
}

impl Outcome {
    /// True if the frame counts as forwarded.
    pub fn is_first(self) -> bool {
        matches!(self, Outcome::InOrder | Outcome::Reordered)
    }
}

/// The fields that every frame uses are in the first three cache lines, so that a thousand streams in turn are as
/// fast as one. This determines the order of the fields.
#[repr(C, align(64))]
pub struct Tracker {
    next: u64,
    tag: u64,
    interval_begin_ns: u64,
    interval_width_ns: u64,
    histogram: Histogram,
    latencies: Latencies,
    last_sent_ns: u64,
    variation: Variation,

    first: u64,
    end: u64,
    start_ns: u64,
    /// Frames forwarded in intervals before the open one.
    closed: u64,
    /// Arrivals that were not forwarded.
    others: u64,
    gaps: Gaps,
    duplicated: Ranges,
    reordered: Ranges,
    reordering: Reordering,
    corrupt: Ranges,
    claims: Vec<u64>,
    claim_limit: usize,
    corrupt_arrivals: u64,
    foreign: u64,
    tagged_latency_ps: Option<i64>,
    /// The latencies before the tagged frame arrived.
    before_tag: Option<Histogram>,
    /// The latencies that lost frames would have had; only if requested.
    lost_at: Option<Box<Histogram>>,
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
    /// What that means for a receiver; absent if there were none.
    pub reordering: Option<ReorderingRecord>,
    /// Frames that this stream did not send.
    pub foreign_frames: u64,
    #[serde(serialize_with = "packed::gaps")]
    pub lost: Vec<Gap>,
    pub lost_kept_as: KeptAs,
    /// For each frame that was missing when a later one arrived, the latency of that one and the time from when the
    /// missing one was sent, about, to when that one was: what a queue that only drained meanwhile would have made it.
    /// Only if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Buckets>,
    pub latency: Option<LatencyRecord>,
    /// Differences of consecutive frames' latencies; only if they were requested.
    pub variation: Option<VariationRecord>,
    pub jitter: Option<JitterRecord>,
    pub tagged_latency_ns: Option<f64>,
    /// Latencies from the arrival of the tagged frame on, or, if it was lost, of the next one.
    pub latency_since_tag: Option<Buckets>,
    pub series: Vec<Interval>,
}

impl Tracker {
    /// `start_ns`: when the first frame is due, on the clock of `sent_ns`.
    pub fn new(start_ns: u64, interval_ns: u64) -> Self {
        Tracker {
            next: 0,
            tag: NO_TAG,
            interval_begin_ns: start_ns,
            interval_width_ns: 0,
            histogram: Histogram::default(),
            latencies: Latencies::default(),
            last_sent_ns: 0,
            variation: Variation::off(),
            first: 0,
            end: u64::MAX,
            start_ns,
            closed: 0,
            others: 0,
            gaps: Gaps::new(gaps::LIMIT, gaps::BITMAP_BYTES),
            duplicated: Ranges::new(ranges::LIMIT),
            reordered: Ranges::new(ranges::LIMIT),
            reordering: Reordering::new(0, reordering::THRESHOLD),
            corrupt: Ranges::new(ranges::LIMIT),
            claims: Vec::new(),
            claim_limit: CLAIM_LIMIT,
            corrupt_arrivals: 0,
            foreign: 0,
            tagged_latency_ps: None,
            before_tag: None,
            lost_at: None,
            series: Series::new(start_ns, interval_ns),
        }
    }

    /// Keeps the latency of one frame (RFC 2544 §26.2).
    pub fn tagged(self, tag: Option<u64>) -> Self {
        Tracker {
            tag: tag.unwrap_or(NO_TAG),
            ..self
        }
    }

    /// Divides the limits of lists, and so the memory, among the streams of a trial.
    pub fn among(self, streams: usize) -> Self {
        let share = |limit: usize| (limit / streams.max(1)).max(LEAST);
        Tracker {
            gaps: Gaps::new(share(gaps::LIMIT), share(gaps::BITMAP_BYTES)),
            duplicated: Ranges::new(share(ranges::LIMIT)),
            reordered: Ranges::new(share(ranges::LIMIT)),
            corrupt: Ranges::new(share(ranges::LIMIT)),
            claim_limit: share(CLAIM_LIMIT),
            series: self.series.limited_to(share(series::LIMIT)),
            ..self
        }
    }

    /// Keeps which latencies lost frames would have had, if `wanted`.
    pub fn placing_lost(self, wanted: bool) -> Self {
        Tracker {
            lost_at: wanted.then(Box::default),
            ..self
        }
    }

    /// Keeps the differences of consecutive frames' latencies if `wanted`, with the limits of one of `streams`
    /// streams.
    pub fn varying(self, wanted: bool, streams: usize) -> Self {
        let limit = (variation::LIMIT / streams.max(1)).max(LEAST);
        Tracker {
            variation: if wanted {
                Variation::new(limit.next_power_of_two())
            } else {
                Variation::off()
            },
            ..self
        }
    }

    /// The stream counts from `first` and has `frames` frames: a frame with a greater number is foreign.
    pub fn planned(self, first: u64, frames: u64) -> Self {
        Tracker {
            next: first,
            first,
            end: first.saturating_add(frames),
            reordering: Reordering::new(first, reordering::THRESHOLD),
            ..self
        }
    }

    /// An intact frame of the stream arrived. Only the lower 48 bits of `sequence` count: its number is the nearest
    /// to the one expected next that ends in them.
    #[inline]
    pub fn arrive(&mut self, sequence: u64, sent_ns: u64, latency_ps: i64) -> Outcome {
        let ahead = ahead_48(sequence, self.next);
        let sequence = self.next.wrapping_add_signed(ahead);
        let outcome = if ahead == 0 {
            self.next += 1;
            self.last_sent_ns = sent_ns;
            self.variation.follow(latency_ps);
            Outcome::InOrder
        } else {
            match self.out_of_sequence(sequence, ahead, sent_ns, latency_ps) {
                first @ (Outcome::InOrder | Outcome::Reordered) => first,
                other => return other,
            }
        };
        let latency_ns = whole_ns(latency_ps);
        let received_ns = sent_ns.wrapping_add_signed(latency_ns);
        if received_ns.wrapping_sub(self.interval_begin_ns) >= self.interval_width_ns {
            self.enter_interval(received_ns);
        }
        if sequence == self.tag {
            self.tagged_latency_ps = Some(latency_ps);
            self.begin_tagged();
        }
        self.latencies.record(latency_ps);
        self.histogram.record(latency_ns);
        outcome
    }

    /// A corrupt frame of ours arrived. It claims to be `sequence`, of which only the lower 48 bits count.
    pub fn corrupt(&mut self, sequence: u64) {
        self.others += 1;
        self.corrupt_arrivals += 1;
        if self.claims.len() >= self.claim_limit {
            self.settle_claims();
        }
        if self.claims.len() < self.claim_limit {
            let claim = self.next.wrapping_add_signed(ahead_48(sequence, self.next));
            self.claims.push(claim);
        }
    }

    pub fn foreign(&mut self) {
        self.others += 1;
        self.foreign += 1;
    }

    /// Frames forwarded up to now, for live counters.
    pub fn forwarded_frames(&self) -> u64 {
        self.closed + self.latencies.interval().count()
    }

    /// Arrivals of any kind up to now.
    pub fn received_frames(&self) -> u64 {
        self.forwarded_frames() + self.others
    }

    /// The number that follows the greatest one received.
    pub fn expected(&self) -> u64 {
        self.next
    }

    /// Numbers below `sequence` that did not come intact, as far as is known now.
    pub fn missing_below(&self, sequence: u64) -> u64 {
        self.gaps.missing_below(sequence)
    }

    /// The longest interruption until now that frames have followed, as far as is known now.
    pub fn longest_gap(&self) -> Option<Gap> {
        self.gaps.longest()
    }

    /// Ends the trial: `offered` frames were sent.
    pub fn finish(mut self, offered: u64) -> Tracked {
        let end = self.first + offered;
        if self.next < end {
            let (after, noticed_at) = (self.last_sent(), self.forwarded_frames());
            self.gaps.add(self.next, end - 1, after, None, noticed_at);
            self.next = end;
        }
        self.settle_claims();
        self.close_interval();
        let reordering = self.reordering.finish(self.closed);
        let lost_frames = self.gaps.missing();
        let (lost, lost_kept_as) = self.gaps.finish();
        Tracked {
            received_frames: self.closed + self.others,
            forwarded_frames: self.closed,
            lost_frames,
            corrupt: self.corrupt,
            corrupt_arrivals: self.corrupt_arrivals,
            duplicated: self.duplicated,
            reordering: (self.reordered.count > 0).then_some(reordering),
            reordered: self.reordered,
            foreign_frames: self.foreign,
            lost,
            lost_kept_as,
            lost_at: self.lost_at.map(|lost| lost.buckets()),
            latency: self.latencies.finish(&self.series.whole(), &self.histogram),
            jitter: self.variation.jitter(),
            variation: self.variation.finish(),
            latency_since_tag: self
                .before_tag
                .map(|before| self.histogram.buckets_since(&before)),
            tagged_latency_ns: self
                .tagged_latency_ps
                .map(|latency| latency as f64 / 1000.0),
            series: self.series.finish(),
        }
    }

    /// A frame arrived whose `sequence` is `ahead` of the next number; `ahead` is not zero.
    #[cold]
    fn out_of_sequence(
        &mut self,
        sequence: u64,
        ahead: i64,
        sent_ns: u64,
        latency_ps: i64,
    ) -> Outcome {
        let forwarded = self.forwarded_frames();
        let received_ns = sent_ns.wrapping_add_signed(whole_ns(latency_ps));
        if ahead > 0 {
            if sequence >= self.end {
                self.foreign();
                return Outcome::Foreign;
            }
            let before = Some(sent_ns.saturating_sub(self.start_ns));
            let after = self.last_sent();
            if (self.next..sequence).contains(&self.tag) {
                self.begin_tagged();
            }
            self.gaps
                .add(self.next, sequence - 1, after, before, forwarded);
            self.variation.skip(self.next, sequence, latency_ps);
            if let Some(lost_at) = &mut self.lost_at {
                let since_ns =
                    sent_ns.saturating_sub(after.map_or(self.start_ns, |_| self.last_sent_ns));
                place_lost(lost_at, ahead as u64, since_ns, whole_ns(latency_ps));
            }
            self.reordering.skip(sequence, forwarded, received_ns);
            self.next = sequence + 1;
            self.last_sent_ns = sent_ns;
            return Outcome::InOrder;
        }
        if ahead.unsigned_abs() > self.next - self.first {
            self.foreign();
            return Outcome::Foreign;
        }
        match self.gaps.fill(sequence) {
            Some(filled) => {
                self.reordered.push(sequence);
                self.variation.fill(sequence, latency_ps);
                self.reordering.fill(&Late {
                    sequence,
                    next: self.next,
                    arrivals: forwarded,
                    noticed_at: filled.noticed_at,
                    missing_above: filled.missing_above,
                    received_ns,
                });
                Outcome::Reordered
            }
            None => {
                self.others += 1;
                self.duplicated.push(sequence);
                Outcome::Duplicate
            }
        }
    }

    /// Ends the open interval and begins that of `received_ns`.
    #[cold]
    fn enter_interval(&mut self, received_ns: u64) {
        self.close_interval();
        (self.interval_begin_ns, self.interval_width_ns) = self.series.interval_of(received_ns);
    }

    fn close_interval(&mut self) {
        let interval = self.latencies.take_interval();
        if interval.count() > 0 {
            self.closed += interval.count();
            self.series.add(self.interval_begin_ns, &interval);
        }
    }

    /// Accepts the claim of a corrupt frame if that frame is missing, and keeps claims of frames that are not due
    /// yet. An intact copy that arrives later still counts as a duplicate.
    #[cold]
    fn settle_claims(&mut self) {
        self.claims.sort_unstable();
        let due = self.claims.partition_point(|claim| *claim < self.next);
        for claim in self.claims.drain(..due) {
            if self.gaps.fill(claim).is_some() {
                self.corrupt.push(claim);
            }
        }
    }

    /// From here on the frames are those that RFC 8219 §7.2 tags. Only the first call counts.
    #[cold]
    fn begin_tagged(&mut self) {
        self.before_tag
            .get_or_insert_with(|| self.histogram.clone());
    }

    /// When the latest frame in order was sent, `None` before the first.
    fn last_sent(&self) -> Option<u64> {
        (self.next > self.first).then(|| self.last_sent_ns.saturating_sub(self.start_ns))
    }
}

/// Adds the latencies of `count` frames that were sent evenly in the last `since_ns` before a frame of this latency.
fn place_lost(lost_at: &mut Histogram, count: u64, since_ns: u64, latency_ns: i64) {
    let places = count.min(PLACES_OF_LOST);
    for place in 0..places {
        // The first ones of a long gap stand for those after them.
        let weight = count / places + u64::from(place < count % places);
        let before_ns = since_ns - since_ns * (place + 1) / (places + 1);
        lost_at.record_many(latency_ns + before_ns as i64, weight);
    }
}

/// Rounded down like `div_euclid`, but faster for positive values.
#[inline]
fn whole_ns(latency_ps: i64) -> i64 {
    match u64::try_from(latency_ps) {
        Ok(latency_ps) => (latency_ps / 1000) as i64,
        Err(_) => latency_ps.div_euclid(1000),
    }
}

/// How far the number nearest to `near` that ends in the lower 48 bits of `cut` is ahead of `near`.
#[inline]
fn ahead_48(cut: u64, near: u64) -> i64 {
    (cut.wrapping_sub(near) << 16) as i64 >> 16
}

#[cfg(test)]
mod tests;
