//! Which frames of one stream arrived otherwise than expected, by the views of their fronts (`view`).
//!
//! Every arrival is compared with the view that its variant is expected to have. What differs is counted by kind: a kind
//! is one pair of expected and found views. What a kind means is decided in Python, once for each and not for each
//! frame.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use crate::error::{EngineError, Result};
use crate::frame::signature;
use crate::frame::table::Table;
use crate::frame::view::{Free, Fronts, LONGEST, Views, covered};
use crate::latency::histogram::{Buckets, Histogram};
use crate::port::expected::Expected;
use crate::trial::Trial;

/// The most kinds of one trial; frames of further kinds are counted together, as kind `FURTHER`.
pub const KINDS: usize = crate::frame::view::FRONTS;
/// The least of them that a stream has, however many streams there are.
const LEAST: usize = 64;
/// The kind of a frame that is as expected.
pub const EXPECTED: u32 = 0;
/// The kind of changed frames for which there is no room among the kinds.
pub const FURTHER: u32 = (1 << 24) - 1;

/// What the device is expected to make of the frames of each table of a trial.
pub struct Watched {
    /// Frames as they are to arrive, as many as are sent.
    pub expected: Vec<Arc<Table>>,
    /// What it may make of these bits is its own choice.
    pub free: Free,
}

impl Watched {
    /// The accounts of all streams; `expected` is told what receivers must look at.
    pub fn changes(&self, trial: &Trial, expected: &mut Expected) -> Result<Vec<Changes>> {
        let refuse = |problem: &str| Err(EngineError(format!("changes: {problem}")));
        for claim in &expected.claims {
            if claim.most == 0 {
                return refuse("frames without a signature cannot be compared");
            }
            if claim.least != claim.most {
                return refuse("a stream has frames of several sizes; give one size");
            }
        }
        let headers = expected.claims.iter().map(|claim| claim.checked_from);
        // Whole words, so that no frame needs a piece of one.
        let window = headers.max().unwrap_or(0).next_multiple_of(8);
        let window = window.min(LONGEST as u16) as u8;
        let streams = trial.streams.iter().zip(&expected.claims);
        let views = streams.map(|(stream, claim)| {
            let table = &self.expected[stream.table];
            views(
                table,
                usize::from(window),
                usize::from(claim.most),
                &self.free,
            )
        });
        let views: Vec<Vec<u64>> = views.collect();
        for (claim, views) in expected.claims.iter_mut().zip(&views) {
            claim.view = views[0];
        }
        expected.views = Some(Views {
            window,
            known: views.iter().flatten().copied().collect::<HashSet<_>>(),
            free: self.free.clone(),
        });
        let accounts = views.into_iter();
        Ok(accounts
            .map(|views| Changes::new(views, trial.streams.len()))
            .collect())
    }
}

/// The view of each frame of a table, of a stream whose frames are sent with `sent` bytes.
pub fn views(table: &Table, window: usize, sent: usize, free: &Free) -> Vec<u64> {
    let view_of = |frame: &[u8]| {
        let place = frame.len() - signature::LENGTH - table.room;
        let grown = frame.len().saturating_sub(sent);
        free.view(&frame[..covered(window, grown, place)], frame.len())
    };
    table.frames().map(view_of).collect()
}

/// The account of a stream's changed frames. What every frame needs is in half a cache line, so that a thousand streams
/// in turn cost hardly more than one; all else is behind a pointer.
pub struct Changes {
    /// The view of its first variant if the device does what is expected.
    first: u64,
    compared: u64,
    /// It has one variant only.
    is_uniform: bool,
    rest: Box<Rest>,
}

struct Rest {
    /// The expected view of each variant.
    expected: Vec<u64>,
    /// The next sequence number in order, and its variant: no division is needed for it.
    next: u64,
    variant: usize,
    kinds: HashMap<(u64, u64, bool), u32>,
    list: Vec<Kind>,
    limit: usize,
    changed: u64,
    further: u64,
}

struct Kind {
    sequence: u64,
    variant: usize,
    view: u64,
    is_corrupt: bool,
    frames: u64,
    first_ns: u64,
    last_ns: u64,
    /// Of those that are no duplicates; empty if nobody asks for them.
    latency: Histogram,
}

/// What became of one stream's frames. Times are ns since the start of the trial.
#[derive(Clone, Debug, Serialize)]
pub struct ChangesRecord {
    /// Arrivals that were compared: all that are intact or corrupt frames of the stream.
    pub compared_frames: u64,
    /// Arrivals that were not as expected.
    pub changed_frames: u64,
    /// Changed arrivals of kinds for which there was no room.
    pub further_frames: u64,
    pub kinds: Vec<KindRecord>,
}

/// Changed arrivals that are alike.
#[derive(Clone, Debug, Serialize)]
pub struct KindRecord {
    /// Its number in rows of frames, from 1.
    pub kind: u32,
    /// Of the first of them.
    pub sequence: u64,
    /// Which of the stream's frames it was.
    pub variant: usize,
    /// The payload or the signature is not as it was sent, so the sequence number may be wrong as well.
    pub corrupt: bool,
    /// Its front is the expected one, which no port hands over.
    pub same_front: bool,
    pub frames: u64,
    /// When the first and the last of them arrived.
    pub first_received_ns: u64,
    pub last_received_ns: u64,
    /// Latencies of those that are no duplicates; only if they were requested.
    #[serde(skip_serializing_if = "is_empty")]
    pub latency: Buckets,
    /// Length without FCS and front of the frame as it arrived, in hexadecimal digits; absent if it was not kept.
    pub length: Option<u32>,
    pub front: Option<String>,
}

impl Changes {
    /// `expected`: a view for each variant, at least one.
    pub fn new(expected: Vec<u64>, streams: usize) -> Self {
        Changes {
            first: expected[0],
            compared: 0,
            is_uniform: expected.len() == 1,
            rest: Box::new(Rest {
                expected,
                next: 0,
                variant: 0,
                kinds: HashMap::new(),
                list: Vec::new(),
                limit: (KINDS / streams.max(1)).max(LEAST),
                changed: 0,
                further: 0,
            }),
        }
    }

    /// Which of the stream's frames has this sequence number.
    pub fn variant_of(&self, sequence: u64) -> usize {
        self.rest.variant_of(sequence)
    }

    /// The kind of a frame that arrived.
    #[inline]
    pub fn compare(&mut self, sequence: u64, is_corrupt: bool, view: u64, received_ns: u64) -> u32 {
        self.compared += 1;
        // Frames that are all alike have no variant to keep: it would be a chain of loads and stores from frame to frame.
        let expected = if self.is_uniform {
            self.first
        } else {
            self.rest.expected(sequence)
        };
        if expected == view && !is_corrupt {
            return EXPECTED;
        }
        self.rest.differs(sequence, is_corrupt, view, received_ns)
    }

    /// A frame of this kind arrived for the first time, with this latency.
    #[inline]
    pub fn met(&mut self, kind: u32, latency_ns: i64) {
        if kind != EXPECTED && kind != FURTHER {
            self.rest.list[kind as usize - 1].latency.record(latency_ns);
        }
    }

    /// The record; `fronts` are those of the ports where the stream may have arrived.
    pub fn finish(self, start_ns: u64, fronts: &[&Fronts]) -> ChangesRecord {
        let rest = *self.rest;
        let kinds = rest.list.iter().zip(1..).map(|(own, kind)| {
            let front = fronts.iter().find_map(|fronts| fronts.of(own.view));
            KindRecord {
                kind,
                sequence: own.sequence,
                variant: own.variant,
                corrupt: own.is_corrupt,
                same_front: own.view == rest.expected[own.variant],
                frames: own.frames,
                first_received_ns: own.first_ns.saturating_sub(start_ns),
                last_received_ns: own.last_ns.saturating_sub(start_ns),
                latency: own.latency.buckets(),
                length: front.map(|front| front.length),
                front: front.map(|front| {
                    let digits = front.bytes.iter();
                    digits.map(|byte| format!("{byte:02x}")).collect()
                }),
            }
        });
        ChangesRecord {
            compared_frames: self.compared,
            changed_frames: rest.changed,
            further_frames: rest.further,
            kinds: kinds.collect(),
        }
    }
}

impl Rest {
    fn variant_of(&self, sequence: u64) -> usize {
        (sequence % self.expected.len() as u64) as usize
    }

    /// The same, for numbers that are mostly in order.
    #[inline]
    fn variant(&mut self, sequence: u64) -> usize {
        if sequence != self.next {
            self.variant = self.variant_of(sequence);
        }
        let variant = self.variant;
        self.next = sequence + 1;
        self.variant = if variant + 1 == self.expected.len() {
            0
        } else {
            variant + 1
        };
        variant
    }

    #[inline]
    fn expected(&mut self, sequence: u64) -> u64 {
        let variant = self.variant(sequence);
        self.expected[variant]
    }

    #[cold]
    fn differs(&mut self, sequence: u64, is_corrupt: bool, view: u64, received_ns: u64) -> u32 {
        let variant = self.variant_of(sequence);
        self.changed += 1;
        let pair = (self.expected[variant], view, is_corrupt);
        let place = match self.kinds.get(&pair) {
            Some(place) => *place as usize,
            None if self.list.len() == self.limit => {
                self.further += 1;
                return FURTHER;
            }
            None => {
                self.kinds.insert(pair, self.list.len() as u32);
                self.list.push(Kind {
                    sequence,
                    variant,
                    view,
                    is_corrupt,
                    frames: 0,
                    first_ns: received_ns,
                    last_ns: received_ns,
                    latency: Histogram::default(),
                });
                self.list.len() - 1
            }
        };
        let kind = &mut self.list[place];
        kind.frames += 1;
        kind.last_ns = kind.last_ns.max(received_ns);
        place as u32 + 1
    }
}

fn is_empty(latency: &Buckets) -> bool {
    latency.counts.is_empty() && latency.negative == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_as_expected_have_no_kind_and_others_are_counted_by_kind() {
        let mut changes = Changes::new(vec![10, 11, 12], 1);
        let found: Vec<u32> = [(0, 10), (1, 99), (2, 12), (4, 99), (7, 98), (3, 10)]
            .into_iter()
            .map(|(sequence, view)| changes.compare(sequence, false, view, 1000 + sequence))
            .collect();
        assert_eq!(found, [0, 1, 0, 1, 2, 0]);
        assert_eq!(changes.compare(5, true, 12, 2000), 3);
        let record = changes.finish(1000, &[]);
        assert_eq!((record.compared_frames, record.changed_frames), (7, 4));
        let frames: Vec<u64> = record.kinds.iter().map(|kind| kind.frames).collect();
        assert_eq!(frames, [2, 1, 1]);
        assert!(record.kinds[2].corrupt);
        let first = &record.kinds[0];
        assert_eq!((first.sequence, first.variant), (1, 1));
        assert_eq!((first.first_received_ns, first.last_received_ns), (1, 4));
    }

    #[test]
    fn each_kind_has_the_latencies_of_its_frames() {
        let mut changes = Changes::new(vec![10], 1);
        for (sequence, view, latency_ns) in [(0, 10, 5), (1, 99, 7), (2, 98, 8), (3, 99, 7)] {
            let kind = changes.compare(sequence, false, view, 1000);
            changes.met(kind, latency_ns);
        }
        let record = changes.finish(0, &[]);
        let found = record.kinds.iter().map(|kind| &kind.latency);
        let found: Vec<_> = found
            .map(|own| (own.lower_ns.clone(), own.counts.clone()))
            .collect();
        assert_eq!(found, [(vec![7], vec![2]), (vec![8], vec![1])]);
    }

    #[test]
    fn kinds_without_room_are_counted_together() {
        let mut changes = Changes::new(vec![0], KINDS);
        let kinds: Vec<u32> = (0..100)
            .map(|n| changes.compare(n, false, n + 1, n))
            .collect();
        assert_eq!(kinds[LEAST - 1..=LEAST], [LEAST as u32, FURTHER]);
        let record = changes.finish(0, &[]);
        assert_eq!(
            (record.changed_frames, record.further_frames),
            (100, 100 - LEAST as u64)
        );
    }

    proptest! {
        #[test]
        fn the_variant_is_the_number_modulo_the_count_in_any_order(
            count in 1usize..9,
            sequences in proptest::collection::vec(0u64..100, 0..200),
        ) {
            let mut changes = Changes::new(vec![0; count], 1);
            for sequence in sequences {
                prop_assert_eq!(changes.rest.variant(sequence), sequence as usize % count);
            }
        }
    }
}
