//! How many frames an xdp port hands to the kernel together: as few as the cost of a frame allows.
//!
//! A frame of a batch is stamped when it is due and leaves with the batch, so a larger batch makes stamps earlier than
//! departures. But a frame costs less in one: through a bridge on the sender's core 1.4 to 2.2 µs alone and about 1 µs
//! among 16 (benchmarks/README.md). So the cost is measured as the load is sent, and the batch follows it.

/// Sizes of batches; larger ones make frames no cheaper.
const SIZES: [u32; 4] = [1, 4, 16, 64];
/// Share of the time that frames may cost; the rest is for interruptions and for catching up.
const MOST: f64 = 0.85;
/// Weight of the newest call in the mean cost.
const NEWEST: f64 = 0.3;
/// The cost of smaller batches is forgotten by this factor a call, so that one interruption does not decide for long.
const FORGET: f64 = 0.999;

/// The cost of a frame in batches of each size, as it was last met. It outlives a trial: the next one starts well.
#[derive(Default)]
pub struct Batch {
    /// Nanoseconds a frame; zero where it is not known.
    costs_ns: [f64; SIZES.len()],
    at: usize,
}

impl Batch {
    /// The smallest batch whose frames cost less than their share of `period_ns`, the mean time between departures.
    pub fn choose(&mut self, period_ns: u64) -> u32 {
        let most_ns = MOST * period_ns as f64;
        let fits = |cost_ns: &f64| *cost_ns <= most_ns;
        self.at = self
            .costs_ns
            .iter()
            .position(fits)
            .unwrap_or(SIZES.len() - 1);
        SIZES[self.at]
    }

    /// After a call with the chosen batch that sent so many frames and was busy for so long.
    pub fn met(&mut self, frames: u64, busy_ns: u64) {
        // The set-up of a call is no cost of a frame where the call sends few.
        if frames < 4 * u64::from(SIZES[self.at]) {
            return;
        }
        let cost_ns = busy_ns as f64 / frames as f64;
        let (smaller, own) = self.costs_ns.split_at_mut(self.at);
        smaller.iter_mut().for_each(|cost_ns| *cost_ns *= FORGET);
        own[0] = if own[0] == 0.0 {
            cost_ns
        } else {
            own[0] + NEWEST * (cost_ns - own[0])
        };
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
    fn one_interruption_does_not_decide_for_long() {
        let mut batch = Batch::default();
        batches(&mut batch, 10, 2000, |_| 1000);
        batch.choose(2000);
        batch.met(1000, 5_000_000);
        assert_eq!(batch.choose(2000), 4);
        assert_eq!(batches(&mut batch, 300, 2000, |_| 1000)[299], 1);
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
