//! One simulated trial: every frame from the schedule through the device to the tracker.
//!
//! The loop allocates nothing. It is compiled twice, so that a device without randomness,
//! stalls or clock differences pays for none of them.

use std::sync::atomic::Ordering;

use crate::record::{Receiver, Record, StreamRecord, Transmitter, Trial};
use crate::tracking::Tracker;
use crate::watch::Watch;

use super::chance::{self, Chance, Concern, Stream};
use super::device::Distribution;
use super::output::Output;
use super::path::Path;
use super::schedule::Schedule;

/// Frames between two looks at the watch: about a millisecond.
const BATCH: u64 = 1 << 15;
const STAMP: &str = "virtual time, exact";

/// Carries out `trial`; the same arguments give the same record.
pub fn run(path: &Path, receive_clock_ppm: f64, trial: &Trial, watch: &Watch) -> Record {
    let stream = &trial.streams[0];
    let frame_bytes = stream.frame_bytes[0];
    let schedule = Schedule::new(stream, trial.duration_ns, path.link_bits_per_second());
    let frames = schedule.frames();
    let mut carrier = Carrier::new(path, receive_clock_ppm, trial, &schedule);
    let refused = path.refuses(frame_bytes);
    let mut offered = 0;
    while offered < frames && !watch.stop.load(Ordering::Relaxed) {
        let batch = offered..frames.min(offered + BATCH);
        offered = batch.end;
        if refused {
        } else if carrier.is_plain() {
            batch.for_each(|sequence| carrier.carry_plain(sequence, schedule.sent_ps(sequence)));
        } else {
            batch.for_each(|sequence| carrier.carry(sequence, schedule.sent_ps(sequence)));
        }
        watch.offered.store(offered, Ordering::Relaxed);
        watch
            .forwarded
            .store(carrier.tracker.forwarded_frames(), Ordering::Relaxed);
    }
    carrier.release_held();
    Record {
        streams: vec![StreamRecord {
            stream: trial.first_stream,
            transmit: stream.transmit,
            receive: stream.receive,
            offered_frames: offered,
            tracked: carrier.tracker.finish(offered),
        }],
        transmitters: vec![Transmitter {
            port: stream.transmit,
            sent: schedule.sent(offered),
            stamp: STAMP.into(),
        }],
        receivers: vec![Receiver {
            port: stream.receive,
            stamp: STAMP.into(),
            ..Receiver::default()
        }],
        interference: None,
        interrupted: offered < frames,
    }
}

/// The device and the receiver behind it, during one trial.
struct Carrier {
    latency_ps: u64,
    output: Output,
    tracker: Tracker,
    /// Frames that come later are not waited for.
    deadline_ps: u64,
    faults: Option<Faults>,
}

/// Everything that a plain device does not have.
struct Faults {
    lost: Chance,
    lost_for_size: Chance,
    corrupt: Chance,
    duplicate: Chance,
    reorder: Chance,
    jitter: Option<(Distribution, u64, Stream)>,
    /// The latest time a frame reached the output: later ones do not overtake it.
    ready_ps: u64,
    held: Option<(u64, u64)>,
    /// How much faster the receiver's clock runs than the sender's.
    receive_clock: f64,
}

impl Carrier {
    fn new(path: &Path, receive_clock_ppm: f64, trial: &Trial, schedule: &Schedule) -> Self {
        let stream = &trial.streams[0];
        let bytes = stream.frame_bytes[0];
        let stall = path.device().stall.as_ref();
        // A buffer larger than the trial needs no more places than frames.
        let places = path.buffer_frames(bytes).min(2 * schedule.frames()).max(1) as usize;
        let faults = Faults::new(path, receive_clock_ppm, trial);
        Carrier {
            latency_ps: path.latency_ps(bytes),
            output: Output::new(path.service_ps(bytes), places, stall),
            tracker: Tracker::new(0, trial.interval_ns).tagged(stream.tag),
            deadline_ps: schedule.sent_ps(schedule.frames() - 1) + trial.drain_ns * 1000,
            faults: (stall.is_some() || faults.are_possible()).then_some(faults),
        }
    }

    fn is_plain(&self) -> bool {
        self.faults.is_none()
    }

    #[inline(always)]
    fn carry_plain(&mut self, sequence: u64, sent_ps: u64) {
        if let Some(start_ps) = self.output.send::<false>(sent_ps + self.latency_ps)
            && start_ps <= self.deadline_ps
        {
            self.tracker
                .arrive(sequence, sent_ps / 1000, (start_ps - sent_ps) as i64);
        }
    }

    fn carry(&mut self, sequence: u64, sent_ps: u64) {
        let Some(faults) = &mut self.faults else {
            return;
        };
        if faults.lost.hits(sequence) || faults.lost_for_size.hits(sequence) {
            return;
        }
        let jitter_ps = faults.jitter_ps(sequence);
        let ready_ps = (sent_ps + self.latency_ps).saturating_add_signed(jitter_ps);
        faults.ready_ps = faults.ready_ps.max(ready_ps).max(sent_ps);
        if faults.held.is_none() && faults.reorder.hits(sequence) {
            faults.held = Some((sequence, sent_ps));
            return;
        }
        self.leave(sequence, sent_ps);
        self.release_held();
    }

    /// The frame that was held back follows the one that has passed it.
    #[inline]
    fn release_held(&mut self) {
        if let Some((sequence, sent_ps)) =
            self.faults.as_mut().and_then(|faults| faults.held.take())
        {
            self.leave(sequence, sent_ps);
        }
    }

    #[inline]
    fn leave(&mut self, sequence: u64, sent_ps: u64) {
        let Some(faults) = &self.faults else { return };
        let copies = if faults.duplicate.hits(sequence) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let Some(start_ps) = self.output.send::<true>(faults.ready_ps) else {
                continue;
            };
            if start_ps > self.deadline_ps {
                continue;
            }
            if faults.corrupt.hits(sequence) {
                self.tracker.corrupt(sequence);
                continue;
            }
            let ahead_ps = (start_ps as f64 * faults.receive_clock) as i64;
            let latency_ps = (start_ps - sent_ps) as i64 + ahead_ps;
            self.tracker.arrive(sequence, sent_ps / 1000, latency_ps);
        }
    }
}

impl Faults {
    fn new(path: &Path, receive_clock_ppm: f64, trial: &Trial) -> Self {
        let chance = |ratio, concern| Chance::new(ratio, trial.seed, concern);
        let (lost, lost_for_size) = path.loss_ratios(trial.streams[0].frame_bytes[0]);
        let ratios = &path.device().faults;
        Faults {
            lost: chance(lost, Concern::Loss),
            lost_for_size: chance(lost_for_size, Concern::LossAbove),
            corrupt: chance(ratios.corrupt_ratio, Concern::Corrupt),
            duplicate: chance(ratios.duplicate_ratio, Concern::Duplicate),
            reorder: chance(ratios.reorder_ratio, Concern::Reorder),
            jitter: path.jitter().map(|jitter| {
                let spread_ps = (jitter.spread_ns * 1000.0).round() as u64;
                (
                    jitter.distribution,
                    spread_ps,
                    Stream::new(trial.seed, Concern::Jitter),
                )
            }),
            ready_ps: 0,
            held: None,
            receive_clock: receive_clock_ppm * 1e-6,
        }
    }

    fn are_possible(&self) -> bool {
        [
            self.lost,
            self.lost_for_size,
            self.corrupt,
            self.duplicate,
            self.reorder,
        ]
        .iter()
        .any(Chance::is_possible)
            || self.jitter.is_some()
            || self.receive_clock != 0.0
    }

    #[inline]
    fn jitter_ps(&self, sequence: u64) -> i64 {
        match &self.jitter {
            None => 0,
            Some((Distribution::Uniform, width_ps, stream)) => {
                chance::uniform(stream, sequence, *width_ps) as i64
            }
            Some((Distribution::Normal, deviation_ps, stream)) => {
                chance::normal(stream, sequence, *deviation_ps)
            }
        }
    }
}
