//! `Arrivals`: what came of one flow in one direction, in bounded memory. It reads no clock.
//!
//! Which numbers are missing, the `Gaps` of trials keep. Beside them is a `Pause` for each time in which something was
//! missing, or nothing came for longer than is usual: the packets on both sides of it, by the clocks of both ends.

use serde::Serialize;

use crate::account::gaps::{self, Gap, Gaps, KeptAs};

/// The most pauses of all flows together.
const PAUSES: usize = 1 << 16;
/// And at least so many of each.
const LEAST: usize = 64;
/// Intervals of time of a `Delays`.
const BUCKETS: usize = 2048;
const FIRST_WIDTH_NS: u64 = 100_000_000;

/// One packet that came.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Arrival {
    pub number: u64,
    /// By the sender's clock.
    pub sent_ns: u64,
    /// By the receiver's clock.
    pub arrived_ns: u64,
    /// How many packets of the flow were sent before it.
    pub sent_before: u64,
}

/// From one packet that came to the next.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Pause {
    pub before: Arrival,
    pub after: Arrival,
    /// Packets that the receiver's own host dropped meanwhile, because the socket had no room.
    pub dropped: u64,
    /// Packets sent in it that came afterwards, all at once.
    pub held: u64,
}

pub struct Arrivals {
    gaps: Gaps,
    limit: usize,
    /// An arrival that is later than this after the one before makes a pause.
    quiet_ns: u64,
    first: Option<Arrival>,
    last: Option<Arrival>,
    /// When anything of this flow came last.
    heard_ns: u64,
    next: u64,
    received: u64,
    duplicated: u64,
    reordered: u64,
    pauses: Vec<Pause>,
    unlisted: u64,
    /// Packets sent before this, by the sender's clock, were held in the last pause.
    held_until_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ArrivalsRecord {
    pub received: u64,
    pub duplicated: u64,
    pub reordered: u64,
    /// One more than the highest number that came.
    pub next: u64,
    pub first: Option<Arrival>,
    pub last: Option<Arrival>,
    pub missing: Vec<Gap>,
    pub missing_kept_as: KeptAs,
    pub pauses: Vec<Pause>,
    /// Pauses for which there was no room.
    pub unlisted: u64,
}

impl Arrivals {
    /// Of one of `flows`.
    pub fn new(quiet_ns: u64, flows: usize) -> Self {
        let share = |limit: usize| (limit / flows.max(1)).max(LEAST);
        Arrivals {
            gaps: Gaps::new(share(gaps::LIMIT), share(gaps::BITMAP_BYTES)),
            limit: share(PAUSES),
            quiet_ns,
            first: None,
            last: None,
            heard_ns: 0,
            next: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            pauses: Vec::new(),
            unlisted: 0,
            held_until_ns: 0,
        }
    }

    /// One more than the highest number, and how many packets.
    pub fn heard(&self) -> (u64, u64) {
        (self.next, self.received)
    }

    /// When anything came last.
    pub fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// One packet; `dropped` says what the socket dropped since the packet before, and is asked where something is missing.
    pub fn take(&mut self, arrival: Arrival, dropped: impl FnOnce() -> u64) {
        let Some(last) = self.last else {
            self.first = Some(arrival);
            self.last = Some(arrival);
            self.heard_ns = arrival.arrived_ns;
            self.next = arrival.number + 1;
            self.received = 1;
            return;
        };
        let silent_ns = arrival.arrived_ns.saturating_sub(self.heard_ns);
        self.heard_ns = self.heard_ns.max(arrival.arrived_ns);
        if arrival.number < self.next {
            if self.gaps.fill(arrival.number).is_some() {
                self.received += 1;
                self.reordered += 1;
            } else {
                self.duplicated += 1;
            }
            return;
        }
        if arrival.number > self.next {
            let (first, last_missing) = (self.next, arrival.number - 1);
            self.gaps.add(
                first,
                last_missing,
                Some(last.sent_ns),
                Some(arrival.sent_ns),
                self.received,
            );
        }
        if arrival.number > self.next || silent_ns > self.quiet_ns {
            self.pause(last, arrival, dropped());
        } else if arrival.sent_ns < self.held_until_ns
            && let Some(pause) = self.pauses.last_mut()
        {
            pause.held += 1;
        }
        self.received += 1;
        self.next = arrival.number + 1;
        self.last = Some(arrival);
    }

    fn pause(&mut self, before: Arrival, after: Arrival, dropped: u64) {
        let silent_ns = after.arrived_ns.saturating_sub(before.arrived_ns);
        // What came at its usual time after it was sent was not held.
        let held = after.sent_ns < before.sent_ns + silent_ns.saturating_sub(self.quiet_ns);
        self.held_until_ns = before.sent_ns + silent_ns.saturating_sub(self.quiet_ns);
        if self.pauses.len() >= self.limit {
            self.unlisted += 1;
            return;
        }
        self.pauses.push(Pause {
            before,
            after,
            dropped,
            held: u64::from(held),
        });
    }

    pub fn record(&self) -> ArrivalsRecord {
        let (missing, missing_kept_as) = self.gaps.so_far();
        ArrivalsRecord {
            received: self.received,
            duplicated: self.duplicated,
            reordered: self.reordered,
            next: self.next,
            first: self.first,
            last: self.last,
            missing,
            missing_kept_as,
            pauses: self.pauses.clone(),
            unlisted: self.unlisted,
        }
    }
}

/// Delays of all flows in one direction over time, by both clocks: the clocks' difference is in them.
pub struct Delays {
    start_ns: u64,
    width_ns: u64,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    least_ns: i64,
    most_ns: i64,
    sum_ns: i64,
}

#[derive(Clone, Debug, Serialize)]
pub struct DelaysRecord {
    pub start_ns: u64,
    pub width_ns: u64,
    /// Of each interval of time: count, least, mean and largest delay in ns.
    pub rows: Vec<(u64, i64, i64, i64)>,
}

impl Delays {
    pub fn new(start_ns: u64) -> Self {
        Delays {
            start_ns,
            width_ns: FIRST_WIDTH_NS,
            buckets: Vec::new(),
        }
    }

    pub fn take(&mut self, arrival: &Arrival) {
        let delay_ns = arrival.arrived_ns.wrapping_sub(arrival.sent_ns) as i64;
        let after_ns = arrival.arrived_ns.saturating_sub(self.start_ns);
        while after_ns / self.width_ns >= BUCKETS as u64 {
            self.width_ns *= 2;
            self.buckets = self.buckets.chunks(2).map(Bucket::sum).collect();
        }
        let place = (after_ns / self.width_ns) as usize;
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, Bucket::default());
        }
        let one = Bucket {
            count: 1,
            least_ns: delay_ns,
            most_ns: delay_ns,
            sum_ns: delay_ns,
        };
        self.buckets[place] = Bucket::sum(&[self.buckets[place], one]);
    }

    pub fn record(&self) -> DelaysRecord {
        let mean = |one: &Bucket| one.sum_ns / (one.count.max(1) as i64);
        DelaysRecord {
            start_ns: self.start_ns,
            width_ns: self.width_ns,
            rows: self
                .buckets
                .iter()
                .map(|one| (one.count, one.least_ns, mean(one), one.most_ns))
                .collect(),
        }
    }
}

impl Bucket {
    fn sum(parts: &[Bucket]) -> Bucket {
        let parts = || parts.iter().filter(|one| one.count > 0);
        Bucket {
            count: parts().map(|one| one.count).sum(),
            least_ns: parts().map(|one| one.least_ns).min().unwrap_or(0),
            most_ns: parts().map(|one| one.most_ns).max().unwrap_or(0),
            sum_ns: parts().fold(0, |sum, one| one.sum_ns.wrapping_add(sum)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Packet n is sent at n x 10 ms and comes `delay` ms later, by a clock that is 1 s ahead.
    fn arrival(number: u64, delay: u64) -> Arrival {
        Arrival {
            number,
            sent_ns: number * 10 * MS,
            arrived_ns: number * 10 * MS + delay * MS + 1_000 * MS,
            sent_before: number,
        }
    }

    fn of(packets: &[(u64, u64)]) -> ArrivalsRecord {
        let mut arrivals = Arrivals::new(50 * MS, 1);
        for (number, delay) in packets {
            arrivals.take(arrival(*number, *delay), || 0);
        }
        arrivals.record()
    }

    #[test]
    fn lost_packets_make_a_pause_with_the_packets_on_both_sides() {
        let found = of(&[(0, 2), (1, 2), (5, 2), (6, 2)]);
        assert_eq!((found.received, found.next), (4, 7));
        assert_eq!((found.missing[0].first, found.missing[0].last), (2, 4));
        assert_eq!(found.pauses.len(), 1);
        assert_eq!(found.pauses[0].before, arrival(1, 2));
        assert_eq!(found.pauses[0].after, arrival(5, 2));
        assert_eq!(found.pauses[0].held, 0);
    }

    #[test]
    fn what_comes_late_fills_its_gap_and_a_second_time_it_is_a_duplicate() {
        let found = of(&[(0, 2), (2, 2), (1, 13), (1, 14), (3, 2)]);
        assert_eq!(
            (found.received, found.reordered, found.duplicated),
            (4, 1, 1)
        );
        assert!(found.missing.is_empty());
        assert_eq!(
            found.pauses.len(),
            1,
            "the analysis compares it with what is missing"
        );
    }

    #[test]
    fn packets_that_were_held_are_a_pause_without_loss() {
        // Packets 2 to 21, sent from 20 to 210 ms, come together at 222 ms.
        let mut packets = vec![(0, 2), (1, 2)];
        packets.extend((2..22).map(|number| (number, 222 - number * 10)));
        packets.push((22, 2));
        let found = of(&packets);
        assert!(found.missing.is_empty());
        assert_eq!(found.pauses.len(), 1);
        // All that were sent 50 ms before they came, or earlier.
        assert_eq!(found.pauses[0].held, 15);
    }

    #[test]
    fn a_delay_that_grows_for_good_is_one_pause() {
        let found = of(&[(0, 2), (1, 2), (2, 102), (3, 102), (4, 102)]);
        assert_eq!(found.pauses.len(), 1);
    }

    #[test]
    fn intervals_of_time_become_wider_and_keep_their_sums() {
        let mut delays = Delays::new(1_000 * MS);
        for number in 0..30_000 {
            delays.take(&arrival(number, 1 + number % 3));
        }
        let found = delays.record();
        assert_eq!(found.width_ns, 2 * FIRST_WIDTH_NS);
        assert_eq!(found.rows.iter().map(|row| row.0).sum::<u64>(), 30_000);
        assert!(
            found
                .rows
                .iter()
                .all(|row| row.1 >= 1_001 * MS as i64 && row.3 <= 1_003 * MS as i64)
        );
    }
}
