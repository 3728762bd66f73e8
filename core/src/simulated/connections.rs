//! The table of a stateful device: which connections it knows, since when, and what it does with one more.
//!
//! A connection is a number. It is opened by a frame from the inner side; a frame from the outer side passes only if it
//! belongs to one that is known. Times are picoseconds, and the table outlives a trial.

use std::collections::{HashMap, VecDeque};

use crate::chance::{GOLDEN, mix};

use super::device::{ConnectionSettings, WhenFull};

const PS_PER_S: f64 = 1e12;
/// The first outer port of a pool.
const FIRST_PORT: u16 = 1024;

pub struct ConnectionTable {
    settings: ConnectionSettings,
    timeout_ps: u64,
    /// The time to make one entry. A new connection waits for those before it, or is refused.
    making_ps: u64,
    making_until_ps: u64,
    known: HashMap<u32, Entry>,
    /// Connections in the order in which they were last seen, with that time; what is stale is passed over.
    seen: VecDeque<(u64, u32)>,
    /// How many are in each bucket.
    buckets: HashMap<u64, u32>,
    /// Outer ports that nobody has, the next one last.
    free_ports: Vec<u16>,
    /// Added to the times of the trial that runs.
    offset_ps: u64,
}

struct Entry {
    seen_ps: u64,
    /// Its outer port; 0 if the device translates none.
    port: u16,
}

impl ConnectionTable {
    pub fn new(settings: &ConnectionSettings) -> Self {
        let ports = FIRST_PORT..=u16::MAX;
        let count = settings.ports.unwrap_or(0) as usize;
        ConnectionTable {
            timeout_ps: (settings.timeout_s * PS_PER_S).round() as u64,
            making_ps: settings
                .new_per_second
                .map_or(0, |rate| (PS_PER_S / rate).round() as u64),
            making_until_ps: 0,
            known: HashMap::new(),
            seen: VecDeque::new(),
            buckets: HashMap::new(),
            free_ports: ports.take(count).rev().collect(),
            settings: settings.clone(),
            offset_ps: 0,
        }
    }

    /// Time goes on between two trials.
    pub fn pass(&mut self, time_ps: u64) {
        self.offset_ps += time_ps;
    }

    /// A frame of a connection comes at `now_ps` of the trial. Returns by how much its connection delays it and its outer
    /// port; nothing if it is dropped. Times never decrease.
    pub fn meet(&mut self, number: u32, opens: bool, now_ps: u64) -> Option<(u64, u16)> {
        let now_ps = now_ps + self.offset_ps;
        self.age(now_ps);
        if let Some(entry) = self.known.get_mut(&number) {
            entry.seen_ps = now_ps;
            self.seen.push_back((now_ps, number));
            return Some((0, self.known[&number].port));
        }
        if !opens {
            return None;
        }
        let begin_ps = now_ps.max(self.making_until_ps);
        let waiting = (begin_ps - now_ps).checked_div(self.making_ps);
        if waiting.is_some_and(|waiting| waiting > u64::from(self.settings.waiting)) {
            return None;
        }
        let bucket = self.bucket(number);
        let taken = |own: &Self| own.buckets.get(&bucket).copied().unwrap_or(0);
        if self.known.len() >= self.settings.entries as usize
            && !(self.settings.when_full == WhenFull::Evict && self.evict())
        {
            return None;
        }
        if self
            .settings
            .bucket_entries
            .is_some_and(|most| taken(self) >= most)
        {
            return None;
        }
        let port = match self.settings.ports {
            None => 0,
            Some(_) => self.free_ports.pop()?,
        };
        *self.buckets.entry(bucket).or_default() += 1;
        self.making_until_ps = begin_ps + self.making_ps;
        self.known.insert(
            number,
            Entry {
                seen_ps: now_ps,
                port,
            },
        );
        self.seen.push_back((now_ps, number));
        Some((self.making_until_ps - now_ps, port))
    }

    /// Forgets everything; returns how long that takes, in ns.
    pub fn forget(&mut self) -> u64 {
        let entries = self.known.len() as f64;
        let rate = self.settings.forgotten_per_second;
        *self = ConnectionTable::new(&self.settings);
        rate.map_or(0, |rate| (entries / rate * 1e9).round() as u64)
    }

    /// Removes what was not seen for too long.
    fn age(&mut self, now_ps: u64) {
        while let Some(&(seen_ps, number)) = self.seen.front()
            && now_ps - seen_ps >= self.timeout_ps
        {
            self.seen.pop_front();
            self.remove(number, seen_ps);
        }
    }

    /// Removes the connection that was not seen for the longest time.
    fn evict(&mut self) -> bool {
        while let Some((seen_ps, number)) = self.seen.pop_front() {
            if self.remove(number, seen_ps) {
                return true;
            }
        }
        false
    }

    /// Removes a connection unless it was seen since.
    fn remove(&mut self, number: u32, seen_ps: u64) -> bool {
        let is_stale = |entry: &Entry| entry.seen_ps != seen_ps;
        if self.known.get(&number).is_none_or(is_stale) {
            return false;
        }
        let bucket = self.bucket(number);
        if let Some(entry) = self.known.remove(&number)
            && self.settings.ports.is_some()
        {
            self.free_ports.push(entry.port);
        }
        if let Some(count) = self.buckets.get_mut(&bucket) {
            *count -= 1;
        }
        true
    }

    /// A hash of the number (splitmix64).
    fn bucket(&self, number: u32) -> u64 {
        let value = mix((u64::from(number) + 1).wrapping_mul(GOLDEN));
        value % u64::from(self.settings.buckets.unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000_000;

    fn settings(entries: u32) -> ConnectionSettings {
        ConnectionSettings {
            entries,
            timeout_s: 10.0,
            when_full: WhenFull::Refuse,
            new_per_second: None,
            waiting: 0,
            forgotten_per_second: None,
            buckets: None,
            bucket_entries: None,
            ports: None,
        }
    }

    fn passes(table: &mut ConnectionTable, number: u32, opens: bool, now_ps: u64) -> bool {
        table.meet(number, opens, now_ps).is_some()
    }

    #[test]
    fn only_the_inner_side_opens_and_a_full_table_refuses() {
        let mut table = ConnectionTable::new(&settings(2));
        assert!(!passes(&mut table, 7, false, 0));
        assert!(passes(&mut table, 7, true, 0) && passes(&mut table, 8, true, 1));
        assert!(!passes(&mut table, 9, true, 2));
        assert!(passes(&mut table, 7, false, 3) && !passes(&mut table, 9, false, 4));
        // Number 8 was seen 10 s ago, number 7 later.
        assert!(
            passes(&mut table, 9, true, 10 * S + 1) && !passes(&mut table, 8, false, 10 * S + 1)
        );
        assert!(passes(&mut table, 7, false, 10 * S + 2));
    }

    #[test]
    fn a_device_that_evicts_takes_the_place_of_the_oldest() {
        let mut evicting = settings(2);
        evicting.when_full = WhenFull::Evict;
        let mut table = ConnectionTable::new(&evicting);
        for (number, now_ps) in [(1, 0), (2, 1), (1, 2), (3, 3)] {
            assert!(passes(&mut table, number, true, now_ps));
        }
        assert!(!passes(&mut table, 2, false, 4) && passes(&mut table, 1, false, 4));
    }

    #[test]
    fn a_pool_of_ports_is_used_once_each() {
        let mut pool = settings(9);
        pool.ports = Some(2);
        let mut table = ConnectionTable::new(&pool);
        assert_eq!(table.meet(1, true, 0), Some((0, 1024)));
        assert_eq!(table.meet(2, true, 0), Some((0, 1025)));
        assert_eq!(table.meet(3, true, 0), None);
        table.forget();
        assert_eq!(table.meet(3, true, 0), Some((0, 1024)));
    }

    #[test]
    fn new_connections_wait_for_each_other_and_then_are_refused() {
        let mut slow = settings(9);
        (slow.new_per_second, slow.waiting) = (Some(1.0), 1);
        slow.forgotten_per_second = Some(2.0);
        let mut table = ConnectionTable::new(&slow);
        assert_eq!(table.meet(1, true, 0), Some((S, 0)));
        assert_eq!(table.meet(2, true, 0), Some((2 * S, 0)));
        assert_eq!(table.meet(3, true, 0), None);
        assert_eq!(table.forget(), 1_000_000_000);
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_it_may_and_every_bucket_is_counted(
            frames in proptest::collection::vec((0u32..40, any::<bool>(), 0u64..3 * S), 1..300),
            evicts: bool,
        ) {
            let mut own = settings(20);
            (own.buckets, own.bucket_entries, own.ports) = (Some(5), Some(6), Some(19));
            if evicts { own.when_full = WhenFull::Evict; }
            let mut table = ConnectionTable::new(&own);
            let mut now_ps = 0;
            for (number, opens, later_ps) in frames {
                now_ps += later_ps;
                let knew = table.known.contains_key(&number);
                let passed = passes(&mut table, number, opens, now_ps);
                prop_assert!(!passed || opens || knew);
                prop_assert!(table.known.len() <= 19);
                prop_assert_eq!(table.known.len() + table.free_ports.len(), 19);
                prop_assert!(table.buckets.values().all(|count| *count <= 6));
                prop_assert_eq!(table.buckets.values().sum::<u32>() as usize, table.known.len());
            }
        }
    }
}
