//! `LinkDirection`: one direction of a link in virtual time: loss, the line, hidden stages, propagation, jitter.
//!
//! The fate of a packet is known when it arrives, because no packet overtakes another. This file never reads a clock.

use serde::{Deserialize, Serialize};

use crate::chance::{Chance, Concern, Draws, uniform};
use crate::marker::{Action, Marker, Marking};

use super::stage::Stage;

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
    /// What marks packets in the queue of the line.
    #[serde(default)]
    pub marking: Option<Marking>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is at the far end at this time, in ps.
    Arrives(u64),
    /// So it is, with CE.
    ArrivesMarked(u64),
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
    pub marked_packets: u64,
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
    marker: Option<(Marker, Action)>,
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
        let marking = traits.marking.as_ref();
        if marking.is_some_and(|own| own.action == Action::Remark)
            || (marking.is_some() && traits.stages_bps.is_empty())
        {
            return Err("marking: a line with a rate marks with CE or drops".into());
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
            marker: marking.map(|own| (Marker::new(own, traits.seed, 0), own.action)),
            last: 0,
            passed: Passed::default(),
        })
    }

    /// The fate of an IP packet of `ip_bytes` that arrives at `now` (ps) and is or is not `capable` of ECN. Packets must
    /// be passed in order of arrival.
    pub fn take(&mut self, now: u64, ip_bytes: u64, capable: bool) -> Fate {
        let number = self.passed.in_packets;
        self.passed.in_packets += 1;
        self.passed.in_bytes += ip_bytes;
        if self.loss.hits(number) {
            self.passed.lost_packets += 1;
            self.passed.lost_bytes += ip_bytes;
            return Fate::Lost;
        }
        let bytes = ip_bytes + self.overhead_bytes;
        let mut is_marked = false;
        if let (Some((marker, action)), Some(line)) = (&mut self.marker, self.stages.first_mut()) {
            let wait = line.wait(now);
            let queue_bytes = line.bytes_in(wait);
            // No packet overtakes another, so it is known now when this one will leave the queue.
            let comes = marker.comes(now, queue_bytes, wait as f64);
            // One for which there is no room never leaves.
            if comes || line.has_room(now, bytes) && marker.leaves(now + wait, wait) {
                if *action == Action::Drop || !capable {
                    self.passed.dropped_packets += 1;
                    self.passed.dropped_bytes += ip_bytes;
                    return Fate::Dropped;
                }
                is_marked = true;
            }
        }
        let mut at = now;
        for stage in &mut self.stages {
            match stage.pass(at, bytes) {
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
        if is_marked {
            self.passed.marked_packets += 1;
            return Fate::ArrivesMarked(self.last);
        }
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
    use crate::marker::Controller;
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
            marking: None,
        }
    }

    fn arrivals(traits: &Traits, packets: &[(u64, u64)]) -> Vec<Fate> {
        let mut direction = LinkDirection::new(traits).expect("the traits can be");
        packets
            .iter()
            .map(|&(now, bytes)| direction.take(now, bytes, true))
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

    /// How many of these packets CoDel marks on a line of 20 Mbit/s with room for 300 kB.
    fn marked_by_codel(packets: &[(u64, u64)]) -> usize {
        let traits = Traits {
            queue_bytes: 300_000,
            marking: Some(Marking {
                by: Controller::Codel,
                action: Action::Mark,
                least_bytes: 0,
                most_bytes: 0,
                most_ratio: 0.0,
                target_ns: 10_000_000,
                interval_ns: 30_000_000,
            }),
            ..traits(&[20_000_000])
        };
        let fates = arrivals(&traits, packets);
        let marked = fates
            .iter()
            .filter(|fate| matches!(fate, Fate::ArrivesMarked(_)));
        marked.count()
    }

    #[test]
    fn codel_does_not_spend_its_marks_on_packets_for_which_there_is_no_room() {
        let packets: Vec<_> = (0..3000)
            .map(|number| (number * 1_000_000_000_000 / 6000, 1000))
            .collect();
        // Those that arrive leave in 0.62 s, above the target for 0.59 s: the n-th mark is due after 30 ms · 2 √n.
        assert!((90..120).contains(&marked_by_codel(&packets)));
    }

    #[test]
    fn codel_marks_four_packets_of_a_queue_that_was_filled_at_once_after_a_stop() {
        // The thread finds what came in 0.49 s; above the target until 120 ms later, so marks are due 30 ms, 60 ms, 81 ms
        // and 98 ms behind 10 ms.
        assert_eq!(marked_by_codel(&[(490_000_000_000, 1000); 2940]), 4);
    }

    fn step(action: Action) -> Traits {
        Traits {
            marking: Some(Marking {
                by: Controller::Curve,
                action,
                least_bytes: 1500,
                most_bytes: 1500,
                most_ratio: 1.0,
                target_ns: 1,
                interval_ns: 1,
            }),
            ..traits(&[8_000_000])
        }
    }

    #[test]
    fn a_packet_is_marked_by_the_bytes_that_are_still_to_be_sent_before_it() {
        // 1 byte takes 1 us: before the second packet are 1000, before the third 2000 or, 501 us later, 1499.
        let mut direction = LinkDirection::new(&step(Action::Mark)).expect("the traits can be");
        let mut marked = |now_us: u64, capable| {
            let fate = direction.take(now_us * 1_000_000, 1000, capable);
            matches!(fate, Fate::ArrivesMarked(_))
        };
        assert_eq!(
            [marked(0, true), marked(0, true), marked(0, true)],
            [false, false, true]
        );
        assert!(!marked(1501, true) && marked(1501, true));
        assert_eq!(direction.passed().marked_packets, 2);
        assert_eq!(direction.passed().dropped_packets, 0);
    }

    #[test]
    fn a_packet_that_is_not_capable_of_ecn_is_dropped_where_others_are_marked_and_takes_no_time() {
        for (action, capable) in [(Action::Mark, false), (Action::Drop, true)] {
            let mut direction = LinkDirection::new(&step(action)).expect("the traits can be");
            let fates: Vec<Fate> = (0..4).map(|_| direction.take(0, 1000, capable)).collect();
            assert_eq!(fates[2..], [Fate::Dropped; 2]);
            assert_eq!(
                direction.take(600_000_000, 1000, capable),
                Fate::Arrives(3_000_000_000)
            );
            assert_eq!(direction.passed().dropped_packets, 2);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(LinkDirection::new(&traits(&[0])).is_err());
        let lossy = Traits {
            loss: 1.5,
            ..traits(&[])
        };
        assert!(LinkDirection::new(&lossy).is_err());
        assert!(LinkDirection::new(&step(Action::Remark)).is_err());
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
                if let Fate::Arrives(at) = direction.take(now, *bytes, true) {
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
