//! `LinkDirection`: one direction of a link in virtual time: loss, the line, hidden stages, propagation, jitter.
//!
//! The fate of a packet is known when it arrives, because no packet overtakes another. This file never reads a clock.

use serde::{Deserialize, Serialize};

use super::stage::Stage;
use crate::chance::{Chance, Concern, Draws, uniform};

/// The settings of one direction of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traits {
    /// Rates of the line and of the hidden store-and-forward stages behind it, in order; without any, a packet passes
    /// at once.
    pub stages_bps: Vec<u64>,
    /// Bytes added to the IP packet at every stage.
    pub overhead_bytes: u64,
    pub propagation_ns: u64,
    /// Bytes that may wait at each stage beside the packet that is being sent.
    pub queue_bytes: u64,
    /// Upper limit of a uniform delay after the last stage; it never lets packets overtake.
    pub jitter_ns: u64,
    /// The share of packets that are lost before the line.
    pub loss: f64,
    pub seed: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is at the far end at this time, in ps.
    Arrives(u64),
    /// A queue had no room for the packet.
    Dropped,
    /// The packet was lost at random.
    Lost,
}

/// What arrived, and what became of it.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Passed {
    pub in_packets: u64,
    pub in_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    pub lost_packets: u64,
    pub lost_bytes: u64,
    /// Time that the line (the first stage) has spent or will spend sending what came so far.
    pub busy_ns: u64,
}

#[derive(Clone, Debug)]
pub struct LinkDirection {
    stages: Vec<Stage>,
    overhead_bytes: u64,
    propagation: u64,
    jitter: u64,
    loss: Chance,
    delays: Draws,
    last: u64,
    passed: Passed,
}

impl LinkDirection {
    /// A rate of zero is refused.
    pub fn new(traits: &Traits) -> Result<Self, String> {
        if traits.stages_bps.contains(&0) {
            return Err("stages_bps: a line cannot have the rate 0".into());
        }
        if !(0.0..=1.0).contains(&traits.loss) {
            return Err("loss: give a share from 0 to 1".into());
        }
        let stages = traits.stages_bps.iter();
        Ok(LinkDirection {
            stages: stages
                .map(|rate| Stage::new(*rate, traits.queue_bytes))
                .collect(),
            overhead_bytes: traits.overhead_bytes,
            propagation: traits.propagation_ns * 1000,
            jitter: traits.jitter_ns * 1000,
            loss: Chance::new(traits.loss, traits.seed, Concern::Loss),
            delays: Draws::new(traits.seed, Concern::Jitter),
            last: 0,
            passed: Passed::default(),
        })
    }

    /// The fate of an IP packet of `ip_bytes` that arrives at `now` (ps). Packets must be passed in order of arrival.
    pub fn take(&mut self, now: u64, ip_bytes: u64) -> Fate {
        let number = self.passed.in_packets;
        self.passed.in_packets += 1;
        self.passed.in_bytes += ip_bytes;
        if self.loss.hits(number) {
            self.passed.lost_packets += 1;
            self.passed.lost_bytes += ip_bytes;
            return Fate::Lost;
        }
        let mut at = now;
        for stage in &mut self.stages {
            match stage.pass(at, ip_bytes + self.overhead_bytes) {
                Some(sent) => at = sent,
                None => {
                    self.passed.dropped_packets += 1;
                    self.passed.dropped_bytes += ip_bytes;
                    return Fate::Dropped;
                }
            }
        }
        at += self.propagation + uniform(&self.delays, number, self.jitter);
        self.last = self.last.max(at);
        Fate::Arrives(self.last)
    }

    pub fn passed(&self) -> Passed {
        let busy = self.stages.first().map_or(0, |line| line.busy);
        Passed {
            busy_ns: (busy / 1000) as u64,
            ..self.passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn traits(stages_bps: &[u64]) -> Traits {
        Traits {
            stages_bps: stages_bps.to_vec(),
            overhead_bytes: 0,
            propagation_ns: 0,
            queue_bytes: 1_000_000,
            jitter_ns: 0,
            loss: 0.0,
            seed: 1,
        }
    }

    fn arrivals(traits: &Traits, packets: &[(u64, u64)]) -> Vec<Fate> {
        let mut direction = LinkDirection::new(traits).expect("the traits can be");
        packets
            .iter()
            .map(|&(now, bytes)| direction.take(now, bytes))
            .collect()
    }

    #[test]
    fn two_hidden_stages_store_a_packet_twice_but_space_a_pair_once() {
        let fates = arrivals(&traits(&[100_000_000; 2]), &[(0, 1000), (0, 1000)]);
        assert_eq!(
            fates,
            [Fate::Arrives(160_000_000), Fate::Arrives(240_000_000)]
        );
    }

    #[test]
    fn overhead_counts_on_the_line_and_propagation_after_it() {
        let traits = Traits {
            overhead_bytes: 38,
            propagation_ns: 5000,
            ..traits(&[1_000_000_000])
        };
        assert_eq!(
            arrivals(&traits, &[(0, 1500)]),
            [Fate::Arrives(12_304_000 + 5_000_000)]
        );
    }

    #[test]
    fn no_stage_is_no_wait() {
        assert_eq!(arrivals(&traits(&[]), &[(3, 1500)]), [Fate::Arrives(3)]);
    }

    #[test]
    fn a_seed_decides_what_is_lost_and_how_long_what_is_not_takes() {
        let packets: Vec<_> = (0..1000).map(|number| (number * 1_000_000, 100)).collect();
        let seeded = |seed| {
            let traits = Traits {
                loss: 0.1,
                jitter_ns: 500,
                seed,
                ..traits(&[])
            };
            arrivals(&traits, &packets)
        };
        let fates = seeded(1);
        assert_eq!(fates, seeded(1));
        assert_ne!(fates, seeded(2));
        let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
        assert!((50..150).contains(&lost));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(LinkDirection::new(&traits(&[0])).is_err());
        let lossy = Traits {
            loss: 1.5,
            ..traits(&[])
        };
        assert!(LinkDirection::new(&lossy).is_err());
    }

    proptest! {
        #[test]
        fn every_packet_is_accounted_for_and_none_overtakes(
            stages in prop::collection::vec(1_000_000u64..10_000_000_000, 0..4),
            loss in 0.0f64..0.5,
            jitter_ns in 0u64..1_000_000,
            queue_bytes in 0u64..20_000,
            packets in prop::collection::vec((0u64..100_000_000, 28u64..9100), 1..200),
        ) {
            let traits = Traits { loss, jitter_ns, queue_bytes, ..traits(&stages) };
            let mut direction = LinkDirection::new(&traits).expect("the traits can be");
            let (mut now, mut last, mut arrived) = (0, 0, 0);
            for (gap, bytes) in &packets {
                now += gap;
                if let Fate::Arrives(at) = direction.take(now, *bytes) {
                    prop_assert!(at >= last && at >= now);
                    (last, arrived) = (at, arrived + 1);
                }
            }
            let passed = direction.passed();
            prop_assert_eq!(passed.in_packets, packets.len() as u64);
            prop_assert_eq!(passed.in_packets, arrived + passed.dropped_packets + passed.lost_packets);
        }
    }
}
