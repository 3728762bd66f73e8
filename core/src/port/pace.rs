//! What senders in user space share: the next departure, the wait until it is due, and the account of what left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::calibrated::Clock;
use crate::error::{EngineError, Result};
use crate::frame::signature::{LENGTH, Signature};
use crate::hiccup::speed::Meter;
use crate::host::kernel_clock::sleep_until;
use crate::latency::histogram::Histogram;
use crate::port::transmit::{Control, Load, SHIFTS, Sent};
use crate::trial::departures::{Departure, Departures};

/// A sleep may end this much late; the thread spins for the rest of a wait.
const SPIN_NS: u64 = 80_000;
/// A process in a virtual kernel has this variable. Sleeps end in time there, and only they let the clock move on.
const VIRTUAL: &str = "KEISOKU_VIRTUAL_KERNEL";
/// The longest sleep, so that a stop is noticed.
const NAP_NS: u64 = 20_000_000;
/// A wait that is longer than this has room for a piece of work by which the core's speed is measured.
const MEASURING_NS: u64 = 20_000;
/// How long before its due time a departure is taken where streams are switched.
const AHEAD_NS: u64 = 4_000_000;

/// What other threads see of a sender, and tell it.
#[derive(Default)]
pub struct Progress {
    offered: AtomicU64,
    /// Frames sent of each stream of the trial.
    streams: Vec<AtomicU64>,
    /// Frames of each stream that were not sent, because their port had no link.
    unsent: Vec<AtomicU64>,
    /// By port of the sender.
    without_link: Vec<AtomicBool>,
    stop: AtomicBool,
}

impl Progress {
    pub fn of(load: &Load, ports: usize) -> Arc<Self> {
        let counts = || load.tables.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(Progress {
            streams: counts(),
            unsent: counts(),
            without_link: (0..ports).map(|_| AtomicBool::new(false)).collect(),
            ..Progress::default()
        })
    }

    /// Whether a port of the sender is known to have no link.
    pub fn has_no_link(&self, port: usize) -> bool {
        self.without_link[port].load(Ordering::Relaxed)
    }

    /// A frame of a stream was not sent, because its port had no link.
    pub fn unsent(&self, stream: usize) {
        self.unsent[stream].fetch_add(1, Ordering::Relaxed);
    }

    /// Of each stream.
    pub fn all_unsent(&self) -> Vec<u64> {
        let mut unsent = vec![0; self.unsent.len()];
        self.count_unsent(&mut unsent);
        unsent
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A frame of a stream was sent.
    #[inline]
    pub fn sent(&self, stream: usize) {
        // There is one sender, so that these need not be exchanges, which cost 20 times as much.
        for count in [&self.offered, &self.streams[stream]] {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

impl Control for Progress {
    fn offered(&self) -> u64 {
        self.offered.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn count(&self, offered: &mut [u64]) {
        for (all, own) in offered.iter_mut().zip(&self.streams) {
            *all += own.load(Ordering::Relaxed);
        }
    }

    fn count_unsent(&self, unsent: &mut [u64]) {
        for (all, own) in unsent.iter_mut().zip(&self.unsent) {
            *all += own.load(Ordering::Relaxed);
        }
    }

    fn tell_links(&self, up: &[bool]) {
        for (port, up) in self.without_link.iter().zip(up) {
            port.store(!up, Ordering::Relaxed);
        }
    }
}

/// What a sender is to do next.
pub enum Next {
    Send(Departure),
    /// Nothing is due soon.
    Wait,
    End,
}

/// The clock of a sender's waits and stamps.
pub struct Pace {
    clock: Clock,
    spin_ns: u64,
    pub meter: Meter,
    pub progress: Arc<Progress>,
}

impl Pace {
    pub fn new() -> Self {
        Pace {
            clock: Clock::new(),
            spin_ns: std::env::var_os(VIRTUAL).map_or(SPIN_NS, |_| 0),
            meter: Meter::default(),
            progress: Arc::default(),
        }
    }

    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    /// The next departure. Where streams are switched one by one, it is returned shortly before it is due, and the
    /// load goes on until all streams have ended.
    #[inline]
    pub fn next(&mut self, departures: &mut Departures, postponed_ns: u64) -> Next {
        match departures.switches() {
            None => departures.next().map_or(Next::End, Next::Send),
            Some(_) => self.next_of_switched(departures, postponed_ns),
        }
    }

    fn next_of_switched(&mut self, departures: &mut Departures, postponed_ns: u64) -> Next {
        // This is read first: once the trial is over, nothing more departs.
        let over = departures
            .switches()
            .is_none_or(|switches| switches.is_over());
        let now_ns = self.now_ns();
        let scheduled_ns = now_ns.saturating_sub(postponed_ns);
        departures.obey(scheduled_ns);
        departures.cut(now_ns);
        match departures.next_by(scheduled_ns + AHEAD_NS) {
            Some(departure) => Next::Send(departure),
            None if over || self.progress.is_stopped() => Next::End,
            None => Next::Wait,
        }
    }

    /// Sleeps for a part of the time by which departures are taken early.
    pub fn nap(&mut self) {
        let now_ns = self.now_ns();
        sleep_until(now_ns + AHEAD_NS / 4);
    }

    /// Waits until `due_ns` or a stop; returns the time.
    pub fn wait(&mut self, due_ns: u64) -> u64 {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= due_ns || self.progress.is_stopped() {
                return now_ns;
            }
            if due_ns - now_ns > MEASURING_NS {
                self.meter.work_when_due(now_ns);
            }
            if due_ns - now_ns > self.spin_ns {
                sleep_until((due_ns - self.spin_ns).min(now_ns + NAP_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// By how much the schedule of a sender was shifted, as in `Sent`.
#[derive(Default)]
pub struct Delayed {
    pub postponed_ns: u64,
    pub interrupted_ns: u64,
    interruptions: u64,
    shifts: Vec<(u64, u64)>,
    last_ns: u64,
}

impl Delayed {
    #[inline]
    pub fn sent(&mut self, stamp_ns: u64, lag_ns: u64, catch_up_ns: u64) {
        if lag_ns > catch_up_ns {
            self.postponed_ns += lag_ns;
            if self.shifts.len() < SHIFTS {
                self.shifts.push((stamp_ns, lag_ns));
            }
            // A sender that is too slow falls behind frame by frame; one that is stopped, between two frames.
            if stamp_ns - self.last_ns > catch_up_ns {
                self.interrupted_ns += lag_ns;
                self.interruptions += 1;
            }
        }
        self.last_ns = stamp_ns;
    }
}

/// What was sent by one port.
#[derive(Default)]
pub struct PortCounts {
    offered: u64,
    pub unsent: u64,
    first_ns: u64,
    last_ns: u64,
    lag_max_ns: u64,
    gaps: Histogram,
}

impl PortCounts {
    #[inline]
    pub fn sent(&mut self, stamp_ns: u64, lag_ns: u64) {
        if self.offered == 0 {
            self.first_ns = stamp_ns;
        } else {
            self.gaps.record((stamp_ns - self.last_ns) as i64);
        }
        self.offered += 1;
        self.last_ns = stamp_ns;
        self.lag_max_ns = self.lag_max_ns.max(lag_ns);
    }

    pub fn finish(self, start_ns: u64, delayed: &Delayed) -> Sent {
        Sent {
            offered_frames: self.offered,
            unsent_frames: self.unsent,
            first_sent_ns: self.first_ns.saturating_sub(start_ns),
            last_sent_ns: self.last_ns.saturating_sub(start_ns),
            lag_max_ns: self.lag_max_ns,
            postponed_ns: delayed.postponed_ns,
            interrupted_ns: delayed.interrupted_ns,
            interruptions: delayed.interruptions,
            shifts: delayed
                .shifts
                .iter()
                .map(|(sent_ns, by_ns)| (sent_ns.saturating_sub(start_ns), *by_ns))
                .collect(),
            // What the kernel has no room for is sent again.
            refused_frames: Some(0),
            gaps: self.gaps.buckets(),
            driver_delay: None,
            batches: Vec::new(),
            listed_batches: Vec::new(),
        }
    }
}

/// Writes the signature at the end of the frame.
#[inline]
pub fn sign(frame: &mut [u8], signature: Signature) -> Result<()> {
    let place = frame.last_chunk_mut::<LENGTH>();
    signature.emit(place.ok_or_else(|| EngineError("frame: shorter than a signature".into()))?);
    Ok(())
}
