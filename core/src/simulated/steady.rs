//! The most common trial, optimised: one stream of one size at a constant rate.
//!
//! The loop allocates nothing. It is compiled twice, so that a device without randomness, stalls or clock differences
//! does not pay for them. `traffic` carries out all other trials.

use std::sync::atomic::Ordering;

use crate::account::loss_watch::{LOOK_NS, LossWatch};
use crate::account::marks::MarksRecord;
use crate::account::record::{Receiver, Record, StreamRecord, Transmitter};
use crate::account::tracking::Tracker;
use crate::account::watch::Watch;
use crate::trial::Trial;

use super::faults::Faults;
use super::output::Output;
use super::path::Path;
use super::schedule::Schedule;
use super::{BATCH, STAMP, stamped};

/// Carries out the only stream of `trial`.
pub fn run(path: &Path, receive_clock_ppm: f64, trial: &Trial, watch: &Watch) -> Record {
    let stream = &trial.streams[0];
    let frame_bytes = stream.frame_bytes[0];
    let schedule = Schedule::new(stream, trial.duration_ns, path.link_bits_per_second());
    let frames = schedule.frames();
    let mut carrier = Carrier::new(path, receive_clock_ppm, trial, &schedule);
    let refused = path.refuses(frame_bytes);
    let mut loss_watch = LossWatch::new(trial.stop_after_lost);
    let look_frames = (stream.frames_per_second * LOOK_NS as f64 / 1e9) as u64;
    let batch_frames = match loss_watch {
        Some(_) => look_frames.clamp(1, BATCH),
        None => BATCH,
    };
    let (mut offered, mut stopped_for_loss) = (0, false);
    while offered < frames && !stopped_for_loss && !watch.stop.load(Ordering::Relaxed) {
        let batch = offered..frames.min(offered + batch_frames);
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
        if let Some(loss_watch) = &mut loss_watch
            && offered < frames
        {
            let now_ns = schedule.sent_ps(offered - 1) / 1000;
            let received_ns = carrier.last_received_ps / 1000;
            stopped_for_loss =
                loss_watch.look(now_ns, received_ns, std::iter::once(&carrier.tracker));
        }
    }
    carrier.release_held();
    let received = carrier.tracker.forwarded_frames() > 0;
    Record {
        streams: vec![StreamRecord {
            branches: Vec::new(),
            stream: trial.first_stream,
            transmit: stream.transmit,
            receive: stream.receive,
            offered_frames: offered,
            unsent_frames: 0,
            tracked: carrier.tracker.finish(offered),
            changes: None,
            marked: trial.marks.then(MarksRecord::default),
            first_received_ns: None,
            last_received_ns: None,
            egress: None,
        }],
        transmitters: vec![Transmitter {
            port: stream.transmit,
            sent: schedule.sent(offered),
            stamp: STAMP.into(),
        }],
        receivers: vec![Receiver {
            port: stream.receive,
            stamp: STAMP.into(),
            last_received_ns: received.then_some(carrier.last_received_ps / 1000),
            ..Receiver::default()
        }],
        links: Vec::new(),
        interference: None,
        interrupted: offered < frames && !stopped_for_loss,
        stopped_for_loss,
        words: Vec::new(),
    }
}

/// The device and the receiver behind it, during one trial.
struct Carrier {
    latency_ps: u64,
    output: Output,
    tracker: Tracker,
    /// The receiver does not wait for frames that arrive later.
    deadline_ps: u64,
    last_received_ps: u64,
    disturbance: Option<Disturbance>,
}

/// What a device without disturbances does not have.
struct Disturbance {
    faults: Faults,
    is_large: bool,
    /// The latest time at which a frame reached the output; later frames do not overtake it.
    ready_ps: u64,
    /// When the previous frame was sent.
    sent_ps: u64,
    held: Option<(u64, u64)>,
    /// How much faster the receiver's clock runs than the sender's.
    receive_clock: f64,
    resolution_ps: u64,
}

impl Carrier {
    fn new(path: &Path, receive_clock_ppm: f64, trial: &Trial, schedule: &Schedule) -> Self {
        let stream = &trial.streams[0];
        let bytes = stream.frame_bytes[0];
        let stall = path.device().stall.as_ref();
        let stall = stall.map(|stall| stall.of_trial(trial.seed));
        // A buffer larger than the trial needs no more places than frames.
        let places = path.buffer_frames(bytes).min(2 * schedule.frames()).max(1) as usize;
        let faults = Faults::new(path, trial.seed, 0);
        let resolution_ps = path.resolution_ps();
        let disturbed = stall.is_some()
            || faults.are_possible()
            || receive_clock_ppm != 0.0
            || resolution_ps != 0;
        Carrier {
            latency_ps: path.latency_ps(bytes),
            output: Output::new(path.service_ps(bytes), places, stall.as_ref()),
            tracker: Tracker::new(0, trial.interval_ns)
                .tagged(stream.tag)
                .varying(trial.variation, trial.streams.len())
                .placing_lost(trial.marks),
            deadline_ps: schedule.sent_ps(schedule.frames() - 1) + trial.drain_ns * 1000,
            last_received_ps: 0,
            disturbance: disturbed.then_some(Disturbance {
                faults,
                is_large: path.is_large(bytes),
                ready_ps: 0,
                sent_ps: 0,
                held: None,
                receive_clock: receive_clock_ppm * 1e-6,
                resolution_ps,
            }),
        }
    }

    fn is_plain(&self) -> bool {
        self.disturbance.is_none()
    }

    #[inline(always)]
    fn carry_plain(&mut self, sequence: u64, sent_ps: u64) {
        if let Some(start_ps) = self.output.send::<false>(sent_ps + self.latency_ps)
            && start_ps <= self.deadline_ps
        {
            self.last_received_ps = start_ps;
            self.tracker
                .arrive(sequence, sent_ps / 1000, (start_ps - sent_ps) as i64);
        }
    }

    fn carry(&mut self, sequence: u64, sent_ps: u64) {
        let Some(own) = &mut self.disturbance else {
            return;
        };
        let spacing_ps = sent_ps - own.sent_ps;
        own.sent_ps = sent_ps;
        if own.faults.lose(sequence, own.is_large) {
            return;
        }
        let jitter_ps = own.faults.jitter_ps(sequence);
        let ready_ps = (sent_ps + self.latency_ps).saturating_add_signed(jitter_ps);
        own.ready_ps = own.ready_ps.max(ready_ps).max(sent_ps);
        if own.held.is_none() && own.faults.reorders(sequence, spacing_ps) {
            own.held = Some((sequence, sent_ps));
            return;
        }
        self.leave(sequence, sent_ps);
        self.release_held();
    }

    /// The frame that was held back follows the one that has passed it.
    #[inline]
    fn release_held(&mut self) {
        if let Some((sequence, sent_ps)) = self.disturbance.as_mut().and_then(|own| own.held.take())
        {
            self.leave(sequence, sent_ps);
        }
    }

    #[inline]
    fn leave(&mut self, sequence: u64, sent_ps: u64) {
        let Some(own) = &mut self.disturbance else {
            return;
        };
        let copies = if own.faults.duplicate.hits(sequence) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let Some(start_ps) = self.output.send::<true>(own.ready_ps) else {
                continue;
            };
            if start_ps > self.deadline_ps {
                continue;
            }
            if own.faults.corrupt.hits(sequence) {
                self.tracker.corrupt(sequence);
                continue;
            }
            let ahead_ps = (start_ps as f64 * own.receive_clock) as i64;
            let received_ps = start_ps.wrapping_add_signed(ahead_ps);
            self.last_received_ps = received_ps;
            let sent_ps = stamped(sent_ps, own.resolution_ps);
            let latency_ps = stamped(received_ps, own.resolution_ps) as i64 - sent_ps as i64
                + own.faults.reading_ps(received_ps);
            self.tracker.arrive(sequence, sent_ps / 1000, latency_ps);
        }
    }
}
