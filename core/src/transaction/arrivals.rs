//! `Arrivals`: when the requests of an open loop fall due, and which file each requests. It depends on a seed and
//! never reads a clock.

use crate::chance::{GOLDEN, mix};

/// The generator SplitMix64.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }

    /// Evenly distributed, 0 excluded, 1 included.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        (mix(self.0) >> 11) as f64 / (1u64 << 53) as f64 + 1.0 / (1u64 << 53) as f64
    }
}

/// Due times in ns since the beginning, in ascending order.
#[derive(Clone, Debug)]
pub struct Arrivals {
    gap_ns: f64,
    poisson: bool,
    due_ns: f64,
    draws: Draws,
}

impl Arrivals {
    /// The arrivals of thread `number` of `threads`, which together make `per_second`.
    pub fn new(per_second: f64, poisson: bool, number: usize, threads: usize, seed: u64) -> Self {
        let gap_ns = 1e9 * threads as f64 / per_second;
        let mut made = Arrivals {
            gap_ns,
            poisson,
            due_ns: gap_ns * number as f64 / threads as f64,
            draws: Draws::new(seed),
        };
        if poisson {
            made.due_ns = made.gap();
        }
        made
    }

    pub fn next_ns(&self) -> u64 {
        self.due_ns as u64
    }

    pub fn advance(&mut self) {
        self.due_ns += self.gap();
    }

    fn gap(&mut self) -> f64 {
        if self.poisson {
            -self.gap_ns * self.draws.unit().ln()
        } else {
            self.gap_ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut arrivals: Arrivals, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due = arrivals.next_ns();
                arrivals.advance();
                due
            })
            .collect()
    }

    #[test]
    fn threads_share_an_even_rate_evenly() {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|number| times(Arrivals::new(1000.0, false, number, 4, 1), 5))
            .collect();
        all.sort_unstable();
        let even: Vec<u64> = (0..20).map(|k| k * 1_000_000).collect();
        assert_eq!(all, even);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let due = times(Arrivals::new(1000.0, true, 0, 1, 7), 20_001);
        let gaps: Vec<f64> = due
            .windows(2)
            .map(|two| (two[1] - two[0]) as f64 / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (mean - 1.0).abs() < 0.03 && (variance - 1.0).abs() < 0.1,
            "{mean} {variance}"
        );
    }
}
