//! Puts the arrivals of several receive queues into the order of their stamps.
//!
//! Each queue has a CPU of its own, which stamps a frame and hands it over a little later, so that frames of two queues
//! may be handed over in another order than they arrived. They wait here for as long as that may take.

use crate::port::arrival::Arrival;

/// `A` is an arrival, or one with its view.
pub struct InOrder<A = Arrival> {
    waiting: Vec<(u64, A)>,
}

impl<A> Default for InOrder<A> {
    fn default() -> Self {
        InOrder {
            waiting: Vec::new(),
        }
    }
}

impl<A> InOrder<A> {
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    #[inline]
    pub fn push(&mut self, stamp_ns: u64, arrival: A) {
        self.waiting.push((stamp_ns, arrival));
    }

    /// Hands over the arrivals with stamps up to `until_ns`; those with equal stamps as they were pushed.
    pub fn release(&mut self, until_ns: u64, sink: &mut dyn FnMut(A)) {
        let stamp = |(stamp_ns, _): &(u64, A)| *stamp_ns;
        if !self.waiting.is_sorted_by_key(stamp) {
            self.waiting.sort_by_key(stamp);
        }
        let end = self
            .waiting
            .partition_point(|(stamp_ns, _)| *stamp_ns <= until_ns);
        for (_, arrival) in self.waiting.drain(..end) {
            sink(arrival);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrival(sequence: u64) -> Arrival {
        Arrival::Corrupt {
            stream: 1,
            sequence,
            received_ns: 0,
        }
    }

    fn released(in_order: &mut InOrder, until_ns: u64) -> Vec<Arrival> {
        let mut found = Vec::new();
        in_order.release(until_ns, &mut |arrival| found.push(arrival));
        found
    }

    #[test]
    fn frames_of_one_stream_on_two_queues_are_not_taken_for_reordered() {
        let mut in_order = InOrder::<Arrival>::default();
        // The second queue hands over frame 1 while the first one is still checking frame 0.
        for (stamp_ns, sequence) in [(110, 1), (100, 0), (130, 3), (120, 2)] {
            in_order.push(stamp_ns, arrival(sequence));
        }
        assert_eq!(released(&mut in_order, 120), [0, 1, 2].map(arrival));
        in_order.push(125, arrival(9));
        assert_eq!(released(&mut in_order, u64::MAX), [9, 3].map(arrival));
    }

    proptest! {
        #[test]
        fn what_is_late_by_less_than_it_waits_is_in_order(delays in proptest::collection::vec(0u64..50, 1..300)) {
            // Frame n is stamped at n and pushed at n + its delay.
            let mut pushes: Vec<(u64, u64)> =
                delays.iter().enumerate().map(|(n, delay)| (n as u64 + delay, n as u64)).collect();
            pushes.sort();
            let mut in_order = InOrder::<Arrival>::default();
            let mut found = Vec::new();
            for (now, number) in pushes {
                in_order.push(number, arrival(number));
                in_order.release(now.saturating_sub(50), &mut |arrival| found.push(arrival));
            }
            in_order.release(u64::MAX, &mut |arrival| found.push(arrival));
            let expected: Vec<_> = (0..delays.len() as u64).map(arrival).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
