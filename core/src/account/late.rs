//! The frames of a trial that took longest, and a sample of all, each with the hops that the kernel saw it pass.
//!
//! Only afterwards is it known which frames are slow. So the hops of each frame that is slower than most before it are
//! copied when it arrives: what follows them takes their place in the kernel. Memory is fixed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::chance::{Concern, Draws, uniform};

/// The slowest frames that are kept.
pub const SLOWEST: usize = 100;
/// Frames of the sample, to which they are compared.
pub const SAMPLED: usize = 1000;
const SEED: u64 = 0;

/// One of the points that a frame passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// CLOCK_MONOTONIC, modulo 2^48.
    pub time_ns: u64,
    /// Bits of the address of its packet.
    pub packet: u16,
    pub namespace: u32,
    /// As in `hops.c`.
    pub interface_and_point: u32,
}

/// What knows the hops of the latest frames.
pub trait Followed: Send + Sync {
    /// Of the frame with this stream << 48 | number; empty if they are not known any more.
    fn hops(&self, frame: u64) -> Vec<Hop>;
}

/// A frame that arrived; times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LateFrame {
    pub latency_ns: i64,
    /// Stream << 48 | number.
    pub frame: u64,
    pub port: usize,
    pub sent_ns: u64,
    pub hops: Vec<Hop>,
}

pub struct Late {
    followed: Arc<dyn Followed>,
    slowest: BinaryHeap<Reverse<LateFrame>>,
    sample: Vec<LateFrame>,
    arrived: u64,
    draws: Draws,
}

impl Late {
    pub fn new(followed: Arc<dyn Followed>) -> Self {
        Late {
            followed,
            slowest: BinaryHeap::new(),
            sample: Vec::new(),
            arrived: 0,
            draws: Draws::new(SEED, Concern::Sample),
        }
    }

    /// A frame of this stream and number came to a port for the first time.
    #[inline]
    pub fn arrive(&mut self, frame: u64, port: usize, sent_ns: u64, latency_ns: i64) {
        self.arrived += 1;
        let slow = self.slowest.len() < SLOWEST
            || self
                .slowest
                .peek()
                .is_some_and(|Reverse(least)| latency_ns > least.latency_ns);
        // Each frame so far is in the sample with the same probability.
        let place = match self.sample.len() {
            SAMPLED => uniform(&self.draws, self.arrived, self.arrived - 1) as usize,
            length => length,
        };
        if !slow && place >= SAMPLED {
            return;
        }
        let made = LateFrame {
            latency_ns,
            frame,
            port,
            sent_ns,
            hops: self.followed.hops(frame),
        };
        if place < self.sample.len() {
            self.sample[place] = made.clone();
        } else if place < SAMPLED {
            self.sample.push(made.clone());
        }
        if slow {
            if self.slowest.len() == SLOWEST {
                self.slowest.pop();
            }
            self.slowest.push(Reverse(made));
        }
    }

    /// The slowest frames, the slowest first, and the sample.
    pub fn finish(self) -> (Vec<LateFrame>, Vec<LateFrame>) {
        let slowest = self.slowest.into_sorted_vec();
        (
            slowest.into_iter().map(|Reverse(frame)| frame).collect(),
            self.sample,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows the hops of frames with an even number.
    struct Even;

    impl Followed for Even {
        fn hops(&self, frame: u64) -> Vec<Hop> {
            let hop = Hop {
                time_ns: frame,
                packet: 0,
                namespace: 1,
                interface_and_point: 2 << 8 | 3,
            };
            (0..1 - frame % 2).map(|_| hop).collect()
        }
    }

    #[test]
    fn the_slowest_frames_and_a_sample_of_all_are_kept() {
        let mut late = Late::new(Arc::new(Even));
        let frames = 50_000u64;
        for frame in 0..frames {
            // Each latency once, in an order without a trend.
            let latency_ns = (frame * 7919 % frames) as i64;
            late.arrive(frame, 1, 10 * frame, latency_ns);
        }
        let (slowest, sample) = late.finish();
        let latencies: Vec<i64> = slowest.iter().map(|frame| frame.latency_ns).collect();
        let expected: Vec<i64> = (0..SLOWEST as i64)
            .map(|back| frames as i64 - 1 - back)
            .collect();
        assert_eq!(latencies, expected);
        assert_eq!(sample.len(), SAMPLED);
        let early = sample.iter().filter(|one| one.frame < frames / 2).count();
        assert!((400..600).contains(&early), "{early}");
        for one in slowest.iter().chain(&sample) {
            assert_eq!(one.hops.len() as u64, 1 - one.frame % 2);
            assert_eq!(one.latency_ns as u64, one.frame * 7919 % frames);
        }
    }

    #[test]
    fn few_frames_are_all_kept() {
        let mut late = Late::new(Arc::new(Even));
        (0..10).for_each(|frame| late.arrive(frame, 0, 0, 5));
        let (slowest, sample) = late.finish();
        assert_eq!((slowest.len(), sample.len()), (10, 10));
    }
}
