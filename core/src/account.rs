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
        }
    }

    /// Frames leave at another host, than whose clock the one here is ahead by so much.
    pub fn ahead(mut self, ahead_ns: Option<i64>) -> Self {
        self.ahead_ns = ahead_ns;
        self
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

    /// The record of what became of every frame. `offered`: frames offered of each stream.
    pub fn finish(
        self,
        trial: &Trial,
        offered: &[u64],
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
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::frame::signature::{MASK_48, unwrap_48};
    use crate::port::expected::Expected;
    use proptest::prelude::*;
    use serde_json::json;

    /// One stream of five frames from port 0 to the ports 1 and 2, or to one of them, and a port 3 that receives as well.
    fn account(how: &str) -> (Account, Trial) {
        let trial: Trial = serde_json::from_value(json!({
            "first_stream": 7, "duration_ns": 1000, "drain_ns": 0, "interval_ns": 1000, "seed": 0,
            "streams": [{
                "transmit": 0, "receive": 1, how: [2], "timed": true, "table": 0, "frame_bytes": [64],
                "frames_per_second": 1e6, "frames": 5,
            }],
        }))
        .expect("a trial");
        (Account::new(100, &trial, 4, None, Vec::new()), trial)
    }

    fn intact(sequence: u64, received_ns: u64) -> Arrival {
        Arrival::Intact {
            stream: 7,
            sequence,
            sent_ns: 100 + sequence,
            received_ns,
        }
    }

    proptest! {
        /// Times of 48 bits that another host wrote are completed by the arrival on that host's clock, however far apart
        /// the two clocks are.
        #[test]
        fn an_arrival_is_told_on_the_clock_of_the_departure(
            sent_ns in 1u64 << 40..1 << 60, latency_ns in 0u64..1 << 40, ahead_ns in -(1i64 << 59)..1 << 59,
        ) {
            let received_ns = (sent_ns + latency_ns).wrapping_add_signed(ahead_ns);
            prop_assume!(received_ns < 1 << 62);
            // As a port here completes it, by its own clock.
            let seen_ns = unwrap_48(sent_ns & MASK_48, received_ns);
            let arrival = Arrival::Intact { stream: 7, sequence: 0, sent_ns: seen_ns, received_ns };
            let told = Arrival::Intact { stream: 7, sequence: 0, sent_ns, received_ns: sent_ns + latency_ns };
            prop_assert_eq!(arrival.as_sent(ahead_ns), told);
        }
    }

    #[test]
    fn a_frame_has_an_outcome_at_each_port_that_it_goes_to() {
        let (mut account, trial) = account("also");
        for (port, sequence, received_ns) in [
            (1, 0, 200),
            (2, 0, 201),
            (2, 0, 202),
            (3, 0, 203),
            (1, 3, 210),
            (2, 4, 220),
        ] {
            account.take(port, port, intact(sequence, received_ns), 0);
        }
        let corrupt = || Arrival::Corrupt {
            stream: 7,
            sequence: 2,
            received_ns: 230,
        };
        account.take(1, 1, corrupt(), 0);
        account.take(3, 3, corrupt(), 0);
        assert_eq!(account.trackers().count(), 2);
        assert_eq!(account.forwarded, 4);
        assert_eq!(account.receivers[3].misdirected, 2);
        assert_eq!(account.receivers[1].misdirected, 0);
        let record = account.finish(&trial, &[5], &[]).remove(0);
        let first = &record.tracked;
        let counts = |own: &crate::account::tracking::Tracked| {
            (
                own.forwarded_frames,
                own.lost_frames,
                own.corrupt.count,
                own.duplicated.count,
            )
        };
        assert_eq!(counts(first), (2, 2, 1, 0));
        assert_eq!(
            (record.first_received_ns, record.last_received_ns),
            (Some(100), Some(110))
        );
        let branch = &record.branches[0];
        assert_eq!((branch.receive, counts(&branch.tracked)), (2, (2, 3, 0, 1)));
        assert_eq!(
            (branch.first_received_ns, branch.last_received_ns),
            (Some(101), Some(120))
        );
    }

    #[test]
    fn a_frame_that_comes_back_to_another_port_is_told_apart_from_one_that_arrived() {
        let (mut account, _) = account("also");
        account.keeps = true;
        let mut account = account.keeping([5].into_iter());
        for (port, sequence) in [(1, 0), (3, 1), (3, 2), (1, 2), (1, 3), (3, 3)] {
            account.take(port, port, intact(sequence, 200), 77);
        }
        // What is in front of the signature there is not what the sender made it for.
        let (stream, received_ns) = (7, 210);
        for sequence in [3, 4] {
            let quoted = Arrival::Corrupt {
                stream,
                sequence,
                received_ns,
            };
            account.take(3, 3, quoted, 77);
        }
        assert_eq!(account.words(), [[77, RETURNED, 77, 77, RETURNED]]);
        assert_eq!(account.receivers[3].misdirected, 5);
    }

    /// A port at which these arrive.
    struct Fake(Vec<Arrival>, Fronts);

    impl Receive for Fake {
        fn begin(&mut self, _: &Expected) -> Result<()> {
            Ok(())
        }
        fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
            self.0.drain(..).for_each(|arrival| sink(arrival, 0));
        }
        fn delay_ns(&self) -> u64 {
            0
        }
        fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64 {
            self.drain(sink);
            6
        }
        fn fronts(&self) -> &Fronts {
            &self.1
        }
        fn stamp(&self) -> &str {
            "fake"
        }
    }

    #[test]
    fn arrivals_at_several_ports_count_in_the_order_of_their_times() {
        let (mut account, trial) = account("among");
        let port = |number, arrivals| -> (usize, Box<dyn Receive>) {
            (number, Box::new(Fake(arrivals, Fronts::default())))
        };
        let mut ports = [
            port(1, vec![intact(0, 200), Arrival::Foreign, intact(3, 230)]),
            port(2, vec![intact(1, 210), intact(2, 220)]),
        ];
        let watch = Watch::default();
        account.drain(&mut ports, &watch, 220);
        assert_eq!(watch.forwarded.load(Ordering::Relaxed), 2);
        let told = account.end(&mut ports);
        let told = told.iter().map(|own| {
            let counts = (own.foreign_frames, own.tester_dropped_frames);
            (own.port, counts, own.last_received_ns)
        });
        assert_eq!(
            Vec::from_iter(told),
            [(1, (1, 6), Some(130)), (2, (0, 6), Some(120))]
        );
        let record = account.finish(&trial, &[5], &ports).remove(0);
        let own = &record.tracked;
        assert_eq!((own.forwarded_frames, own.reordered.count), (4, 0));
        let stays = record.egress.expect("two ports").stays;
        let stays = stays.iter().map(|stay| (stay.port, stay.frames));
        assert_eq!(Vec::from_iter(stays), [(1, 1), (2, 2), (1, 1)]);
    }

    #[test]
    fn a_frame_that_may_arrive_at_several_ports_counts_at_each_and_is_lost_at_none_of_them() {
        let (mut account, trial) = account("among");
        account.changes = vec![Changes::new(vec![0], 1)];
        for (port, sequence, received_ns) in [
            (1, 0, 200),
            (2, 1, 201),
            (2, 0, 202),
            (3, 2, 203),
            (1, 4, 210),
        ] {
            // At each port frames have another front.
            account.wait(port, port, intact(sequence, received_ns), port as u64);
        }
        account.take_waiting(u64::MAX);
        assert_eq!(account.receivers[3].misdirected, 1);
        let seen = account.changes.remove(0).finish(100, &[]);
        let kinds: Vec<_> = seen.kinds.iter().map(|kind| kind.frames).collect();
        assert_eq!((seen.compared_frames, kinds), (4, vec![2, 2]));
        let record = account.finish(&trial, &[5], &[]).remove(0);
        let own = &record.tracked;
        assert_eq!(
            (own.received_frames, own.forwarded_frames, own.lost_frames),
            (4, 3, 2)
        );
        assert_eq!(own.duplicated.count, 1);
        let egress = record.egress.expect("two ports");
        let arrived: Vec<_> = egress
            .arrived
            .iter()
            .map(|one| (one.port, one.frames))
            .collect();
        assert_eq!(arrived, [(1, 2), (2, 2)]);
    }
}
