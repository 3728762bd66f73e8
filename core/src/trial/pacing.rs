//! The due time of each frame of one stream: at a constant rate, in bursts, at random, or from a list of gaps.
//!
//! Times are kept in units of 2^-32 ns, so that rounding shifts the last frame of a day-long trial by less than one
//! ns in 10^9. This file never reads a clock and never waits.

use serde::{Deserialize, Serialize};

use crate::chance::{GOLDEN, mix};

/// How the frames of a stream follow each other. The mean rate is that of the stream.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pacing {
    #[default]
    Constant,
    /// RFC 2544 §21: frames of a burst follow each other by `gap_ns`, or as fast as the port sends.
    Bursts { burst_frames: u64, gap_ns: u64 },
    /// A Poisson process of which it is known how many frames fall into the trial: their due times are
    /// independent and evenly distributed over it, so that the mean rate is exact.
    Poisson,
    /// These gaps in order, repeated; they determine the rate.
    Gaps { gaps_ns: Vec<u64> },
}

impl Pacing {
    /// Refuses a pacing that no sender can follow.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Pacing::Bursts {
                burst_frames: 0, ..
            } => Err("burst_frames: a burst has at least one frame".into()),
            Pacing::Gaps { gaps_ns } if gaps_ns.is_empty() => {
                Err("gaps_ns: the list is empty".into())
            }
            _ => Ok(()),
        }
    }
}

/// 2^32: fractions of a ns in a ns.
const FRACTIONS: f64 = 4_294_967_296.0;

/// The due times of one stream, in order.
#[derive(Clone, Debug)]
pub struct Timetable {
    pacing: Pacing,
    /// In 2^-32 ns, like all times here.
    period: u128,
    next: u128,
    sequence: u64,
    frames: u64,
    /// When the last period ends.
    end: u128,
    random: u64,
}

impl Timetable {
    /// `frames_per_second` must be positive and finite; `seed` feeds random gaps.
    pub fn new(
        pacing: Pacing,
        start_ns: u64,
        frames_per_second: f64,
        frames: u64,
        seed: u64,
    ) -> Self {
        let period_ns = 1e9 / frames_per_second;
        let whole = period_ns.floor();
        // The fraction is scaled separately from the whole, so that neither loses bits.
        let fraction = ((period_ns - whole) * FRACTIONS).round();
        let period = ((whole as u128) << 32) + fraction as u128;
        let start = u128::from(start_ns) << 32;
        let mut timetable = Timetable {
            pacing,
            period,
            next: start,
            sequence: 0,
            frames,
            end: start + period * u128::from(frames),
            random: seed,
        };
        if timetable.pacing == Pacing::Poisson {
            timetable.next += timetable.random_gap();
        }
        timetable
    }

    /// Time to the earliest of the remaining frames, whose times are evenly distributed over the remaining time.
    fn random_gap(&mut self) -> u128 {
        let left = self.frames.saturating_sub(self.sequence).max(1);
        // It is never zero, so that the logarithm is finite.
        let uniform = ((draw(&mut self.random) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let share = -f64::exp_m1(uniform.ln() / left as f64);
        (self.end.saturating_sub(self.next) as f64 * share) as u128
    }

    /// When the next frame is due; `advance` moves on to the one after it.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        (self.next >> 32) as u64
    }

    #[inline]
    pub fn advance(&mut self) {
        self.sequence += 1;
        self.next += match &self.pacing {
            Pacing::Constant => self.period,
            Pacing::Bursts {
                burst_frames,
                gap_ns,
            } => {
                let gap = u128::from(*gap_ns) << 32;
                if self.sequence.is_multiple_of(*burst_frames) {
                    (self.period * u128::from(*burst_frames))
                        .saturating_sub(gap * u128::from(*burst_frames - 1))
                } else {
                    gap
                }
            }
            Pacing::Poisson => self.random_gap(),
            Pacing::Gaps { gaps_ns } => {
                let place = (self.sequence - 1) % gaps_ns.len() as u64;
                u128::from(gaps_ns[place as usize]) << 32
            }
        };
    }
}

/// SplitMix64, which has a period of 2^64 and no state beyond its counter.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    mix(*state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(pacing: Pacing, rate: f64, frames: usize) -> Vec<u64> {
        let mut timetable = Timetable::new(pacing, 1000, rate, frames as u64, 7);
        let next = || {
            let due_ns = timetable.due_ns();
            timetable.advance();
            due_ns
        };
        std::iter::repeat_with(next).take(frames).collect()
    }

    proptest! {
        #[test]
        fn a_constant_rate_holds_to_one_in_ten_to_the_nine(rate in 1f64..2e8, frames in 2usize..2000) {
            let due = due(Pacing::Constant, rate, frames);
            let exact_ns = (frames - 1) as f64 * 1e9 / rate;
            let error_ns = ((due[frames - 1] - 1000) as f64 - exact_ns).abs();
            prop_assert!(error_ns <= 2.0 + exact_ns * 1e-9, "{error_ns} ns off");
        }

        #[test]
        fn bursts_have_the_mean_rate_and_their_own_gap(
            burst_frames in 1u64..50, gap_ns in 0u64..1000, bursts in 1usize..10,
        ) {
            let rate = 1e5;
            let due = due(Pacing::Bursts { burst_frames, gap_ns }, rate, burst_frames as usize * bursts + 1);
            for (place, pair) in due.windows(2).enumerate() {
                if !(place as u64 + 1).is_multiple_of(burst_frames) {
                    prop_assert_eq!(pair[1] - pair[0], gap_ns);
                }
            }
            prop_assert_eq!(due[due.len() - 1] - due[0], burst_frames * bursts as u64 * 10_000);
        }
    }

    #[test]
    fn random_gaps_are_exponential() {
        let due = due(Pacing::Poisson, 1e6, 200_001);
        let gaps: Vec<f64> = due
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares = gaps
            .iter()
            .map(|gap| (gap - mean) * (gap - mean))
            .sum::<f64>();
        let deviation = (squares / gaps.len() as f64).sqrt();
        let long = gaps.iter().filter(|gap| **gap > 2000.0).count() as f64 / gaps.len() as f64;
        // Five standard errors of each. The seed is fixed, so the result is always the same.
        assert!((mean - 1000.0).abs() < 12.0, "mean {mean}");
        assert!((deviation - 1000.0).abs() < 30.0, "deviation {deviation}");
        assert!((long - (-2.0f64).exp()).abs() < 0.004, "share {long}");
    }

    #[test]
    fn all_random_frames_fall_into_the_trial() {
        for frames in [1, 2, 10, 1000] {
            let due = due(Pacing::Poisson, 1e6, frames);
            assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(*due.last().unwrap() <= 1000 + 1000 * frames as u64);
        }
    }

    #[test]
    fn a_list_of_gaps_is_repeated() {
        let gaps_ns = vec![5, 0, 100];
        assert_eq!(
            due(Pacing::Gaps { gaps_ns }, 1.0, 7),
            [1000, 1005, 1005, 1105, 1110, 1110, 1210]
        );
    }
}
