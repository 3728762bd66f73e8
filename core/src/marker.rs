//! What marks frames of a queue, of a simulated device or of the lab's serialising link: a curve of the queue that a frame meets (a step, RED, WRED), PIE or CoDel.
//!
//! It decides which frames; what becomes of them (a mark, a loss, another class) is the queue's matter.

use serde::Deserialize;

use crate::chance::{Concern, Draws, part_seed};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marking {
    pub by: Controller,
    pub action: Action,
    /// The curve: none below, a share that rises to `most_ratio` at `most_bytes`, and all from there on.
    pub least_bytes: u64,
    pub most_bytes: u64,
    pub most_ratio: f64,
    /// Of PIE and CoDel.
    pub target_ns: u64,
    pub interval_ns: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    Curve,
    Pie,
    Codel,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// CE, or a loss of a frame that is not capable of ECN (RFC 3168 §5).
    Mark,
    Drop,
    /// Another class.
    Remark,
}

/// RFC 8033 §4.2, §4.4: weights of the controller, in 1/s.
const PIE_ALPHA: f64 = 0.125;
const PIE_BETA: f64 = 1.25;
const UNIT: f64 = (1u64 << 53) as f64;

#[derive(Clone, Debug)]
pub struct Marker {
    kind: Kind,
    draws: Draws,
    /// Draws so far.
    count: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Curve {
        least_bytes: f64,
        most_bytes: f64,
        most: f64,
    },
    Pie {
        target_ps: f64,
        update_ps: u64,
        next_ps: u64,
        before_ps: f64,
        probability: f64,
    },
    CoDel {
        target_ps: u64,
        interval_ps: u64,
        above_since_ps: Option<u64>,
        /// When the next frame is marked; absent while none is.
        next_ps: Option<u64>,
        marks: u32,
    },
}

impl Marker {
    /// `place` tells the queues of a device apart.
    pub fn new(settings: &Marking, trial_seed: u64, place: usize) -> Self {
        let target_ps = settings.target_ns * 1000;
        let kind = match settings.by {
            Controller::Curve => Kind::Curve {
                least_bytes: settings.least_bytes as f64,
                most_bytes: settings.most_bytes as f64,
                most: settings.most_ratio,
            },
            Controller::Pie => Kind::Pie {
                target_ps: target_ps as f64,
                update_ps: settings.interval_ns * 1000,
                next_ps: 0,
                before_ps: 0.0,
                probability: 0.0,
            },
            Controller::Codel => Kind::CoDel {
                target_ps,
                interval_ps: settings.interval_ns * 1000,
                above_since_ps: None,
                next_ps: None,
                marks: 0,
            },
        };
        Marker {
            kind,
            draws: Draws::new(part_seed(trial_seed, place as u64), Concern::Marking),
            count: 0,
        }
    }

    /// Whether a frame is marked that comes at `now_ps` and finds `queue_bytes` before it, which take `wait_ps` to send.
    pub fn comes(&mut self, now_ps: u64, queue_bytes: f64, wait_ps: f64) -> bool {
        let probability = match &mut self.kind {
            Kind::Curve {
                least_bytes,
                most_bytes,
                most,
            } => {
                if queue_bytes >= *most_bytes {
                    1.0
                } else if queue_bytes < *least_bytes {
                    0.0
                } else {
                    *most * (queue_bytes - *least_bytes) / (*most_bytes - *least_bytes)
                }
            }
            Kind::Pie {
                target_ps,
                update_ps,
                next_ps,
                before_ps,
                probability,
            } => {
                if now_ps >= *next_ps {
                    let change =
                        PIE_ALPHA * (wait_ps - *target_ps) + PIE_BETA * (wait_ps - *before_ps);
                    *probability = (*probability + change / 1e12).clamp(0.0, 1.0);
                    if wait_ps == 0.0 && *before_ps == 0.0 {
                        *probability *= 0.98;
                    }
                    *before_ps = wait_ps;
                    *next_ps = now_ps + *update_ps;
                }
                *probability
            }
            Kind::CoDel { .. } => return false,
        };
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.count += 1;
        ((self.draws.draw(self.count) >> 11) as f64) < probability * UNIT
    }

    /// Whether a frame is marked that leaves at `now_ps` after it has waited for `waited_ps` (RFC 8289 §5).
    pub fn leaves(&mut self, now_ps: u64, waited_ps: u64) -> bool {
        let Kind::CoDel {
            target_ps,
            interval_ps,
            above_since_ps,
            next_ps,
            marks,
        } = &mut self.kind
        else {
            return false;
        };
        if waited_ps < *target_ps {
            (*above_since_ps, *next_ps) = (None, None);
            return false;
        }
        let since_ps = *above_since_ps.get_or_insert(now_ps);
        let due_ps = next_ps.unwrap_or(since_ps + *interval_ps);
        if now_ps < due_ps {
            return false;
        }
        *marks = if next_ps.is_some() { *marks + 1 } else { 1 };
        *next_ps = Some(due_ps + (*interval_ps as f64 / f64::from(*marks).sqrt()) as u64);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(by: Controller) -> Marking {
        Marking {
            by,
            action: Action::Mark,
            least_bytes: 1000,
            most_bytes: 3000,
            most_ratio: 0.5,
            target_ns: 1000,
            interval_ns: 10_000,
        }
    }

    #[test]
    fn a_curve_is_zero_then_rises_then_is_one() {
        let mut marker = Marker::new(&settings(Controller::Curve), 1, 0);
        let mut share = |queue_bytes: f64| {
            let hits = (0..20_000)
                .filter(|now| marker.comes(*now, queue_bytes, 0.0))
                .count();
            hits as f64 / 20_000.0
        };
        assert_eq!((share(999.0), share(3000.0)), (0.0, 1.0));
        assert!((share(2000.0) - 0.25).abs() < 0.015);
        assert!((share(2999.0) - 0.5).abs() < 0.015);
    }

    #[test]
    fn codel_marks_nothing_before_its_interval_and_then_more_and_more_often() {
        let mut marker = Marker::new(&settings(Controller::Codel), 1, 0);
        let marked: Vec<u64> = (0..100_000_000)
            .step_by(100_000)
            .filter(|now_ps| marker.leaves(*now_ps, 2_000_000))
            .collect();
        assert_eq!(marked[0], 10_000_000);
        assert!(marked.len() > 20);
        assert!(marked[2] - marked[1] < marked[1] - marked[0]);
        assert!(!marker.leaves(200_000_000, 999_000));
    }

    #[test]
    fn pie_marks_more_while_the_wait_stays_above_its_target() {
        let mut marker = Marker::new(&settings(Controller::Pie), 1, 0);
        let wait_ps = 5e9;
        let mut count = |from: u64| {
            (from..from + 1000)
                .filter(|step| marker.comes(step * 10_000_000, 0.0, wait_ps))
                .count()
        };
        let (early, late) = (count(0), count(1000));
        assert!(early < late, "{early} then {late}");
    }
}
