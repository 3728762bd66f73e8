//! An output with a queue for each class of traffic: strict priority between queues of different priority, weighted
//! sharing among those of one, and for each queue a policer, a shaper and a marker, if it has them.
//!
//! When a frame leaves depends on those that come later, so departures are computed as time goes on (`advance`). For
//! one queue it does what `shared_output` does.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::account::marks::{CE, REMARKED};
use crate::marker::{Action, Marker};

use super::device::{Code, Device, QueueSettings, SchedulerKind, Stall};
use super::server::{Server, Service};
use super::token_bucket::TokenBucket;
use super::transit::SentFrame;

pub struct Queues {
    server: Server,
    queues: Vec<Queue>,
    /// Queue of each code point.
    of_code: [u8; 256],
    kind: SchedulerKind,
    quantum_bytes: f64,
    buffer_bytes: u64,
    occupied_bytes: u64,
    /// The frame that is being sent.
    sending: Option<Sending>,
    /// From the highest priority to the lowest.
    levels: Vec<Level>,
}

/// The queues of one priority.
#[derive(Default)]
struct Level {
    places: Vec<usize>,
    /// Where the round of DRR is.
    turn: usize,
    /// The virtual time of self-clocked fair queueing: the tag of the frame in service.
    virtual_time: f64,
}

struct Queue {
    waiting: VecDeque<Waiting>,
    /// Of those that wait.
    bytes: u64,
    level: usize,
    weight: f64,
    buffer_bytes: u64,
    policer: Option<TokenBucket>,
    shaper: Option<TokenBucket>,
    marker: Option<Marker>,
    action: Action,
    /// What it may still send in this round of DRR.
    deficit: f64,
    /// It has had its quantum in this round.
    is_served: bool,
    last_tag: f64,
}

struct Sending {
    queue: usize,
    bytes: u32,
    service_ps: u64,
    left_ps: u64,
}

#[derive(Clone, Copy)]
struct Waiting {
    frame: SentFrame,
    ready_ps: u64,
    bytes: u32,
    service: Service,
    code: Code,
    tag: f64,
}

/// A frame that came to an output.
#[derive(Clone, Copy)]
pub struct Coming {
    pub frame: SentFrame,
    pub ready_ps: u64,
    pub bytes: u32,
    pub service: Service,
    pub code: Code,
}

impl Queues {
    /// None if the device has no queues.
    pub fn new(device: &Device, trial_seed: u64, stall: Option<&Stall>) -> Option<Self> {
        let last = device.queues.len().checked_sub(1)?;
        let mut of_code = [last as u8; 256];
        for (place, queue) in device.queues.iter().enumerate() {
            for code in &queue.codes {
                of_code[usize::from(*code)] = place as u8;
            }
        }
        let whole = device.output.buffer_bytes;
        let priorities: BTreeSet<Reverse<u8>> = device
            .queues
            .iter()
            .map(|queue| Reverse(queue.priority))
            .collect();
        let mut levels: Vec<Level> = priorities.iter().map(|_| Level::default()).collect();
        let mut queues = Vec::new();
        for (place, settings) in device.queues.iter().enumerate() {
            let level = priorities.range(..Reverse(settings.priority)).count();
            levels[level].places.push(place);
            queues.push(Queue::new(settings, level, whole, trial_seed, place));
        }
        Some(Queues {
            server: Server::new(stall),
            queues,
            of_code,
            kind: device.scheduler.kind,
            quantum_bytes: device.scheduler.quantum_bytes as f64,
            buffer_bytes: whole,
            occupied_bytes: 0,
            sending: None,
            levels,
        })
    }

    /// A frame comes, after all earlier ones. `advance` has been called with its time.
    pub fn come(&mut self, coming: Coming) {
        let Coming {
            ready_ps, bytes, ..
        } = coming;
        if self
            .sending
            .as_ref()
            .is_some_and(|own| own.left_ps <= ready_ps)
        {
            self.release();
        }
        let place = usize::from(self.of_code[usize::from(coming.code.code)]);
        // What is still to be sent before it, as far as is known now.
        let (mut ahead_bytes, mut in_service_bytes) = (self.queues[place].bytes as f64, 0);
        if let Some(sending) = &self.sending {
            let left = (sending.left_ps - ready_ps) as f64 / sending.service_ps.max(1) as f64;
            ahead_bytes += f64::from(sending.bytes) * left.min(1.0);
            if sending.queue == place {
                in_service_bytes = u64::from(sending.bytes);
            }
        }
        let queue = &mut self.queues[place];
        if let Some(policer) = &mut queue.policer
            && !policer.admits(bytes, ready_ps)
        {
            return;
        }
        let wait_ps = ahead_bytes * coming.service.ps() as f64 / f64::from(bytes);
        let marker = queue.marker.as_mut();
        let mut frame = coming.frame;
        if marker.is_some_and(|marker| marker.comes(ready_ps, ahead_bytes, wait_ps))
            && !mark(&mut frame, queue.action, coming.code)
        {
            return;
        }
        let held = queue.bytes + in_service_bytes + u64::from(bytes);
        if held > queue.buffer_bytes || self.occupied_bytes + u64::from(bytes) > self.buffer_bytes {
            return;
        }
        self.occupied_bytes += u64::from(bytes);
        queue.bytes += u64::from(bytes);
        let begin = queue.last_tag.max(self.levels[queue.level].virtual_time);
        queue.last_tag = begin + f64::from(bytes) / queue.weight;
        queue.waiting.push_back(Waiting {
            frame,
            ready_ps,
            bytes,
            service: coming.service,
            code: coming.code,
            tag: queue.last_tag,
        });
    }

    /// Sends the frames whose turn comes before `until_ps`, to the time of which all frames have come.
    pub fn advance(&mut self, until_ps: u64, mut leave: impl FnMut(SentFrame, u64)) {
        while let Some(first_ps) = self.queues.iter().filter_map(Queue::ready_ps).min() {
            let now_ps = first_ps.max(self.server.free_ps());
            if now_ps >= until_ps {
                return;
            }
            self.release();
            let place = self.choose(now_ps);
            let queue = &mut self.queues[place];
            let Some(waiting) = queue.waiting.pop_front() else {
                return;
            };
            queue.bytes -= u64::from(waiting.bytes);
            if let Some(shaper) = &mut queue.shaper {
                shaper.take(waiting.bytes, now_ps);
            }
            self.levels[queue.level].virtual_time = waiting.tag;
            let mut frame = waiting.frame;
            let waited_ps = now_ps - waiting.ready_ps;
            let marker = queue.marker.as_mut();
            if marker.is_some_and(|marker| marker.leaves(now_ps, waited_ps))
                && !mark(&mut frame, queue.action, waiting.code)
            {
                self.occupied_bytes -= u64::from(waiting.bytes);
                continue;
            }
            let start_ps = self.server.start::<true>(now_ps, waiting.service);
            let left_ps = self.server.free_ps();
            self.sending = Some(Sending {
                queue: place,
                bytes: waiting.bytes,
                service_ps: left_ps - start_ps,
                left_ps,
            });
            leave(frame, start_ps);
        }
    }

    /// Empties all queues.
    pub fn empty(&mut self) {
        for queue in &mut self.queues {
            queue.waiting.clear();
            queue.bytes = 0;
        }
        self.sending = None;
        self.occupied_bytes = 0;
        self.server.forget();
    }

    /// The frame that was being sent has left.
    fn release(&mut self) {
        if let Some(sending) = self.sending.take() {
            self.occupied_bytes -= u64::from(sending.bytes);
        }
    }

    /// The queue whose turn it is, of which at least one has a frame that may leave.
    fn choose(&mut self, now_ps: u64) -> usize {
        let Queues {
            queues,
            levels,
            kind,
            quantum_bytes,
            ..
        } = self;
        let may = |place: usize, queues: &[Queue]| {
            let ready_ps = queues[place].ready_ps();
            ready_ps.is_some_and(|ready_ps| ready_ps <= now_ps)
        };
        let Some(level) = levels
            .iter_mut()
            .find(|level| level.places.iter().any(|place| may(*place, queues)))
        else {
            return 0;
        };
        if *kind == SchedulerKind::Wfq {
            let tag = |place: usize| {
                queues[place]
                    .waiting
                    .front()
                    .map_or(f64::MAX, |own| own.tag)
            };
            let ready = level.places.iter().filter(|place| may(**place, queues));
            let first = ready.min_by(|one, other| tag(**one).total_cmp(&tag(**other)));
            return first.copied().unwrap_or(0);
        }
        loop {
            let place = level.places[level.turn];
            let may_leave = may(place, queues);
            let queue = &mut queues[place];
            if may_leave {
                if !queue.is_served {
                    queue.deficit += queue.weight * *quantum_bytes;
                    queue.is_served = true;
                }
                let bytes = queue
                    .waiting
                    .front()
                    .map_or(0.0, |own| f64::from(own.bytes));
                if bytes <= queue.deficit {
                    queue.deficit -= bytes;
                    return place;
                }
            } else {
                queue.deficit = 0.0;
            }
            queue.is_served = false;
            level.turn = (level.turn + 1) % level.places.len();
        }
    }
}

impl Queue {
    fn new(
        settings: &QueueSettings,
        level: usize,
        whole_bytes: u64,
        trial_seed: u64,
        place: usize,
    ) -> Self {
        let marking = settings.marking.as_ref();
        Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            level,
            weight: settings.weight,
            buffer_bytes: settings.buffer_bytes.unwrap_or(whole_bytes),
            policer: settings.policer.as_ref().map(TokenBucket::new),
            shaper: settings.shaper.as_ref().map(TokenBucket::new),
            marker: marking.map(|marking| Marker::new(marking, trial_seed, place)),
            action: marking.map_or(Action::Mark, |marking| marking.action),
            deficit: 0.0,
            is_served: false,
            last_tag: 0.0,
        }
    }

    /// When its first frame may leave.
    fn ready_ps(&self) -> Option<u64> {
        let first = self.waiting.front()?;
        let tokens_ps = self
            .shaper
            .as_ref()
            .map_or(0, |shaper| shaper.ready_ps(first.bytes));
        Some(first.ready_ps.max(tokens_ps))
    }
}

/// Does to a frame what its queue does; false if it is lost.
fn mark(frame: &mut SentFrame, action: Action, code: Code) -> bool {
    match action {
        Action::Mark if code.ecn => frame.marks |= CE,
        Action::Remark => frame.marks |= REMARKED,
        Action::Mark | Action::Drop => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::device::{Bucket, OutputSettings, Scheduler};
    use crate::simulated::shared_output::SharedOutput;
    use proptest::prelude::*;

    fn device(queues: &str, kind: SchedulerKind, buffer_bytes: u64) -> Device {
        let mut device: Device = serde_json::from_str(
            r#"{"ports": 2, "link_bits_per_second": 1e9, "resolution_ns": 0, "max_frame_bytes": null,
                "forwarding": {"mode": "store-and-forward", "ns_per_byte": 8, "constant_ns": 0, "header_bytes": null,
                               "decision_ns": 0},
                "output": {"buffer_bytes": 1, "service_bits_per_second": null}, "input": null,
                "address_table": null, "jitter": null, "scatter": null,
                "loss": {"ratio": 0, "above_frame_bytes": null, "above_ratio": null}, "stall": null, "reset": null,
                "faults": {"duplicate_ratio": 0, "reorder_ratio": 0, "reorder_above_fps": null, "corrupt_ratio": 0},
                "clock_offset_ppm": {}, "pairs": [], "host": null, "queues": [], "interruptions": [],
                "scheduler": {"kind": "drr", "quantum_bytes": 1518}}"#,
        )
        .unwrap();
        device.output = OutputSettings {
            buffer_bytes,
            service_bits_per_second: None,
        };
        device.scheduler = Scheduler {
            kind,
            quantum_bytes: 1518,
        };
        device.queues = serde_json::from_str(queues).unwrap();
        device
    }

    fn queue(code: u8, priority: u8, weight: f64) -> String {
        format!(
            r#"{{"codes": [{code}], "priority": {priority}, "weight": {weight}, "buffer_bytes": 100000, "policer": null,
                "shaper": null, "marking": null}}"#
        )
    }

    /// How many frames of each code left in 100 ms if one of each comes every 12 µs and takes 12 µs to send.
    fn shares(device: &Device, codes: &[u8]) -> Vec<u32> {
        let mut queues = Queues::new(device, 1, None).unwrap();
        let mut counts = vec![0; codes.len()];
        let service = Service::new(12e6);
        for step in 0..8000u64 {
            let ready_ps = step * 12_000_000;
            queues.advance(ready_ps, |frame, _| counts[frame.stream as usize] += 1);
            for (stream, code) in codes.iter().enumerate() {
                queues.come(Coming {
                    frame: SentFrame {
                        stream: stream as u32,
                        sequence: step,
                        sent_ps: ready_ps,
                        marks: 0,
                    },
                    ready_ps,
                    bytes: 1480,
                    service,
                    code: Code {
                        code: *code,
                        ecn: false,
                    },
                });
            }
        }
        counts
    }

    #[test]
    fn a_queue_of_higher_priority_starves_the_others() {
        let queues = format!("[{}, {}]", queue(0, 0, 1.0), queue(46, 1, 1.0));
        let counts = shares(&device(&queues, SchedulerKind::Drr, 1 << 20), &[0, 46]);
        assert!(counts[0] <= 1 && counts[1] >= 7998, "{counts:?}");
    }

    #[test]
    fn queues_of_one_priority_share_by_weight() {
        let queues = format!(
            "[{}, {}, {}]",
            queue(0, 0, 1.0),
            queue(1, 0, 2.5),
            queue(2, 0, 4.5)
        );
        for kind in [SchedulerKind::Drr, SchedulerKind::Wfq] {
            let counts = shares(&device(&queues, kind, 1 << 20), &[0, 1, 2]);
            for (count, weight) in counts.iter().zip([1.0, 2.5, 4.5]) {
                let share = f64::from(*count) / 8000.0;
                assert!((share - weight / 8.0).abs() < 0.002, "{kind:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_shaper_lets_its_burst_through_and_then_its_rate() {
        let mut device = device(
            &format!("[{}]", queue(0, 0, 1.0)),
            SchedulerKind::Drr,
            1 << 20,
        );
        device.queues[0].shaper = Some(Bucket {
            bits_per_second: 1e8,
            burst_bytes: 14_800,
        });
        let counts = shares(&device, &[0]);
        // 96 ms at 100 Mbit/s are 810.8 frames of 1480 bytes, behind ten of the burst.
        assert!((820..=822).contains(&counts[0]), "{counts:?}");
    }

    proptest! {
        #[test]
        fn one_queue_does_what_a_shared_output_does(
            buffer in 1600u64..10_000,
            frames in proptest::collection::vec((0u64..20_000_000, 64u32..1519), 1..200),
        ) {
            let device = device(&format!("[{}]", queue(0, 0, 1.0)), SchedulerKind::Drr, buffer);
            let mut queues = Queues::new(&device, 1, None).unwrap();
            let mut output = SharedOutput::new(buffer, None);
            let (mut ready_ps, mut found, mut expected) = (0, Vec::new(), Vec::new());
            for (sequence, (step_ps, bytes)) in frames.into_iter().enumerate() {
                ready_ps += step_ps;
                let service = Service::new(f64::from(bytes) * 8000.0);
                queues.advance(ready_ps, |frame, start_ps| found.push((frame.sequence, start_ps)));
                let frame = SentFrame { stream: 0, sequence: sequence as u64, sent_ps: ready_ps, marks: 0 };
                queues.come(Coming { frame, ready_ps, bytes, service, code: Code::default() });
                if let Some(start_ps) = output.send(ready_ps, bytes, service) {
                    expected.push((sequence as u64, start_ps));
                }
            }
            queues.advance(u64::MAX, |frame, start_ps| found.push((frame.sequence, start_ps)));
            prop_assert_eq!(found, expected);
        }
    }
}
