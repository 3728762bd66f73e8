//! Random numbers from a seed that belong to a sequence number and not to the order of calls.
//!
//! Each concern has numbers of its own, so that enabling one concern changes no other, and what happens to a frame
//! does not depend on the frames before it. All arithmetic is in integers, so that the results are the same on every
//! machine.

/// The step of SplitMix64, whose numbers are `mix` of its multiples.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a random number decides.
#[derive(Clone, Copy, Debug)]
pub enum Concern {
    Loss = 1,
    LossAbove = 2,
    Jitter = 3,
    Duplicate = 4,
    Reorder = 5,
    Corrupt = 6,
    /// Which of several inputs is served first.
    Arbitration = 7,
    /// When the host takes the CPU from a sender.
    Host = 8,
    /// What the tester reads more or less than the latency.
    Scatter = 9,
    /// When the output stalls.
    Stall = 10,
    /// Which headers a device rewrites.
    Rewrite = 11,
    /// Which frames of a queue are marked.
    Marking = 12,
    /// Which frames stand for all of a trial.
    Sample = 13,
}

#[derive(Clone, Copy, Debug)]
pub struct Draws {
    seed: u64,
}

impl Draws {
    pub fn new(trial_seed: u64, concern: Concern) -> Self {
        Draws {
            seed: mix(mix(trial_seed).wrapping_add(concern as u64)),
        }
    }

    /// 64 evenly distributed bits (SplitMix64 at position `index`).
    #[inline]
    pub fn draw(&self, index: u64) -> u64 {
        mix(self.seed.wrapping_add(index.wrapping_mul(GOLDEN)))
    }
}

/// An event that happens to a frame with a given probability.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    draws: Draws,
    /// The probability in units of 2^-53, in which ratios of 0 and 1 are exact.
    threshold: u64,
}

impl Chance {
    /// `ratio` between 0 and 1.
    pub fn new(ratio: f64, trial_seed: u64, concern: Concern) -> Self {
        let threshold = (ratio * (1u64 << 53) as f64) as u64;
        Chance {
            draws: Draws::new(trial_seed, concern),
            threshold,
        }
    }

    pub fn is_possible(&self) -> bool {
        self.threshold > 0
    }

    #[inline]
    pub fn hits(&self, sequence: u64) -> bool {
        self.is_possible() && self.draws.draw(sequence) >> 11 < self.threshold
    }
}

/// A uniform integer in `0..=width`, from one draw.
#[inline]
pub fn uniform(draws: &Draws, sequence: u64, width: u64) -> u64 {
    ((u128::from(draws.draw(sequence)) * (u128::from(width) + 1)) >> 64) as u64
}

/// A normal deviate of mean 0: twelve uniform 16-bit numbers have a standard deviation of 2^16.
#[inline]
pub fn normal(draws: &Draws, sequence: u64, deviation: u64) -> i64 {
    let sum: u64 = (0..3)
        .map(|part| lanes(draws.draw(3 * sequence + part)))
        .sum();
    let centred = 2 * sum as i64 - 12 * 0xFFFF;
    ((i128::from(centred) * i128::from(deviation)) >> 17) as i64
}

fn lanes(bits: u64) -> u64 {
    (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
}

/// The seed of the part of this number of what has one, such as a stream of a trial: parts of wholes with neighbouring
/// seeds share no numbers.
pub fn part_seed(seed: u64, number: u64) -> u64 {
    mix(mix(seed).wrapping_add((number + 1).wrapping_mul(GOLDEN)))
}

/// What SplitMix64 makes of its counter.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const FRAMES: u64 = 1_000_000;

    #[test]
    fn a_ratio_is_met_and_the_extremes_are_certain() {
        let hits = |ratio| {
            let chance = Chance::new(ratio, 7, Concern::Loss);
            (0..FRAMES)
                .filter(|&sequence| chance.hits(sequence))
                .count() as f64
        };
        assert_eq!(hits(0.0), 0.0);
        assert_eq!(hits(1.0), FRAMES as f64);
        let deviation = (FRAMES as f64 * 0.01 * 0.99).sqrt();
        assert!((hits(0.01) - 0.01 * FRAMES as f64).abs() < 5.0 * deviation);
    }

    #[test]
    fn concerns_and_seeds_do_not_share_a_stream() {
        let at = |seed, concern| Draws::new(seed, concern).draw(5);
        assert_ne!(at(1, Concern::Loss), at(1, Concern::Jitter));
        assert_ne!(at(1, Concern::Loss), at(2, Concern::Loss));
        assert_ne!(at(0, Concern::Duplicate), at(1, Concern::Corrupt));
    }

    #[test]
    fn parts_of_wholes_with_neighbouring_seeds_have_seeds_of_their_own() {
        let parts = (0..300).flat_map(|seed| (0..300).map(move |number| part_seed(seed, number)));
        assert_eq!(parts.collect::<HashSet<_>>().len(), 90_000);
        // The same numbers as those of keisoku/ground/statistics/seed.py, which has the upper 63 bits.
        assert_eq!(part_seed(1, 0) >> 1, 0x5FF7_C018_6EE1_6BB9);
    }

    #[test]
    fn deviates_have_the_spread_that_was_asked() {
        let draws = Draws::new(3, Concern::Jitter);
        let values = |each: &dyn Fn(u64) -> f64| {
            let mean = (0..FRAMES).map(each).sum::<f64>() / FRAMES as f64;
            let square = (0..FRAMES).map(|k| (each(k) - mean).powi(2)).sum::<f64>();
            (mean, (square / FRAMES as f64).sqrt())
        };
        let (mean, deviation) = values(&|k| normal(&draws, k, 10_000) as f64);
        assert!(mean.abs() < 50.0 && (deviation - 10_000.0).abs() < 50.0);
        let (mean, deviation) = values(&|k| uniform(&draws, k, 12_000) as f64);
        assert!((mean - 6_000.0).abs() < 20.0);
        assert!((deviation - 12_000.0 / 12f64.sqrt()).abs() < 20.0);
        assert!((0..FRAMES).all(|k| uniform(&draws, k, 1) <= 1));
    }
}
