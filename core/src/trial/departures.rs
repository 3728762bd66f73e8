//! The departures of all streams that one sender serves, merged in the order of their due times.
//!
//! The departures are a function of the trial. This file knows no port and no clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use std::sync::Arc;

use crate::chance::part_seed;
use crate::trial::Trial;
use crate::trial::pacing::{Pacing, Timetable};
use crate::trial::switches::{State, Switches};

/// One frame that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    pub due_ns: u64,
    /// Index of the stream in the trial.
    pub stream: usize,
    pub sequence: u64,
}

/// An iterator over the departures of some of a trial's streams.
pub struct Departures {
    streams: Vec<Line>,
    /// Due time and place in `streams` of each stream that has frames left.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    frames: u64,
    frames_per_second: f64,
    /// Longest time of any stream from the beginning of one burst to that of the next.
    burst_ns: u64,
    held: Option<Held>,
}

struct Line {
    stream: usize,
    timetable: Timetable,
    sequence: u64,
    frames: u64,
    /// By how much its timetable is shifted, because it was started later or paused.
    shift_ns: u64,
    state: State,
    paused_ns: u64,
    /// When it ends even if frames are left.
    cut_ns: Option<u64>,
}

impl Line {
    fn due_ns(&self) -> u64 {
        self.timetable.due_ns() + self.shift_ns
    }
}

/// The state of a load whose streams are switched one by one.
struct Held {
    switches: Arc<Switches>,
    obeyed: u64,
    start_ns: u64,
    /// Departures up to here have been handed out.
    handed_ns: u64,
    /// The earliest `cut_ns` of the streams that are running.
    cut_ns: u64,
}

/// A load that the host interrupted may take longer by this share of its duration, so that all its frames are sent.
pub const PATIENCE: u64 = 4;
/// Time from starting a stream to its first frame: no departure may be due before those that were handed out already.
const RESUME_NS: u64 = 2_000_000;

impl Departures {
    /// The streams that leave by one of `ports`. Streams of one port with the same start are offset from each other
    /// by one mean gap of the port, so that streams of one rate do not leave in bunches. Rare frames (RFC 2544 §11)
    /// come first.
    pub fn new(
        trial: &Trial,
        ports: &[usize],
        start_ns: u64,
        switches: Option<&Arc<Switches>>,
    ) -> Self {
        let mut streams = Vec::new();
        let chosen = |index: &usize| ports.contains(&trial.streams[*index].transmit);
        for stream in (0..trial.streams.len()).filter(chosen) {
            let own = &trial.streams[stream];
            let beside = |other: &&crate::trial::Stream| {
                (other.transmit, other.start_ns) == (own.transmit, own.start_ns)
            };
            let position = trial.streams[..stream].iter().filter(beside).count();
            let all = trial.streams.iter().filter(beside);
            let phase_ns =
                position as f64 * 1e9 / all.map(|other| other.frames_per_second).sum::<f64>();
            let seed = part_seed(trial.seed, stream as u64);
            streams.push(Line {
                stream,
                timetable: Timetable::new(
                    own.pacing.clone(),
                    start_ns + own.start_ns + phase_ns as u64,
                    own.frames_per_second,
                    own.frames,
                    seed,
                ),
                sequence: 0,
                frames: own.frames,
                shift_ns: 0,
                state: switches.map_or(State::Going, |switches| switches.state(stream)),
                paused_ns: 0,
                cut_ns: trial
                    .switches
                    .as_ref()
                    .and_then(|own| own[stream].cut_ns)
                    .map(|cut_ns| start_ns + own.start_ns + cut_ns),
            });
        }
        let sum = |figure: fn(&crate::trial::Stream) -> f64| {
            streams
                .iter()
                .map(|line| figure(&trial.streams[line.stream]))
                .sum::<f64>()
        };
        let bursts = streams.iter().map(|line| {
            let own = &trial.streams[line.stream];
            match own.pacing {
                Pacing::Bursts { burst_frames, .. } => {
                    (burst_frames as f64 * 1e9 / own.frames_per_second) as u64
                }
                _ => 0,
            }
        });
        let held = switches.map(|switches| Held {
            switches: switches.clone(),
            obeyed: 0,
            start_ns,
            handed_ns: 0,
            cut_ns: 0,
        });
        let mut departures = Departures {
            burst_ns: bursts.max().unwrap_or(0),
            frames: streams.iter().map(|line| line.frames).sum(),
            frames_per_second: sum(|stream| stream.frames_per_second),
            streams,
            queue: BinaryHeap::new(),
            held,
        };
        departures.line_up();
        departures
    }

    /// The switches of the streams.
    pub fn switches(&self) -> Option<&Arc<Switches>> {
        self.held.as_ref().map(|held| &held.switches)
    }

    /// Applies the changes of single streams since the last call. `now_ns` is the time on the sender's schedule.
    pub fn obey(&mut self, now_ns: u64) {
        let Some(held) = &mut self.held else {
            return;
        };
        let changes = held.switches.changes();
        if changes == held.obeyed {
            return;
        }
        held.obeyed = changes;
        let resume_ns = now_ns.max(held.handed_ns) + RESUME_NS;
        for line in &mut self.streams {
            let wanted = held.switches.state(line.stream);
            let shift_ns = match (line.state, wanted) {
                (State::Waiting, State::Going) => resume_ns.saturating_sub(held.start_ns),
                (State::Paused, State::Going) => resume_ns.saturating_sub(line.paused_ns),
                _ => 0,
            };
            line.shift_ns += shift_ns;
            line.cut_ns = line.cut_ns.map(|cut_ns| cut_ns + shift_ns);
            if line.state == State::Going && wanted == State::Paused {
                line.paused_ns = held.handed_ns.max(now_ns);
            }
            if line.state != State::Ended && wanted == State::Ended {
                held.switches.end(line.stream, line.sequence);
            }
            line.state = wanted;
        }
        self.line_up();
    }

    /// Ends the streams whose time was over at `now_ns`, whether or not frames are left.
    #[inline]
    pub fn cut(&mut self, now_ns: u64) {
        if self.held.as_ref().is_some_and(|held| now_ns > held.cut_ns) {
            self.cut_lines(now_ns);
        }
    }

    #[cold]
    fn cut_lines(&mut self, now_ns: u64) {
        let Some(held) = &self.held else {
            return;
        };
        for line in &mut self.streams {
            if line.state == State::Going && line.cut_ns.is_some_and(|cut_ns| now_ns > cut_ns) {
                line.state = State::Ended;
                held.switches.end(line.stream, line.sequence);
            }
        }
        self.line_up();
    }

    /// Fills the queue with the streams that are running.
    fn line_up(&mut self) {
        let lines = self.streams.iter().enumerate();
        self.queue = lines
            .clone()
            .filter(|(_, line)| line.state == State::Going && line.sequence < line.frames)
            .map(|(place, line)| Reverse((line.due_ns(), place)))
            .collect();
        if let Some(held) = &mut self.held {
            held.cut_ns = lines
                .filter(|(_, line)| line.state == State::Going)
                .filter_map(|(_, line)| line.cut_ns)
                .min()
                .unwrap_or(u64::MAX);
        }
    }

    /// The next departure, if it is due by `until_ns`.
    #[inline]
    pub fn next_by(&mut self, until_ns: u64) -> Option<Departure> {
        let mut first = self.queue.peek_mut()?;
        let Reverse((due_ns, place)) = *first;
        if due_ns > until_ns {
            if let Some(held) = &mut self.held {
                held.handed_ns = held.handed_ns.max(until_ns);
            }
            return None;
        }
        let line = &mut self.streams[place];
        let departure = Departure {
            due_ns,
            stream: line.stream,
            sequence: line.sequence,
        };
        line.sequence += 1;
        if line.sequence < line.frames {
            line.timetable.advance();
            *first = Reverse((line.due_ns(), place));
        } else {
            PeekMut::pop(first);
            if let Some(held) = &self.held {
                line.state = State::Ended;
                held.switches.end(line.stream, line.sequence);
            }
        }
        if let Some(held) = &mut self.held {
            held.handed_ns = held.handed_ns.max(due_ns);
        }
        Some(departure)
    }

    /// All frames of the streams.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Mean time between two departures.
    pub fn period_ns(&self) -> u64 {
        (1e9 / self.frames_per_second) as u64
    }

    /// A sender that is later than this does not catch up but postpones the frames that are left, because a device
    /// under test must not lose frames to a burst that was not requested. The limit allows bursts of 64 frames (RFC
    /// 2544 §21), short interruptions by the scheduler, and bursts that were requested, whose frames are all due at
    /// the same time.
    pub fn catch_up_ns(&self) -> u64 {
        200_000.max(64 * (self.period_ns() + 1)).max(self.burst_ns)
    }
}

impl Iterator for Departures {
    type Item = Departure;

    #[inline]
    fn next(&mut self) -> Option<Departure> {
        self.next_by(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Stream, Switch};
    use proptest::prelude::*;

    fn trial(rates: &[(usize, f64, u64)]) -> Trial {
        let streams = rates.iter().map(|&(transmit, rate, frames)| Stream {
            also: Vec::new(),
            among: Vec::new(),
            timed: false,
            transmit,
            receive: 9,
            table: 0,
            frame_bytes: vec![64],
            frames_per_second: rate,
            pacing: Default::default(),
            frames,
            start_ns: 0,
            tag: None,
            growth_bytes: 0,
            connections: None,
        });
        Trial {
            first_stream: 1,
            streams: streams.collect(),
            duration_ns: 1,
            drain_ns: 0,
            interval_ns: 1,
            variation: false,
            reset_after_ns: None,
            stop_after_lost: None,
            seed: 0,
            switches: None,
            links_may_fail: false,
            changes: false,
            marks: false,
            promiscuous: Vec::new(),
            events: Vec::new(),
            words: None,
            senders_cpu: None,
            elsewhere: None,
            batch_frames: None,
            lists_batches: false,
        }
    }

    proptest! {
        #[test]
        fn every_frame_of_every_chosen_stream_departs_once_and_in_order(
            rates in proptest::collection::vec((0usize..3, 1e3f64..1e6, 0u64..50), 1..20),
        ) {
            let trial = trial(&rates);
            let all: Vec<_> = Departures::new(&trial, &[0, 2], 5, None).collect();
            prop_assert!(all.windows(2).all(|pair| pair[0].due_ns <= pair[1].due_ns));
            for (stream, own) in trial.streams.iter().enumerate() {
                let sequences: Vec<_> =
                    all.iter().filter(|d| d.stream == stream).map(|d| d.sequence).collect();
                let expected = if own.transmit == 1 { 0 } else { own.frames };
                prop_assert_eq!(sequences, (0..expected).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn streams_of_a_port_are_spread_over_a_period() {
        let trial = trial(&[(0, 1e6, 2), (0, 1e6, 2), (1, 1e6, 2)]);
        let due: Vec<_> = Departures::new(&trial, &[0, 1], 0, None)
            .map(|departure| (departure.due_ns, departure.stream))
            .collect();
        assert_eq!(
            due,
            [(0, 0), (0, 2), (500, 1), (1000, 0), (1000, 2), (1500, 1)]
        );
    }

    #[test]
    fn a_stream_begins_when_it_is_to() {
        let mut trial = trial(&[(0, 1e6, 2), (0, 1e6, 2)]);
        trial.streams[1].start_ns = 1700;
        let due: Vec<_> = Departures::new(&trial, &[0], 10, None)
            .map(|departure| (departure.due_ns, departure.stream))
            .collect();
        assert_eq!(due, [(10, 0), (1010, 0), (1710, 1), (2710, 1)]);
    }

    fn switched(trial: &mut Trial, waits: &[bool], cut_ns: Option<u64>) -> Arc<Switches> {
        let switch = |waits: &bool| Switch {
            waits: *waits,
            cut_ns,
        };
        trial.switches = Some(waits.iter().map(switch).collect());
        Arc::new(Switches::of(trial).unwrap())
    }

    /// Stream, sequence number and due time of what is due by `until_ns`.
    fn due_by(departures: &mut Departures, until_ns: u64) -> Vec<(usize, u64, u64)> {
        std::iter::from_fn(|| departures.next_by(until_ns))
            .map(|departure| (departure.stream, departure.sequence, departure.due_ns))
            .collect()
    }

    #[test]
    fn streams_go_pause_and_end_when_they_are_told() {
        let mut trial = trial(&[(0, 1e6, 20), (0, 1e6, 1000)]);
        let switches = switched(&mut trial, &[false, true], None);
        let mut departures = Departures::new(&trial, &[0], 0, Some(&switches));
        assert_eq!(due_by(&mut departures, 9_999).len(), 10);
        assert!(switches.set(&[1], State::Going));
        departures.obey(5_000);
        let due = due_by(&mut departures, 2_012_000);
        assert_eq!(
            due[..10],
            (10..20).map(|n| (0, n, n * 1000)).collect::<Vec<_>>()
        );
        // Never before what has been handed out, and with its own phase.
        assert_eq!(due[10..], [(1, 0, 2_010_499), (1, 1, 2_011_499)]);
        assert_eq!(switches.state(0), State::Ended);
        assert!(switches.set(&[1], State::Paused));
        departures.obey(2_012_000);
        assert_eq!(due_by(&mut departures, u64::MAX), []);
        assert!(!switches.settle());
        assert!(switches.set(&[1], State::Going));
        departures.obey(5_000_000);
        assert_eq!(due_by(&mut departures, 7_001_000), [(1, 2, 7_000_499)]);
        assert!(switches.set(&[1], State::Ended));
        departures.obey(7_001_000);
        assert_eq!(due_by(&mut departures, u64::MAX), []);
        assert!(switches.settle());
        assert!(!switches.set(&[0], State::Going));
    }

    #[test]
    fn a_stream_whose_frames_wait_at_a_stopped_sender_has_not_left() {
        let mut trial = trial(&[(0, 1e6, 3), (0, 1e6, 1000)]);
        let switches = switched(&mut trial, &[false, false], None);
        let mut departures = Departures::new(&trial, &[0], 0, Some(&switches));
        assert_eq!(due_by(&mut departures, 4_499).len(), 7);
        let sent = |stream: usize, frames| {
            let offered = &switches.streams()[stream].offered;
            offered.store(frames, std::sync::atomic::Ordering::Relaxed);
            switches.has_left(stream)
        };
        assert_eq!(switches.state(0), State::Ended);
        assert_eq!(
            [0, 2, 3].map(|frames| sent(0, frames)),
            [false, false, true]
        );
        assert!(switches.set(&[1], State::Ended));
        assert!(!sent(1, 4), "it is not known yet how many more leave");
        departures.obey(5_000);
        assert_eq!([3, 4].map(|frames| sent(1, frames)), [false, true]);
    }

    #[test]
    fn a_stream_of_a_certain_time_leaves_out_what_comes_too_late() {
        let mut trial = trial(&[(0, 1e6, 100)]);
        let switches = switched(&mut trial, &[false], Some(50_000));
        let mut departures = Departures::new(&trial, &[0], 0, Some(&switches));
        assert_eq!(due_by(&mut departures, 9_999).len(), 10);
        departures.cut(50_000);
        assert_eq!(due_by(&mut departures, 10_000).len(), 1);
        departures.cut(50_001);
        assert_eq!(due_by(&mut departures, u64::MAX), []);
        assert!(switches.settle());
    }
}
