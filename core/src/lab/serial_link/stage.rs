//! `Stage`: one store-and-forward line with its queue, in virtual time. It never reads a clock.
//!
//! `start = max(now, busy); busy = start + 8·L/C`. A packet waits until it begins to be sent; a packet for which the
//! queue has no room is dropped (drop-tail).

use std::collections::VecDeque;

/// 10^12: times here are picoseconds, so that 64 bytes at 100 Gb/s (5.12 ns) are still exact to 0.02 %.
const PICOSECONDS: u128 = 1_000_000_000_000;

#[derive(Clone, Debug)]
pub struct Stage {
    bits_per_second: u64,
    queue_bytes: u64,
    busy_until: u64,
    /// When each packet that waits begins to be sent, and its bytes.
    waiting: VecDeque<(u64, u64)>,
    waiting_bytes: u64,
    /// Time spent sending, in ps.
    pub busy: u128,
}

impl Stage {
    /// `bits_per_second` must not be zero.
    pub fn new(bits_per_second: u64, queue_bytes: u64) -> Self {
        Stage {
            bits_per_second,
            queue_bytes,
            busy_until: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            busy: 0,
        }
    }

    /// The time in ps to send a packet of `bytes`, rounded to the nearest.
    pub fn transmission(&self, bytes: u64) -> u64 {
        let rate = u128::from(self.bits_per_second);
        ((u128::from(bytes) * 8 * PICOSECONDS + rate / 2) / rate) as u64
    }

    /// How long a packet that arrives at `now` waits until it begins to be sent.
    pub fn wait(&self, now: u64) -> u64 {
        self.busy_until.saturating_sub(now)
    }

    /// How many bytes are sent in a time.
    pub fn bytes_in(&self, time: u64) -> f64 {
        time as f64 * self.bits_per_second as f64 / 8e12
    }

    /// Whether a packet that arrives at `now` is sent at once or may wait.
    pub fn has_room(&mut self, now: u64, bytes: u64) -> bool {
        while self.waiting.front().is_some_and(|&(start, _)| start <= now) {
            let (_, left) = self.waiting.pop_front().unwrap_or_default();
            self.waiting_bytes -= left;
        }
        self.busy_until <= now || self.waiting_bytes + bytes <= self.queue_bytes
    }

    /// When a packet that arrives at `now` has been sent; None if the queue has no room for it.
    ///
    /// Packets must come in the order of their arrival.
    pub fn pass(&mut self, now: u64, bytes: u64) -> Option<u64> {
        if !self.has_room(now, bytes) {
            return None;
        }
        let start = self.busy_until.max(now);
        if start > now {
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += bytes;
        }
        let transmission = self.transmission(bytes);
        self.busy += u128::from(transmission);
        self.busy_until = start + transmission;
        Some(self.busy_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MICROSECOND: u64 = 1_000_000;

    #[test]
    fn a_lone_packet_takes_eight_bits_a_byte() {
        let mut stage = Stage::new(10_000_000, 0);
        assert_eq!(stage.pass(7, 1500), Some(7 + 1200 * MICROSECOND));
        let mut fast = Stage::new(100_000_000_000, 0);
        assert_eq!(fast.pass(0, 64), Some(5120));
    }

    #[test]
    fn a_pair_leaves_one_transmission_apart_and_a_third_finds_no_room() {
        let mut stage = Stage::new(100_000_000, 1000);
        assert_eq!(stage.pass(0, 1000), Some(80 * MICROSECOND));
        assert_eq!(stage.pass(0, 1000), Some(160 * MICROSECOND));
        assert_eq!(stage.pass(0, 1), None);
        // A packet that is being sent does not count as waiting.
        assert_eq!(stage.pass(80 * MICROSECOND, 1000), Some(240 * MICROSECOND));
        assert_eq!(stage.busy, 240_000_000);
    }

    proptest! {
        #[test]
        fn departures_keep_the_rate_and_the_queue_its_bound(
            rate in 1_000u64..200_000_000_000,
            queue in 0u64..100_000,
            packets in prop::collection::vec((0u64..50_000_000, 1u64..9200), 1..200),
        ) {
            let mut stage = Stage::new(rate, queue);
            let (mut now, mut left, mut sent) = (0, 0, Vec::<(u64, u64)>::new());
            for (gap, bytes) in packets {
                now += gap;
                let waiting: u64 = sent.iter()
                    .filter(|(end, bytes)| end - stage.transmission(*bytes) > now)
                    .map(|(_, bytes)| bytes).sum();
                prop_assert!(waiting <= queue);
                match stage.pass(now, bytes) {
                    Some(end) => {
                        prop_assert_eq!(end, now.max(left) + stage.transmission(bytes));
                        left = end;
                        sent.push((end, bytes));
                    }
                    None => prop_assert!(waiting + bytes > queue && left > now),
                }
            }
            let busy: u128 = sent.iter().map(|(_, bytes)| u128::from(stage.transmission(*bytes))).sum();
            prop_assert_eq!(stage.busy, busy);
        }
    }
}
