//! A sending port of the tester: the departures of its streams, no faster than its line carries them.
//!
//! Like a real sender (`core/src/port`), it sends late frames as soon as it can, and postpones the rest when it is
//! too late to catch up. It is late where its line is busy, where the device makes it pause, and where its host takes
//! its CPU. It knows no device.

use std::sync::Arc;

use crate::latency::histogram::Histogram;
use crate::port::transmit::{SHIFTS, Sent};
use crate::trial::Trial;
use crate::trial::departures::{Departures, PATIENCE};
use crate::trial::switches::Switches;

use super::device::Host;
use super::server::{Server, Service};
use super::stops::Stops;
use super::wire_ps;

/// Frames that are due later than this after the end of a trial, or later than 0.5 % of its duration, are not sent.
const SLACK_NS: u64 = 10_000_000;
/// Relative rounding error of the rates that still counts as a full line.
const ROUNDING: f64 = 1e-9;

pub struct Sender {
    departures: Departures,
    line: Server,
    /// What a port may send that is asked for more than its line carries.
    budget: Option<Budget>,
    /// When the host takes the CPU away.
    stops: Option<Stops>,
    give_up_ns: u64,
    /// By how much stops may put off `give_up_ns`.
    patience_ns: u64,
    catch_up_ns: u64,
    postponed_ns: u64,
    sent: Sent,
    gaps: Histogram,
}

/// The time that frames may occupy on the line within the duration of the trial.
struct Budget {
    spent: Server,
    duration_ps: u64,
}

/// A frame that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Index of the stream in the trial.
    pub stream: usize,
    pub sequence: u64,
    pub class: u32,
    pub sent_ps: u64,
    due_ns: u64,
}

impl Sender {
    pub fn new(
        trial: &Trial,
        port: usize,
        link_bits_per_second: f64,
        host: Option<&Host>,
        switches: Option<&Arc<Switches>>,
    ) -> Self {
        let departures = Departures::new(trial, &[port], 0, switches);
        let own = || trial.streams.iter().filter(|one| one.transmit == port);
        let busy: f64 = own()
            .map(|stream| {
                let sizes = stream.frame_bytes.iter();
                let wire: f64 = sizes
                    .map(|bytes| wire_ps(*bytes, link_bits_per_second))
                    .sum();
                wire / stream.frame_bytes.len() as f64 * stream.frames_per_second / 1e12
            })
            .sum();
        let slack_ns = SLACK_NS.max(trial.duration_ns / 200);
        Sender {
            line: Server::default(),
            budget: (busy > 1.0 + ROUNDING && switches.is_none()).then(|| Budget {
                spent: Server::default(),
                duration_ps: trial.duration_ns * 1000,
            }),
            stops: host.map(|host| Stops::new(host, trial.seed, port)),
            give_up_ns: match switches {
                None => trial.duration_ns + slack_ns,
                Some(_) => u64::MAX,
            },
            patience_ns: trial.duration_ns / PATIENCE,
            catch_up_ns: departures.catch_up_ns(),
            postponed_ns: 0,
            sent: Sent::default(),
            gaps: Histogram::default(),
            departures,
        }
    }

    /// The frame of the next departure; `None` when the port is done. `class` returns the class of a stream's next
    /// frame and the time that it needs on the line.
    #[inline]
    pub fn next(&mut self, mut class: impl FnMut(usize) -> (u32, Service)) -> Option<Leaving> {
        self.departures.cut(self.sent.last_sent_ns);
        let departure = self.departures.next()?;
        let (class, wire) = class(departure.stream);
        let due_ns = departure.due_ns + self.postponed_ns;
        let has_room = self.budget.as_mut().is_none_or(|own| own.spend(wire));
        if due_ns > self.gives_up_ns(0) || !has_room {
            return None;
        }
        let mut ready_ps = due_ns * 1000;
        let mut stopped_ns = 0;
        if let Some(stops) = &mut self.stops {
            let could_ps = ready_ps.max(self.line.free_ps());
            ready_ps = stops.defer(could_ps);
            stopped_ns = (ready_ps - could_ps) / 1000;
            if ready_ps / 1000 > self.gives_up_ns(stopped_ns) {
                return None;
            }
        }
        let sent_ps = self.line.start::<false>(ready_ps, wire);
        let lag_ns = sent_ps / 1000 - due_ns;
        if lag_ns > self.catch_up_ns {
            self.postponed_ns += lag_ns;
            if self.sent.shifts.len() < SHIFTS {
                self.sent.shifts.push((sent_ps / 1000, lag_ns));
            }
            if stopped_ns > self.catch_up_ns {
                self.sent.interrupted_ns += lag_ns;
                self.sent.interruptions += 1;
            }
        }
        Some(Leaving {
            stream: departure.stream,
            sequence: departure.sequence,
            class,
            sent_ps,
            due_ns,
        })
    }

    fn gives_up_ns(&self, stopped_ns: u64) -> u64 {
        let interrupted_ns = self.sent.interrupted_ns + stopped_ns;
        self.give_up_ns
            .saturating_add(interrupted_ns.min(self.patience_ns))
    }

    /// Applies the changes of single streams, at `now_ns`.
    pub fn obey(&mut self, now_ns: u64) {
        self.departures
            .obey(now_ns.saturating_sub(self.postponed_ns));
    }

    /// The device makes the port pause; the frame that is about to be sent still leaves.
    pub fn pause(&mut self, until_ps: u64) {
        self.line.hold(until_ps);
    }

    /// The frame has left.
    #[inline]
    pub fn count(&mut self, leaving: &Leaving) {
        let stamp_ns = leaving.sent_ps / 1000;
        let sent = &mut self.sent;
        if sent.offered_frames == 0 {
            sent.first_sent_ns = stamp_ns;
        } else {
            self.gaps.record((stamp_ns - sent.last_sent_ns) as i64);
        }
        sent.offered_frames += 1;
        sent.last_sent_ns = stamp_ns;
        sent.lag_max_ns = sent.lag_max_ns.max(stamp_ns - leaving.due_ns);
    }

    pub fn finish(self) -> Sent {
        Sent {
            postponed_ns: self.postponed_ns,
            gaps: self.gaps.buckets(),
            ..self.sent
        }
    }
}

impl Budget {
    /// Returns false if the line would carry less than half of the frame before the end. There is always room for one
    /// frame.
    fn spend(&mut self, wire: Service) -> bool {
        let start_ps = self.spent.start::<false>(0, wire);
        start_ps == 0 || start_ps + wire.ps() / 2 <= self.duration_ps
    }
}
