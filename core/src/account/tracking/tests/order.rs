//! Reordering and delay variation against their definitions, applied to the whole list of arrivals.

use std::collections::{BTreeMap, VecDeque};

use crate::reordering::Reordering;
use crate::reordering::extent::Extents;

use super::*;

/// Of the first copies in order of arrival: number, when received, latency in ps.
type Arrivals = [(u64, u64, i64)];

/// RFC 4737, each metric by its definition: O(n²).
#[derive(Debug, Default, PartialEq)]
struct Order {
    extents: Vec<u64>,
    byte_offsets: Vec<u64>,
    late_times: Vec<u64>,
    gaps: Vec<u64>,
    gap_times: Vec<u64>,
    run_squares: u128,
    in_order: u64,
    n_reordered: Vec<u64>,
}

fn order(arrivals: &Arrivals) -> Order {
    let mut found = Order::default();
    let (mut run, mut detected) = (0u128, BTreeSet::new());
    for (i, &(number, received_ns, _)) in arrivals.iter().enumerate() {
        let before = &arrivals[..i];
        let Some(j) = before.iter().position(|earlier| earlier.0 > number) else {
            found.in_order += 1;
            run += 1;
            continue;
        };
        found.run_squares += run * run;
        run = 0;
        found.extents.push((i - j) as u64);
        let greater = before.iter().filter(|earlier| earlier.0 > number);
        found.byte_offsets.push(greater.count() as u64);
        found.late_times.push(received_ns - arrivals[j].1);
        let last = detected.range(..j).next_back().copied();
        if detected.insert(j)
            && let Some(last) = last
        {
            found.gaps.push((j - last) as u64);
            found.gap_times.push(arrivals[j].1 - arrivals[last].1);
        }
        let behind = before.iter().rev().take_while(|earlier| earlier.0 > number);
        for n in 0..behind.take(100).count() {
            if n == found.n_reordered.len() {
                found.n_reordered.push(0);
            }
            found.n_reordered[n] += 1;
        }
    }
    found
}

/// RFC 5236 §7.1 step by step, and how many frames it discards.
fn displacements(first: u64, threshold: u64, numbers: &[u64]) -> (BTreeMap<i64, u64>, u64) {
    let mut incoming = numbers.iter().copied();
    let size = threshold as usize + 1;
    let mut window: VecDeque<u64> = incoming.by_ref().take(size).collect();
    let (mut buffer, mut index) = (BTreeSet::new(), first);
    let (mut frequencies, mut discarded) = (BTreeMap::new(), 0);
    while !window.is_empty() {
        if !window.contains(&index) && !buffer.contains(&index) {
            index += 1;
            continue;
        }
        let number = window.pop_front().unwrap();
        let displacement = index as i64 - number as i64;
        if displacement.unsigned_abs() <= threshold {
            *frequencies.entry(displacement).or_insert(0) += 1;
            buffer.remove(&index);
            if displacement < 0 {
                buffer.insert(number);
            }
            index += 1;
        } else {
            discarded += 1;
        }
        for next in incoming.by_ref() {
            if next >= index {
                window.push_back(next);
                break;
            }
            discarded += 1;
        }
    }
    (frequencies, discarded)
}

/// RFC 5236 §7.2, but what arrives at a full buffer is stored in the place that becomes free (the RFC forgets it).
fn occupancies(first: u64, threshold: u64, numbers: &[u64]) -> BTreeMap<u64, u64> {
    let (mut held, mut expected) = (BTreeSet::new(), first);
    let mut frequencies = BTreeMap::new();
    for &number in numbers {
        if number < expected {
            continue;
        }
        held.insert(number);
        if held.len() as u64 > threshold && number != expected {
            expected = *held.first().unwrap();
        }
        while held.remove(&expected) {
            expected += 1;
        }
        *frequencies.entry(held.len() as u64).or_insert(0) += 1;
    }
    frequencies
}

fn summary(values: &[u64]) -> (u64, u64, BTreeMap<u32, u64>) {
    let most = values.iter().copied().max().unwrap_or(0);
    (most, values.iter().sum(), by_power(values))
}

fn summed(extents: &Extents) -> (u64, u64, BTreeMap<u32, u64>) {
    let powers = (0..).zip(extents.by_power_of_two.iter().copied());
    let powers = powers.filter(|(_, count)| *count > 0).collect();
    (extents.max_frames, extents.sum_frames, powers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn reordering_and_variation_are_those_of_the_definitions(
        (first, offered, seen) in stream(),
        latencies in proptest::collection::vec(-40_000i64..40_000, 1..50),
        threshold in 1u64..40,
    ) {
        let mut tracker = Tracker::new(0, 100).planned(first, offered).varying(true, 1);
        tracker.reordering = Reordering::new(first, threshold);
        let mut firsts = Vec::new();
        for (place, seen) in seen.iter().enumerate() {
            let latency_ps = latencies[place % latencies.len()];
            let received_ns = 1000 + 7 * place as u64;
            let sent_ns = received_ns.wrapping_add_signed(-latency_ps.div_euclid(1000));
            if let Seen::Intact(sequence) = *seen
                && tracker.arrive(sequence & MASK_48, sent_ns, latency_ps).is_first()
            {
                firsts.push((sequence, received_ns, latency_ps));
            }
        }
        let tracked = tracker.finish(offered);
        let numbers: Vec<u64> = firsts.iter().map(|arrival| arrival.0).collect();

        let latencies: BTreeMap<u64, i64> = firsts.iter().map(|(number, _, ps)| (*number, *ps)).collect();
        let pairs = latencies
            .iter()
            .filter_map(|(number, ps)| Some(ps - latencies.get(&(number.checked_sub(1)?))?));
        let mut pairs: Vec<i64> = pairs.collect();
        pairs.sort_unstable();
        prop_assert_eq!(tracked.variation.is_some(), !pairs.is_empty());
        if let Some(variation) = tracked.variation {
            prop_assert_eq!(variation.count, pairs.len() as u64);
            prop_assert_eq!(variation.min_ns, pairs[0] as f64 / 1000.0);
            prop_assert_eq!(variation.max_ns, pairs[pairs.len() - 1] as f64 / 1000.0);
            let mean_ns = pairs.iter().sum::<i64>() as f64 / pairs.len() as f64 / 1000.0;
            prop_assert!((variation.mean_ns - mean_ns).abs() < 1e-9);
            prop_assert_eq!(variation.histogram.counts.iter().sum::<u64>(), variation.count);
        }

        let expected = order(&firsts);
        prop_assert_eq!(tracked.reordering.is_some(), !expected.extents.is_empty());
        let Some(found) = tracked.reordering else { return Ok(()) };
        prop_assert_eq!(summed(&found.extent), summary(&expected.extents));
        prop_assert_eq!(summed(&found.byte_offset), summary(&expected.byte_offsets));
        prop_assert_eq!(summed(&found.gap), summary(&expected.gaps));
        prop_assert_eq!(found.late_time.count, expected.late_times.len() as u64);
        prop_assert_eq!(found.late_time.max_ns, expected.late_times.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(found.gap_time.max_ns, expected.gap_times.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(found.run_squares, expected.run_squares);
        prop_assert_eq!(found.in_order_frames, expected.in_order);
        prop_assert_eq!(found.n_reordered, expected.n_reordered);
        let (displaced, discarded) = displacements(first, threshold, &numbers);
        prop_assert_eq!(found.displacement, Vec::from_iter(displaced));
        prop_assert_eq!(found.discarded_frames, discarded);
        prop_assert_eq!(found.occupancy, Vec::from_iter(occupancies(first, threshold, &numbers)));
    }
}

fn tracked(threshold: u64, numbers: &[u64]) -> ReorderingRecord {
    let mut tracker = Tracker::new(0, 1).planned(1, 100);
    tracker.reordering = Reordering::new(1, threshold);
    numbers.iter().for_each(|number| {
        tracker.arrive(*number, 0, 0);
    });
    tracker.finish(numbers.len() as u64).reordering.unwrap()
}

#[test]
fn the_examples_of_rfc_5236_come_out() {
    let found = tracked(4, &[1, 4, 2, 5, 3, 6, 7, 8]);
    assert_eq!(
        found.displacement,
        [(-2, 1), (-1, 1), (0, 4), (1, 1), (2, 1)]
    );
    assert_eq!(found.occupancy, [(0, 5), (1, 2), (2, 1)]);
    let found = tracked(2, &[1, 3, 2, 3, 4, 5]);
    assert_eq!(found.displacement, [(-1, 1), (0, 3), (1, 1)]);
    assert_eq!(found.occupancy, [(0, 4), (1, 1)]);
    let found = tracked(4, &[1, 4, 3, 5, 3, 8, 7, 6]);
    assert_eq!(
        found.displacement,
        [(-2, 1), (-1, 1), (0, 3), (1, 1), (2, 1)]
    );
}

#[test]
fn the_example_of_rfc_4737_for_n_reordering_comes_out() {
    let found = tracked(10, &[1, 2, 3, 7, 8, 9, 4, 5, 6]);
    assert_eq!(found.n_reordered, [1, 1, 1]);
    assert_eq!(found.extent.sum_frames, 3 + 4 + 5);
    assert_eq!(found.byte_offset.sum_frames, 3 + 3 + 3);
}
