//! Carries out one trial on a transmit and a receive port and returns its record.
//!
//! One thread sends, the calling thread accounts; both ports are handed back afterwards. It
//! decides how long to wait, and nothing about what the figures mean.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::affinity;
use crate::clock::monotonic_ns;
use crate::pacing::Schedule;
use crate::port::{Arrival, EngineError, Expected, Load, Receive, Result, Transmit};
use crate::record::{Record, Sent, Trial};
use crate::signature::{self, balanced};
use crate::tracking::Tracker;
use crate::watch::Watch;

/// From the start of the threads to the first frame.
const LEAD_NS: u64 = 5_000_000;
/// Between two looks at what arrived: short against the rings, and rarely in the way of a device that shares the core.
const LOOK: Duration = Duration::from_millis(5);
/// A stopped trial waits no longer than this for the frames on their way.
const STOPPED_DRAIN_NS: u64 = 100_000_000;
/// A sender that lags gives up at the trial's end plus this, or plus 0.5 % of it: time to catch up
/// after losing its CPU to another process for two ticks of a 250 Hz kernel.
const SLACK_NS: u64 = 10_000_000;

/// Schedule of the two threads against everything else on the machine.
const SEND_NICE: i32 = -20;
const ACCOUNT_NICE: i32 = -10;

/// Runs the trial; `template` is a whole frame without FCS with room for the signature at its end.
pub fn carry(
    trial: &Trial,
    template: &[u8],
    checked_from: usize,
    transmit: &mut dyn Transmit,
    receive: &mut dyn Receive,
    watch: &Watch,
) -> Result<Record> {
    check(trial, template, checked_from)?;
    let cpus = affinity::allowed().unwrap_or_default();
    let (first, others) = cpus.split_at(cpus.len().min(1));
    let expected = Expected {
        stream: trial.stream,
        length: template.len(),
        checked_from,
    };
    affinity::restrict(if others.is_empty() { first } else { others });
    affinity::sleep_precisely();
    affinity::hurry(ACCOUNT_NICE);

    let start_ns = monotonic_ns() + LEAD_NS;
    let load = Load {
        template,
        stream: trial.stream,
        frames: trial.frames,
        schedule: Schedule::new(start_ns, trial.frames_per_second),
        give_up_ns: start_ns + trial.duration_ns + SLACK_NS.max(trial.duration_ns / 200),
    };
    transmit.prepare(&load)?;
    receive.begin(expected)?;
    let control = transmit.control();
    let mut account = Account::new(start_ns, trial);
    let mut interrupted = false;
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            affinity::restrict(first);
            affinity::sleep_precisely();
            affinity::hurry(SEND_NICE);
            transmit.run(&load)
        });
        while !sender.is_finished() {
            account.drain(receive, watch);
            watch.offered.store(control.offered(), Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                control.stop();
                interrupted = true;
            }
            thread::sleep(LOOK);
        }
        sender
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let sent = match sent {
        Ok(sent) => sent,
        Err(error) => {
            receive.end();
            return Err(error);
        }
    };
    watch.offered.store(sent.offered_frames, Ordering::Relaxed);

    let sent_ns = start_ns + sent.last_sent_ns;
    loop {
        account.drain(receive, watch);
        interrupted |= watch.stop.load(Ordering::Relaxed);
        let drain_ns = if interrupted {
            trial.drain_ns.min(STOPPED_DRAIN_NS)
        } else {
            trial.drain_ns
        };
        if monotonic_ns() >= sent_ns + drain_ns + receive.delay_ns() {
            break;
        }
        thread::sleep(LOOK);
    }
    account.drain(receive, watch);
    let tester_dropped_frames = receive.end();
    Ok(account.record(sent, tester_dropped_frames, interrupted, transmit, receive))
}

/// The account of one trial and what the callback of a receive port needs of it.
struct Account {
    tracker: Tracker,
}

impl Account {
    fn new(start_ns: u64, trial: &Trial) -> Self {
        Account {
            tracker: Tracker::new(start_ns, trial.interval_ns).tagged(trial.tag),
        }
    }

    fn drain(&mut self, receive: &mut dyn Receive, watch: &Watch) {
        let tracker = &mut self.tracker;
        receive.drain(&mut |arrival| match arrival {
            Arrival::Intact {
                sequence,
                sent_ns,
                received_ns,
            } => {
                let latency_ps = (received_ns as i64 - sent_ns as i64) * 1000;
                tracker.arrive(sequence, sent_ns, latency_ps);
            }
            Arrival::Corrupt { sequence } => tracker.corrupt(sequence),
            Arrival::Foreign => tracker.foreign(),
        });
        watch
            .forwarded
            .store(tracker.forwarded_frames(), Ordering::Relaxed);
    }

    fn record(
        self,
        sent: Sent,
        tester_dropped_frames: u64,
        interrupted: bool,
        transmit: &dyn Transmit,
        receive: &dyn Receive,
    ) -> Record {
        Record {
            tracked: self.tracker.finish(sent.offered_frames),
            sent,
            tester_dropped_frames,
            interrupted,
            transmit_stamp: transmit.stamp().into(),
            receive_stamp: receive.stamp().into(),
        }
    }
}

/// Refuses what no port can do, naming the field.
fn check(trial: &Trial, template: &[u8], checked_from: usize) -> Result<()> {
    let refuse = |problem: String| Err(EngineError(problem));
    if !(trial.frames_per_second.is_finite() && trial.frames_per_second > 0.0) {
        return refuse(format!(
            "frames_per_second: {} is not a rate",
            trial.frames_per_second
        ));
    }
    if trial.frames == 0 || trial.interval_ns == 0 {
        return refuse("frames and interval_ns must be at least 1".into());
    }
    if template.len() + 4 != trial.frame_bytes as usize {
        return refuse(format!(
            "template: {} bytes and 4 of FCS are not frame_bytes = {}",
            template.len(),
            trial.frame_bytes
        ));
    }
    let Some((_, place)) = template.split_last_chunk::<{ signature::LENGTH }>() else {
        return refuse("template: shorter than a signature".into());
    };
    let region = template.get(checked_from..).unwrap_or_default();
    if place.iter().any(|byte| *byte != 0) || region.len() < signature::LENGTH || !balanced(region)
    {
        return refuse(format!(
            "template: the bytes from {checked_from} must sum to zero and end in {} zero bytes",
            signature::LENGTH
        ));
    }
    Ok(())
}
