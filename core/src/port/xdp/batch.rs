//! How many frames an xdp port hands to the kernel together: as few as the cost of a frame allows.
//!
//! A frame of a batch is stamped when it is due and leaves with the batch, so a larger batch makes stamps earlier than
//! departures. But a frame costs less in one: through a bridge on the sender's core 1.4 to 2.2 µs alone and about 1 µs
//! among 16 (benchmarks/README.md). So the cost is measured as the load is sent, and the batch follows it.

/// Sizes of batches; larger ones make frames no cheaper.
const SIZES: [u32; 4] = [1, 4, 16, 64];
/// Share of the time that frames may cost; the rest is for interruptions and for catching up.
const MOST: f64 = 0.85;
/// Share of the time that frames cost at most where there is room.
const ROOM: f64 = 0.25;
/// The cost is the median of this many calls, so that what disturbs two of them in a row decides nothing.
const CALLS: usize = 5;
/// The cost of smaller batches is forgotten by this factor a call.
const FORGET: f64 = 0.999;

/// The cost of a frame in batches of each size, as it was last met. It outlives a trial: the next one starts well.
#[derive(Default)]
pub struct Batch {
    costs: [Cost; SIZES.len()],
    at: usize,
}

/// Nanoseconds a frame in the last calls with one size.
#[derive(Default)]
struct Cost {
    last_ns: [f64; CALLS],
    met: usize,
}

impl Cost {
    fn met(&mut self, cost_ns: f64) {
        self.last_ns[self.met % CALLS] = cost_ns;
        self.met += 1;
    }

    /// Zero where it is not known.
    fn median_ns(&self) -> f64 {
        let mut met = self.last_ns;
        let met = &mut met[..self.met.min(CALLS)];
        met.sort_by(f64::total_cmp);
        met.get(met.len() / 2).copied().unwrap_or(0.0)
    }

    fn forget(&mut self) {
        self.last_ns.iter_mut().for_each(|ns| *ns *= FORGET);
    }
}

impl Batch {
    /// The smallest batch whose frames cost less than their share of `period_ns`, the mean time between departures.
    pub fn choose(&mut self, period_ns: u64) -> u32 {
        let most_ns = MOST * period_ns as f64;
        let fits = |cost: &Cost| cost.median_ns() <= most_ns;
        self.at = self.costs.iter().position(fits).unwrap_or(SIZES.len() - 1);
        SIZES[self.at]
    }

    /// Whether frames of the chosen batch cost so little that the sender would not be late if they cost several times more.
    pub fn has_room(&self, period_ns: u64) -> bool {
        let cost = &self.costs[self.at];
        cost.met > 0 && cost.median_ns() <= ROOM * period_ns as f64
    }

    /// After a call with the chosen batch that sent so many frames and was busy for so long.
    pub fn met(&mut self, frames: u64, busy_ns: u64) {
        // The set-up of a call is no cost of a frame where the call sends few.
        if frames < 4 * u64::from(SIZES[self.at]) {
            return;
        }
        let (smaller, own) = self.costs.split_at_mut(self.at);
        smaller.iter_mut().for_each(Cost::forget);
        own[0].met(busy_ns as f64 / frames as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches of calls whose frames cost what `cost_ns` says of a batch.
    fn batches(
        batch: &mut Batch,
        calls: usize,
        period_ns: u64,
        cost_ns: impl Fn(u32) -> u64,
    ) -> Vec<u32> {
        (0..calls)
            .map(|_| {
                let chosen = batch.choose(period_ns);
                batch.met(1000, 1000 * cost_ns(chosen));
                chosen
            })
            .collect()
    }

    #[test]
    fn a_cheap_frame_goes_alone() {
        assert_eq!(batches(&mut Batch::default(), 100, 1000, |_| 700), [1; 100]);
    }

    #[test]
    fn the_smallest_batch_that_is_fast_enough_is_found_and_kept() {
        let cost = |batch| if batch < 16 { 2200 } else { 1000 };
        let chosen = batches(&mut Batch::default(), 200, 2000, cost);
        assert_eq!(chosen[..3], [1, 4, 16]);
        let slow = chosen.iter().filter(|batch| **batch < 16).count();
        assert!(slow <= 10, "{slow} of 200 calls were too slow");
    }

    #[test]
    fn two_disturbed_calls_decided_for_half_a_second() {
        let mut batch = Batch::default();
        batches(&mut batch, 10, 2000, |_| 1000);
        assert_eq!(batches(&mut batch, 2, 2000, |_| 5000), [1; 2]);
        assert_eq!(batches(&mut batch, 300, 2000, |_| 1000), [1; 300]);
    }

    #[test]
    fn frames_that_became_dear_go_together_after_three_calls() {
        let mut batch = Batch::default();
        batches(&mut batch, 10, 2000, |_| 1000);
        let dear = |batch| if batch < 4 { 5000 } else { 1000 };
        assert_eq!(batches(&mut batch, 5, 2000, dear), [1, 1, 1, 4, 4]);
    }

    #[test]
    fn there_is_room_only_where_the_cost_is_known_and_small() {
        let mut batch = Batch::default();
        batch.choose(10_000);
        assert!(!batch.has_room(10_000));
        batch.met(1000, 2_000_000);
        assert!(batch.has_room(10_000) && !batch.has_room(7_000));
    }

    #[test]
    fn a_load_that_no_batch_can_carry_gets_the_largest() {
        assert_eq!(batches(&mut Batch::default(), 10, 100, |_| 900)[9], 64);
    }

    #[test]
    fn a_call_of_few_frames_says_nothing_of_their_cost() {
        let mut batch = Batch::default();
        batch.choose(200_000);
        batch.met(1, 900_000);
        assert_eq!(batch.choose(200_000), 1);
    }
}
