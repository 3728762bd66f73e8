//! The account of one trial: a tracker for each stream and counts for each receiving port.
//!
//! It takes the arrivals that the ports hand over and gives each of them to the tracker of its stream. It never waits
//! and never reads a clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::frame_log::{Entry, FrameLog};
use crate::port::{Arrival, Receive};
use crate::record::{Receiver, StreamRecord, Trial};
use crate::tracking::Tracker;
use crate::watch::Watch;

pub struct Account {
    start_ns: u64,
    first_stream: u16,
    /// The tracker of each stream, with the port that the stream is meant for.
    trackers: Vec<(Tracker, usize)>,
    receivers: Vec<Counts>,
    forwarded: u64,
    log: Option<Arc<FrameLog>>,
    /// When the first and the last frame of each stream arrived; only where streams are switched one by one.
    times: Vec<Option<(u64, u64)>>,
    /// Rows that have not been appended to the log yet.
    rows: Vec<Entry>,
}

/// What was counted at one receiving port.
#[derive(Clone, Default)]
struct Counts {
    foreign: u64,
    misdirected: u64,
    last_received_ns: u64,
}

impl Account {
    pub fn new(start_ns: u64, trial: &Trial, receivers: usize, log: Option<Arc<FrameLog>>) -> Self {
        let tracker = |stream: &crate::record::Stream| {
            let tracker = Tracker::new(start_ns, trial.interval_ns)
                .tagged(stream.tag)
                .planned(0, stream.frames)
                .among(trial.streams.len())
                .varying(trial.variation, trial.streams.len());
            (tracker, stream.receive)
        };
        Account {
            start_ns,
            first_stream: trial.first_stream,
            trackers: trial.streams.iter().map(tracker).collect(),
            receivers: vec![Counts::default(); receivers],
            forwarded: 0,
            log,
            times: vec![None; trial.switches.as_ref().map_or(0, Vec::len)],
            rows: Vec::new(),
        }
    }

    /// Takes what has arrived at all ports.
    pub fn drain(&mut self, ports: &mut [(usize, Box<dyn Receive>)], watch: &Watch) {
        for (place, (port, receive)) in ports.iter_mut().enumerate() {
            receive.drain(&mut |arrival| self.take(place, *port, arrival));
        }
        if let Some(log) = &self.log {
            log.append(&mut self.rows);
        }
        watch.forwarded.store(self.forwarded, Ordering::Relaxed);
        if let Some(switches) = &watch.switches {
            for (seen, (tracker, _)) in switches.streams().iter().zip(&self.trackers) {
                seen.received
                    .store(tracker.received_frames(), Ordering::Relaxed);
                seen.forwarded
                    .store(tracker.forwarded_frames(), Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn take(&mut self, place: usize, port: usize, arrival: Arrival) {
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
                let (tracker, meant) = &mut self.trackers[index];
                if *meant != port {
                    counts.misdirected += 1;
                    return;
                }
                let latency_ps = (received_ns as i64 - sent_ns as i64) * 1000;
                let outcome = tracker.arrive(sequence, sent_ns, latency_ps);
                self.forwarded += u64::from(outcome.is_first());
                if let Some(times) = self.times.get_mut(index) {
                    let first_ns = times.map_or(received_ns, |(first_ns, _)| first_ns);
                    *times = Some((first_ns, received_ns));
                }
                if self.log.is_some() {
                    self.rows.push(Entry::intact(
                        stream,
                        port,
                        sequence,
                        sent_ns.saturating_sub(self.start_ns),
                        received_ns.saturating_sub(self.start_ns),
                        outcome,
                    ));
                }
            }
            Arrival::Corrupt { stream, sequence } => {
                let index = usize::from(stream.wrapping_sub(self.first_stream));
                let (tracker, meant) = &mut self.trackers[index];
                if *meant != port {
                    counts.misdirected += 1;
                    return;
                }
                tracker.corrupt(sequence);
                if self.log.is_some() {
                    self.rows.push(Entry::corrupt(stream, port, sequence));
                }
            }
            Arrival::Foreign => counts.foreign += 1,
        }
    }

    pub fn trackers(&self) -> impl Iterator<Item = &Tracker> + Clone {
        self.trackers.iter().map(|(tracker, _)| tracker)
    }

    /// Ends watching at all ports.
    pub fn end(&mut self, ports: &mut [(usize, Box<dyn Receive>)]) -> Vec<Receiver> {
        let places = ports.iter_mut().enumerate();
        let dropped: Vec<u64> = places
            .map(|(place, (port, receive))| {
                receive.end(&mut |arrival| self.take(place, *port, arrival))
            })
            .collect();
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

    /// The record of what became of every frame. `offered`: frames offered of each stream.
    pub fn finish(self, trial: &Trial, offered: &[u64]) -> Vec<StreamRecord> {
        let since = |time_ns: u64| time_ns.saturating_sub(self.start_ns);
        let times = |index: usize| self.times.get(index).copied().flatten();
        let streams = trial.streams.iter().zip(self.trackers).zip(offered);
        streams
            .enumerate()
            .map(|(index, ((stream, (tracker, _)), offered))| StreamRecord {
                stream: trial.first_stream.wrapping_add(index as u16),
                transmit: stream.transmit,
                receive: stream.receive,
                offered_frames: *offered,
                tracked: tracker.finish(*offered),
                first_received_ns: times(index).map(|(first_ns, _)| since(first_ns)),
                last_received_ns: times(index).map(|(_, last_ns)| since(last_ns)),
            })
            .collect()
    }
}
