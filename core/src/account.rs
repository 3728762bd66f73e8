//! The account of one trial: a tracker for each stream and port that it is meant for, and counts for each receiving
//! port.
//!
//! It takes the arrivals that the ports hand over and gives each of them to the tracker of its stream. It never waits
//! and never reads a clock.

mod bitmap;
pub mod changes;
pub mod egress;
pub mod frame_log;
pub mod gaps;
pub mod late;
pub mod loss_watch;
pub mod marks;
mod packed;
mod ranges;
pub mod record;
pub mod tracking;
pub mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::account::changes::{Changes, EXPECTED};
use crate::account::egress::Egress;
use crate::account::frame_log::{Entry, FrameLog};
use crate::account::late::Late;
use crate::account::record::{BranchRecord, Receiver, StreamRecord};
use crate::account::tracking::Tracker;
use crate::account::watch::Watch;
use crate::frame::view::Fronts;
use crate::port::arrival::Arrival;
use crate::port::receive::Receive;
use crate::trial::{Stream, Trial};

pub struct Account {
    start_ns: u64,
    first_stream: u16,
    /// What each stream is meant for.
    streams: Vec<Meant>,
    receivers: Vec<Counts>,
    forwarded: u64,
    log: Option<Arc<FrameLog>>,
    /// Of each stream, where changes are watched: at the first port that its frames go to, and those that count as it.
    changes: Vec<Changes>,
    /// The trial asks for the latencies of changed frames.
    marks: bool,
    /// Rows that have not been appended to the log yet.
    rows: Vec<Entry>,
    /// Frames of a stream may arrive at one of several ports.
    spreads: bool,
    /// Arrivals at several ports that wait for their order.
    waiting: Vec<Waiting>,
    /// The trial keeps words of frames.
    keeps: bool,
    /// For each stream the words of each of its variants that arrived; empty unless they are kept.
    words: Vec<Vec<u64>>,
    /// By how much the clock of the arrivals is ahead of that of the departures, where it is another host's.
    ahead_ns: Option<i64>,
    /// Present if the slowest frames are asked for.
    late: Option<Late>,
}

/// An arrival with its view, when it arrived, and the place and the number of its port.
type Waiting = (u64, usize, usize, Arrival, u64);

/// The ports that a stream is meant for: one, several where the device must copy its frames, or one of several.
struct Meant {
    first: Branch,
    also: Vec<Branch>,
    /// Ports at which a frame counts as if it were at the first.
    among: Vec<usize>,
    /// Present if there are such ports.
    egress: Option<Egress>,
}

/// In place of words of a frame that arrived at another port than it was meant for; words of a real one
/// have ports, which are not zero, in their second half.
const RETURNED: u64 = 2;

/// One port that a stream is meant for, and what arrived there.
struct Branch {
    tracker: Tracker,
    port: usize,
    is_timed: bool,
    /// When the first and the last frame arrived.
    times: Option<(u64, u64)>,
}

/// What was counted at one receiving port.
#[derive(Clone, Default)]
struct Counts {
    foreign: u64,
    misdirected: u64,
    last_received_ns: u64,
}

impl Account {
    pub fn new(
        start_ns: u64,
        trial: &Trial,
        receivers: usize,
        log: Option<Arc<FrameLog>>,
        changes: Vec<Changes>,
    ) -> Self {
        let trackers = trial.streams.iter().map(|one| 1 + one.also.len()).sum();
        let branch = |stream: &Stream, port: usize| Branch {
            tracker: Tracker::new(start_ns, trial.interval_ns)
                .tagged(stream.tag)
                .planned(0, stream.frames)
                .among(trackers)
                .varying(trial.variation, trackers)
                .placing_lost(trial.marks),
            port,
            is_timed: stream.timed || trial.switches.is_some(),
            times: None,
        };
        let meant = |stream: &Stream| Meant {
            first: branch(stream, stream.receive),
            also: stream
                .also
                .iter()
                .map(|port| branch(stream, *port))
                .collect(),
            among: stream.among.clone(),
            egress: Egress::of(stream),
        };
        Account {
            start_ns,
            first_stream: trial.first_stream,
            streams: trial.streams.iter().map(meant).collect(),
            receivers: vec![Counts::default(); receivers],
            forwarded: 0,
            log,
            changes,
            marks: trial.marks,
            rows: Vec::new(),
            spreads: trial.spreads(),
            waiting: Vec::new(),
            keeps: trial.words.is_some(),
            words: Vec::new(),
            ahead_ns: None,
            late: None,
        }
    }

    /// Frames leave at another host, than whose clock the one here is ahead by so much.
    pub fn ahead(mut self, ahead_ns: Option<i64>) -> Self {
        self.ahead_ns = ahead_ns;
        self
    }

    /// Keeps the slowest frames.
    pub fn with_late(mut self, late: Option<Late>) -> Self {
        self.late = late;
        self
    }

    /// The slowest frames, if they were kept.
    pub fn take_late(&mut self) -> Option<Late> {
        self.late.take()
    }

    /// Keeps words of frames if the trial asks for it; `variants`: how many each stream has.
    pub fn keeping(mut self, variants: impl Iterator<Item = usize>) -> Self {
        if self.keeps {
            self.words = variants.map(|count| vec![0; count]).collect();
        }
        self
    }

    /// The words that were kept.
    pub fn words(&mut self) -> Vec<Vec<u64>> {
        std::mem::take(&mut self.words)
    }

    /// Takes what has arrived at all ports until now, which is `now_ns`.
    pub fn drain(&mut self, ports: &mut [(usize, Box<dyn Receive>)], watch: &Watch, now_ns: u64) {
        for (place, (port, receive)) in ports.iter_mut().enumerate() {
            if self.spreads {
                receive.drain(&mut |arrival, view| self.wait(place, *port, arrival, view));
            } else {
                receive.drain(&mut |arrival, view| self.take(place, *port, arrival, view));
            }
        }
        // The ports are read one after the other: what has arrived since may have been overtaken at one of the others.
        self.take_waiting(now_ns);
        if let Some(log) = &self.log {
            log.append(&mut self.rows);
        }
        watch.forwarded.store(self.forwarded, Ordering::Relaxed);
        if let Some(switches) = &watch.switches {
            for (seen, meant) in switches.streams().iter().zip(&self.streams) {
                let tracker = &meant.first.tracker;
                seen.received
                    .store(tracker.received_frames(), Ordering::Relaxed);
                seen.forwarded
                    .store(tracker.forwarded_frames(), Ordering::Relaxed);
                seen.tell_arrived(meant.egress.iter().flat_map(Egress::frames));
            }
        }
        watch.longest.tell(|| {
            let streams = self.streams.iter();
            streams
                .map(|meant| meant.first.tracker.longest_gap())
                .collect()
        });
    }

    #[inline]
    fn take(&mut self, place: usize, port: usize, arrival: Arrival, view: u64) {
        let arrival = match self.ahead_ns {
            Some(ahead_ns) => arrival.as_sent(ahead_ns),
            None => arrival,
        };
        let counts = &mut self.receivers[place];
        match arrival {
            Arrival::Intact {
                stream,
                sequence,
                sent_ns,
                received_ns,
            } => {
                counts.last_received_ns = received_ns;
                let index = usize::from(stream.wrapping_sub(self.first_stream));
                let is_first = self.streams[index].first.port == port;
                let meant = &mut self.streams[index];
                let counts_as_first = meant.counts_as_first(port);
                if let Some(egress) = &mut meant.egress
                    && counts_as_first
                {
                    egress.arrive(port, sent_ns.saturating_sub(self.start_ns));
                }
                let Some(branch) = meant.at(port) else {
                    counts.misdirected += 1;
                    mark_returned(&mut self.words, index, sequence);
                    return;
                };
                let latency_ps = (received_ns as i64 - sent_ns as i64) * 1000;
                let outcome = branch.tracker.arrive(sequence, sent_ns, latency_ps);
                self.forwarded += u64::from(outcome.is_first());
                if let Some(late) = &mut self.late
                    && outcome.is_first()
                {
                    let frame = u64::from(stream) << 48 | sequence;
                    late.arrive(frame, port, sent_ns, latency_ps / 1000);
                }
                if let Some(kept) = self.words.get_mut(index)
                    && is_first
                    && outcome.is_first()
                {
                    let variant = sequence as usize % kept.len();
                    kept[variant] = view;
                }
                if branch.is_timed {
                    let times = branch.times;
                    let first_ns = times.map_or(received_ns, |(first_ns, _)| first_ns);
                    branch.times = Some((first_ns, received_ns));
                }
                let kind = match self.changes.get_mut(index) {
                    Some(changes) if counts_as_first => {
                        let kind = changes.compare(sequence, false, view, received_ns);
                        if self.marks && outcome.is_first() {
                            changes.met(kind, received_ns as i64 - sent_ns as i64);
                        }
                        kind
                    }
                    _ => EXPECTED,
                };
                if let Some(log) = &self.log
                    && (kind != EXPECTED || !log.changed_only)
                {
                    self.rows.push(Entry::intact(
                        stream,
                        port,
                        sequence,
                        sent_ns.saturating_sub(self.start_ns),
                        received_ns.saturating_sub(self.start_ns),
                        outcome,
                        kind,
                    ));
                }
            }
            Arrival::Corrupt {
                stream,
                sequence,
                received_ns,
            } => {
                let index = usize::from(stream.wrapping_sub(self.first_stream));
                let meant = &mut self.streams[index];
                let counts_as_first = meant.counts_as_first(port);
                let Some(branch) = meant.at(port) else {
                    counts.misdirected += 1;
                    mark_returned(&mut self.words, index, sequence);
                    return;
                };
                branch.tracker.corrupt(sequence);
                let kind = match self.changes.get_mut(index) {
                    Some(changes) if counts_as_first => {
                        changes.compare(sequence, true, view, received_ns)
                    }
                    _ => EXPECTED,
                };
                if self.log.is_some() {
                    let receive_ns = received_ns.saturating_sub(self.start_ns);
                    let row = Entry::corrupt(stream, port, sequence, receive_ns, kind);
                    self.rows.push(row);
                }
            }
            Arrival::Foreign => counts.foreign += 1,
        }
    }

    /// Keeps an arrival until its order among those at the other ports is known. A foreign frame, which has
    /// no time, follows the one that arrived before it at its port.
    fn wait(&mut self, place: usize, port: usize, arrival: Arrival, view: u64) {
        let received_ns = match arrival {
            Arrival::Intact { received_ns, .. } | Arrival::Corrupt { received_ns, .. } => {
                received_ns
            }
            Arrival::Foreign => self
                .waiting
                .iter()
                .rev()
                .find(|waiting| waiting.1 == place)
                .map_or(0, |waiting| waiting.0),
        };
        self.waiting.push((received_ns, place, port, arrival, view));
    }

    /// Takes arrivals before `until_ns` in the order of their times.
    fn take_waiting(&mut self, until_ns: u64) {
        if self.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|arrival| arrival.0);
        let due = waiting.partition_point(|arrival| arrival.0 < until_ns);
        for (_, place, port, arrival, view) in waiting.drain(..due) {
            self.take(place, port, arrival, view);
        }
        self.waiting = waiting;
    }

    pub fn trackers(&self) -> impl Iterator<Item = &Tracker> + Clone {
        let streams = self.streams.iter();
        streams.flat_map(|meant| meant.branches().map(|branch| &branch.tracker))
    }

    /// Ends watching at all ports.
    pub fn end(&mut self, ports: &mut [(usize, Box<dyn Receive>)]) -> Vec<Receiver> {
        let places = ports.iter_mut().enumerate();
        let dropped: Vec<u64> = places
            .map(|(place, (port, receive))| {
                if self.spreads {
                    receive.end(&mut |arrival, view| self.wait(place, *port, arrival, view))
                } else {
                    receive.end(&mut |arrival, view| self.take(place, *port, arrival, view))
                }
            })
            .collect();
        self.take_waiting(u64::MAX);
        if let Some(log) = &self.log {
            log.append(&mut self.rows);
        }
        let counted = ports.iter().zip(&self.receivers).zip(dropped);
        counted
            .map(|(((port, receive), counts), dropped)| Receiver {
                port: *port,
                foreign_frames: counts.foreign,
                misdirected_frames: counts.misdirected,
                tester_dropped_frames: dropped,
                drop_reason: receive.drop_reason().map(Into::into),
                last_received_ns: (counts.last_received_ns > 0)
                    .then(|| counts.last_received_ns.saturating_sub(self.start_ns)),
                stamp: receive.stamp().into(),
                stamped: receive.stamped(),
            })
            .collect()
    }

    /// The record of what became of every frame. `offered`: frames offered of each stream; `unsent`: those that were not,
    /// because their port had no link.
    pub fn finish(
        self,
        trial: &Trial,
        offered: &[u64],
        unsent: &[u64],
        ports: &[(usize, Box<dyn Receive>)],
    ) -> Vec<StreamRecord> {
        let since = |time_ns: u64| time_ns.saturating_sub(self.start_ns);
        let fronts = |stream: &Stream| -> Vec<&Fronts> {
            let own = |port| stream.receive == port || stream.among.contains(&port);
            let ports = ports.iter().filter(|(port, _)| own(*port));
            ports.map(|(_, receive)| receive.fronts()).collect()
        };
        let mut changes = self.changes.into_iter();
        let streams = trial.streams.iter().zip(self.streams).zip(offered);
        streams
            .enumerate()
            .map(|(index, ((stream, meant), offered))| {
                let Meant {
                    first,
                    also,
                    egress,
                    ..
                } = meant;
                StreamRecord {
                    stream: trial.first_stream.wrapping_add(index as u16),
                    transmit: stream.transmit,
                    receive: stream.receive,
                    offered_frames: *offered,
                    unsent_frames: unsent.get(index).copied().unwrap_or(0),
                    first_received_ns: first.times.map(|times| since(times.0)),
                    last_received_ns: first.times.map(|times| since(times.1)),
                    tracked: first.tracker.finish(*offered),
                    changes: changes
                        .next()
                        .zip(Some(fronts(stream)).filter(|own| !own.is_empty()))
                        .map(|(changes, fronts)| changes.finish(self.start_ns, &fronts)),
                    marked: None,
                    egress,
                    branches: also
                        .into_iter()
                        .map(|branch| BranchRecord {
                            receive: branch.port,
                            first_received_ns: branch.times.map(|times| since(times.0)),
                            last_received_ns: branch.times.map(|times| since(times.1)),
                            tracked: branch.tracker.finish(*offered),
                        })
                        .collect(),
                }
            })
            .collect()
    }
}

/// An ICMP error quotes the whole frame, behind headers of its own, and goes to its sender.
fn mark_returned(words: &mut [Vec<u64>], index: usize, sequence: u64) {
    if let Some(kept) = words.get_mut(index) {
        let variant = sequence as usize % kept.len();
        if kept[variant] == 0 {
            kept[variant] = RETURNED;
        }
    }
}

impl Meant {
    /// `port` is the first one, or one of those among which its frames may arrive.
    #[inline]
    fn counts_as_first(&self, port: usize) -> bool {
        self.first.port == port || self.among.contains(&port)
    }

    /// What the stream has at `port`; nothing if it is not meant for it.
    #[inline]
    fn at(&mut self, port: usize) -> Option<&mut Branch> {
        if self.counts_as_first(port) {
            return Some(&mut self.first);
        }
        self.also.iter_mut().find(|branch| branch.port == port)
    }

    fn branches(&self) -> impl Iterator<Item = &Branch> + Clone {
        std::iter::once(&self.first).chain(&self.also)
    }
}

#[cfg(test)]
mod tests;
