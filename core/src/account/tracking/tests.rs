//! The tracker against the plainest account of the same arrivals.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use crate::frame::signature::MASK_48;

use super::*;

mod order;

/// One frame that the tester saw.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Intact(u64),
    Corrupt(u64),
    Foreign,
}

/// What the tracker must find, in the plainest words: sets over the whole list of arrivals.
#[derive(Debug, Default, PartialEq)]
struct Account {
    lost: BTreeSet<u64>,
    corrupt: BTreeSet<u64>,
    duplicated: Vec<u64>,
    reordered: Vec<u64>,
    extents: Vec<u64>,
    /// Absent for corrupt frames, whose arrival decides nothing.
    outcomes: Vec<Option<Outcome>>,
}

fn reference(first: u64, offered: u64, arrivals: &[Seen]) -> Account {
    let mut account = Account::default();
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for arrival in arrivals {
        account.outcomes.push(match *arrival {
            Seen::Foreign => Some(Outcome::Foreign),
            Seen::Corrupt(_) => None,
            Seen::Intact(sequence) if !seen.insert(sequence) => {
                account.duplicated.push(sequence);
                Some(Outcome::Duplicate)
            }
            Seen::Intact(sequence) => {
                order.push(sequence);
                // RFC 4737 §4.2.1: i - j, j the first to arrive of those with greater numbers.
                match order.iter().position(|earlier| *earlier > sequence) {
                    Some(overtaken_by) => {
                        account.reordered.push(sequence);
                        account
                            .extents
                            .push((order.len() - 1 - overtaken_by) as u64);
                        Some(Outcome::Reordered)
                    }
                    None => Some(Outcome::InOrder),
                }
            }
        });
    }
    let claimed = arrivals.iter().filter_map(|arrival| match arrival {
        Seen::Corrupt(sequence) => Some(*sequence),
        _ => None,
    });
    let sent = first..first + offered;
    account.corrupt = claimed
        .filter(|claim| sent.contains(claim) && !seen.contains(claim))
        .collect();
    account.lost = sent
        .filter(|sequence| !seen.contains(sequence) && !account.corrupt.contains(sequence))
        .collect();
    account
}

fn feed(tracker: &mut Tracker, arrivals: &[Seen]) -> Vec<Option<Outcome>> {
    let feed_one = |arrival: &Seen| match *arrival {
        Seen::Intact(sequence) => Some(tracker.arrive(sequence & MASK_48, sequence % 1000, 5_000)),
        Seen::Corrupt(sequence) => {
            tracker.corrupt(sequence & MASK_48);
            None
        }
        Seen::Foreign => {
            tracker.foreign();
            Some(Outcome::Foreign)
        }
    };
    arrivals.iter().map(feed_one).collect()
}

/// The missing numbers as a reader of the record finds them.
fn listed(gaps: &[Gap]) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for gap in gaps {
        let all = gap.first..=gap.last;
        match &gap.bitmap {
            None => numbers.extend(all),
            Some(text) => {
                let bytes = STANDARD.decode(text).unwrap();
                let is_set = |number: &u64| {
                    let bit = number - gap.first;
                    bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1
                };
                assert_eq!(all.clone().filter(is_set).count() as u64, gap.count);
                numbers.extend(all.filter(is_set));
            }
        }
    }
    numbers
}

fn numbers(ranges: &Ranges) -> Vec<u64> {
    ranges
        .ranges
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .collect()
}

fn by_power(extents: &[u64]) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for extent in extents {
        *counts.entry(extent.ilog2()).or_insert(0) += 1;
    }
    counts
}

/// Where a stream begins: at zero, or so that 48 bits wrap on the way.
fn first() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1 << 48),
        (1u64 << 48) - 300..1 << 48,
        (3u64 << 48) - 300..3 << 48
    ]
}

/// What a network may do to the frames of a stream: each lost, doubled, broken, or late by some places.
fn network(offered: u64) -> impl Strategy<Value = Vec<Seen>> {
    let fates = proptest::collection::vec((0u8..20, 0u64..40), offered as usize);
    fates.prop_map(|fates| {
        let mut arrivals: Vec<(u64, Seen)> = Vec::new();
        for (sequence, (fate, late)) in (0..).zip(fates) {
            let (time, own) = (sequence * 4, Seen::Intact(sequence));
            match fate {
                0 => {}
                1 => arrivals.extend([(time, own), (time + late, own)]),
                2 => arrivals.push((time, Seen::Corrupt(sequence))),
                3 => arrivals.extend([(time, Seen::Corrupt(sequence)), (time + late, own)]),
                4 => arrivals.push((time + late, own)),
                5 => arrivals.push((time + 40 * late, own)),
                6 => arrivals.extend([(time, own), (time, Seen::Foreign)]),
                _ => arrivals.push((time, own)),
            }
        }
        arrivals.sort_by_key(|(time, _)| *time);
        arrivals.into_iter().map(|(_, seen)| seen).collect()
    })
}

/// Any order, numbers and faults at all.
fn chaos(offered: u64) -> impl Strategy<Value = Vec<Seen>> {
    let one = prop_oneof![
        8 => (0..offered).prop_map(Seen::Intact),
        1 => (0..offered + 5).prop_map(Seen::Corrupt),
        1 => Just(Seen::Foreign),
    ];
    proptest::collection::vec(one, 0..400)
}

fn stream() -> impl Strategy<Value = (u64, u64, Vec<Seen>)> {
    let arrivals = (1u64..300).prop_flat_map(|offered| {
        prop_oneof![network(offered), chaos(offered)].prop_map(move |seen| (offered, seen))
    });
    (first(), arrivals).prop_map(|(first, (offered, mut arrivals))| {
        for arrival in &mut arrivals {
            if let Seen::Intact(sequence) | Seen::Corrupt(sequence) = arrival {
                *sequence += first;
            }
        }
        (first, offered, arrivals)
    })
}

/// Compares everything; with `limit` entries for exact gaps, of which a few may become bitmaps.
fn agrees(first: u64, offered: u64, arrivals: &[Seen], limit: usize) -> Result<(), TestCaseError> {
    let mut tracker = Tracker::new(0, 100).planned(first, offered);
    tracker.gaps = Gaps::new(limit, usize::MAX);
    let outcomes = feed(&mut tracker, arrivals);
    let tracked = tracker.finish(offered);
    let expected = reference(first, offered, arrivals);
    prop_assert_eq!(outcomes, expected.outcomes);
    prop_assert_eq!(tracked.lost_frames, expected.lost.len() as u64);
    prop_assert_eq!(listed(&tracked.lost), expected.lost);
    prop_assert_eq!(numbers(&tracked.corrupt), Vec::from_iter(expected.corrupt));
    prop_assert_eq!(numbers(&tracked.duplicated), expected.duplicated);
    prop_assert_eq!(numbers(&tracked.reordered), expected.reordered);
    prop_assert_eq!(
        tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count,
        offered
    );
    prop_assert_eq!(tracked.received_frames, arrivals.len() as u64);
    prop_assert_eq!(
        tracked.received_frames,
        tracked.forwarded_frames
            + tracked.duplicated.count
            + tracked.corrupt_arrivals
            + tracked.foreign_frames
    );
    let frames: u64 = tracked
        .series
        .iter()
        .map(|interval| interval.forwarded_frames)
        .sum();
    prop_assert_eq!(frames, tracked.forwarded_frames);
    let extents = &tracked
        .reordering
        .map_or_else(Default::default, |found| found.extent);
    if limit == gaps::LIMIT {
        prop_assert_eq!(
            extents.max_frames,
            expected.extents.iter().copied().max().unwrap_or(0)
        );
        for (power, count) in by_power(&expected.extents) {
            prop_assert_eq!(extents.by_power_of_two[power as usize], count);
        }
    } else {
        // Of gaps joined in a bitmap only the last one's notice is known: extents are then at least so large.
        let largest = expected.extents.iter().copied().max().unwrap_or(0);
        prop_assert!(extents.max_frames <= largest);
        prop_assert!(tracked.lost.len() <= limit);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn it_agrees_with_the_reference_on_any_stream((first, offered, arrivals) in stream()) {
        agrees(first, offered, &arrivals, gaps::LIMIT)?;
    }

    #[test]
    fn it_agrees_when_dense_loss_becomes_bitmaps((first, offered, arrivals) in stream()) {
        agrees(first, offered, &arrivals, 64)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000_000))]
    #[test]
    #[ignore = "minutes: part of the soak"]
    fn it_agrees_with_the_reference_on_a_million_streams((first, offered, arrivals) in stream(), few: bool) {
        agrees(first, offered, &arrivals, if few { 64 } else { gaps::LIMIT })?;
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
fn numbers_that_were_not_sent_are_foreign() {
    let mut tracker = Tracker::new(0, 1).planned(10, 5);
    let outcomes = [10, 9, 15, MASK_48, 1 << 47, 14].map(|number| tracker.arrive(number, 0, 0));
    use Outcome::{Foreign, InOrder};
    assert_eq!(
        outcomes,
        [InOrder, Foreign, Foreign, Foreign, Foreign, InOrder]
    );
    let tracked = tracker.finish(5);
    assert_eq!((tracked.forwarded_frames, tracked.foreign_frames), (2, 4));
    assert_eq!((tracked.lost_frames, tracked.lost[0].first), (3, 11));
}

#[test]
fn more_corrupt_frames_than_claims_can_wait_are_still_counted() {
    let mut tracker = Tracker::new(0, 1_000_000_000);
    let offered = 3 * CLAIM_LIMIT as u64;
    for sequence in 0..offered {
        if sequence % 2 == 0 {
            tracker.arrive(sequence, sequence, 0);
        } else {
            tracker.corrupt(sequence);
        }
    }
    let tracked = tracker.finish(offered);
    assert_eq!(
        (tracked.lost_frames, tracked.corrupt.count),
        (0, offered / 2)
    );
}

/// Every `step`th frame arrives.
fn losing(offered: u64, step: usize) -> Tracked {
    losing_among(1, offered, step)
}

/// As with the limits of one of `streams` streams.
fn losing_among(streams: usize, offered: u64, step: usize) -> Tracked {
    let mut tracker = Tracker::new(0, 1_000_000_000).among(streams);
    for sequence in (0..offered).step_by(step) {
        tracker.arrive(sequence, sequence, 0);
    }
    let tracked = tracker.finish(offered);
    let arrived = offered.div_ceil(step as u64);
    assert_eq!(tracked.lost_frames, offered - arrived);
    let listed: u64 = tracked.lost.iter().map(|gap| gap.count).sum();
    assert_eq!(listed, offered - arrived);
    assert!(tracked.lost.len() <= gaps::LIMIT);
    tracked
}

#[test]
fn the_longest_gap_is_known_while_frames_arrive_and_shrinks_when_one_comes_late() {
    let mut tracker = Tracker::new(1000, 1 << 40);
    let ends = |tracker: &Tracker| tracker.longest_gap().map(|gap| (gap.first, gap.last));
    assert_eq!(ends(&tracker), None);
    for sequence in [0, 3, 4, 9, 12] {
        tracker.arrive(sequence, 1000 + 10 * sequence, 0);
    }
    let gap = tracker.longest_gap().unwrap();
    assert_eq!((gap.first, gap.last, gap.count), (5, 8, 4));
    assert_eq!((gap.after_ns, gap.before_ns), (Some(40), Some(90)));
    tracker.arrive(6, 1060, 1000);
    assert_eq!(ends(&tracker), Some((1, 2)), "the earliest of several");
}

#[test]
fn a_list_holds_as_many_gaps_as_its_limit() {
    let tracked = losing(2 * gaps::LIMIT as u64, 2);
    assert_eq!(
        (tracked.lost_kept_as, tracked.lost.len()),
        (KeptAs::List, gaps::LIMIT)
    );
}

#[test]
fn dense_loss_is_kept_exactly_as_bitmaps() {
    let tracked = losing(8 * gaps::LIMIT as u64, 2);
    assert_eq!(tracked.lost_kept_as, KeptAs::Bitmap);
    assert!(
        listed(&tracked.lost)
            .into_iter()
            .eq((0..8 * gaps::LIMIT as u64).filter(|n| n % 2 == 1))
    );
}

#[test]
fn memory_stays_bounded_when_loss_outgrows_the_bitmaps() {
    let streams = 16; // A single stream's limits take a minute to be outgrown.
    let limit = gaps::BITMAP_BYTES / streams;
    let tracked = losing_among(streams, 10 * limit as u64, 2);
    assert_eq!(tracked.lost_kept_as, KeptAs::Intervals);
    let bitmaps: usize = tracked
        .lost
        .iter()
        .filter_map(|gap| gap.bitmap.as_ref())
        .map(String::len)
        .sum();
    assert!(bitmaps <= limit / 3 * 4 + 4 * tracked.lost.len());
    assert!(bitmaps > limit);
}

#[test]
fn sparse_loss_becomes_intervals_of_even_width() {
    let tracked = losing_one_of(5000, 4 * gaps::LIMIT as u64);
    assert_eq!(tracked.lost_kept_as, KeptAs::Intervals);
    let widest = tracked.lost.iter().map(|gap| gap.last - gap.first).max();
    assert!(widest < Some(1 << 16), "{widest:?}");
}

/// One frame of `every` is lost, `gaps` times.
fn losing_one_of(every: u64, gaps: u64) -> Tracked {
    let mut tracker = Tracker::new(0, 1_000_000_000);
    for gap in 0..gaps {
        tracker.arrive(gap * every, 0, 0);
        tracker.next += every - 2;
    }
    let tracked = tracker.finish(gaps * every - 1);
    assert_eq!(
        tracked.lost.iter().map(|gap| gap.count).sum::<u64>(),
        gaps - 1
    );
    tracked
}

#[test]
fn late_frames_out_of_a_long_gap_do_not_outgrow_the_limit() {
    let mut tracker = Tracker::new(0, 1_000_000_000).among(256);
    let offered = 1 << 18;
    tracker.arrive(offered - 1, 0, 0);
    for sequence in (0..offered - 1).step_by(2) {
        assert_eq!(tracker.arrive(sequence, 0, 0), Outcome::Reordered);
    }
    let tracked = tracker.finish(offered);
    assert_eq!(tracked.lost_frames, offered / 2 - 1);
    assert!(tracked.lost.len() <= gaps::LIMIT / 256);
}

#[test]
fn what_every_frame_touches_lies_in_three_cache_lines() {
    assert_eq!(offset_of!(Tracker, latencies), 64);
    assert_eq!(offset_of!(Tracker, variation), 128);
}
