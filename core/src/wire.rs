//! `keisoku._core.Wire`: the tester's ports, opened once for many trials.
//!
//! This file converts JSON into types and threads into handles for Python. It decides nothing.

mod carry;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::account::changes::Watched;
use crate::account::frame_log::FrameLog;
use crate::account::gaps::Gap;
use crate::account::record::Record;
use crate::account::watch::{StreamSeen, Watch};
use crate::capture::ring::CaptureRing;
use crate::error::{EngineError, Result};
use crate::frame::table::{Table, TableParts};
use crate::frame::view::{Free, free_bits};
use crate::hops::HopWatch;
use crate::host::affinity;
use crate::interface::link_watch::LinkWatch;
use crate::interface::packet_socket;
use crate::interface::place::Place;
use crate::port::opening::Opening;
use crate::port::packet::transmit::LearningFrames;
use crate::trial::Trial;
use crate::wire::carry::{Ports, Sender, carry};

/// How long the thread that keeps the account may take to answer; it looks every millisecond or so.
const GAPS_PATIENCE: Duration = Duration::from_secs(1);

/// A gap's first and last number, how many are missing, and times before and behind it.
type SeenGap = (u64, u64, u64, Option<u64>, Option<u64>);
type Finished = (Ports, Result<Record>);
/// Tables as they are to arrive, and bytes of their fronts with the bits that may change.
type ExpectedParts = (Vec<TableParts>, Vec<(u16, u8)>);

/// Ports of this host and the trials that they carry out.
///
/// Ports are a JSON list of objects: `engine` ('xdp', 'afxdp' or 'packet'), `interface`, `namespace` (a path such as
/// '/run/netns/x', or null). `transmit` and `receive` say which of them send and receive. Raises `EngineError` if a
/// port cannot be opened.
#[pyclass(frozen)]
pub struct Wire {
    places: Vec<Place>,
    /// Of each port.
    learning: Vec<Mutex<LearningFrames>>,
    /// Locked for short times only, so that progress and stop work while another thread waits in finish.
    state: Mutex<State>,
    /// Ends a wait for the links.
    halted: AtomicBool,
}

#[derive(Default)]
struct State {
    ports: Option<Ports>,
    watch: Option<Arc<Watch>>,
    log: Option<Arc<FrameLog>>,
    thread: Option<JoinHandle<Finished>>,
    /// Of the latest trial (`Record::words`).
    words: Vec<Vec<u64>>,
    /// When the first frame of the latest trial that has ended was due.
    began_ns: u64,
}

#[pymethods]
impl Wire {
    #[new]
    fn new(
        py: Python<'_>,
        ports_json: &str,
        transmit: Vec<usize>,
        receive: Vec<usize>,
    ) -> Result<Self> {
        let places: Vec<Place> = parse(ports_json, "ports")?;
        let ports = py.detach(|| open(&places, &transmit, &receive));
        let state = State {
            ports: Some(ports?),
            ..State::default()
        };
        Ok(Wire {
            learning: places
                .iter()
                .map(|place| Mutex::new(LearningFrames::new(place)))
                .collect(),
            places,
            state: Mutex::new(state),
            halted: AtomicBool::new(false),
        })
    }

    /// Waits, for at most 10 s or until `stop`, until every port has a carrier, or with `carrier` false only looks at the
    /// ports.
    ///
    /// Raises `EngineError` if a port has none then, is gone or was renamed.
    fn ready(&self, py: Python<'_>, carrier: bool) -> Result<()> {
        self.halted.store(false, Ordering::Relaxed);
        let Some(mut ports) = self.lock().ports.take() else {
            return Err(EngineError("the ports are in use or closed".into()));
        };
        let outcome = py.detach(|| ports.links.ready(carrier, &self.halted));
        self.lock().ports = Some(ports);
        outcome
    }

    /// Frames that each receiving port took out of the host's way since it was opened, by port, where it takes any.
    /// Drivers count them as dropped or not. No trial may be running.
    fn taken_frames(&self) -> Vec<(usize, u64)> {
        let state = self.lock();
        let receivers = state.ports.iter().flat_map(|ports| &ports.receivers);
        receivers
            .filter_map(|(port, receive)| Some((*port, receive.taken_frames()?)))
            .collect()
    }

    /// Begins a trial and returns at once.
    ///
    /// `trial_json`: `trial::Trial`. `tables`: frames without FCS, the length of each (16 bits, native), where
    /// the payload starts, whether they are signed, and how many bytes follow the signature: where it is to be and
    /// behind it bytes are zero, and those of the payload sum to zero in ones' complement. `log`: keep a row for each
    /// arrival, to be taken by `take_frames`; with `changed_only` for each that is changed. `expected`: where changes
    /// are watched, the frames of each table as they are to arrive, and bytes of them with the bits that may change.
    /// `hops`: what watches the frames in the kernel, and gets the slowest of them.
    #[pyo3(signature = (trial_json, tables, log=false, changed_only=false, expected=None, hops=None))]
    fn start(
        &self,
        trial_json: &str,
        tables: Vec<TableParts>,
        log: bool,
        changed_only: bool,
        expected: Option<ExpectedParts>,
        hops: Option<Py<HopWatch>>,
    ) -> Result<()> {
        let trial: Trial = parse(trial_json, "trial")?;
        let tables = tables
            .into_iter()
            .map(Table::of)
            .collect::<Result<Vec<_>>>();
        let tables = tables?;
        let watched = watched(&trial, &tables, expected)?;
        let hops = hops.map(|watch| watch.get().hops());
        let mut state = self.lock();
        let Some(mut ports) = state.ports.take() else {
            let why = if state.watch.is_some() {
                "a trial is running"
            } else {
                "it is closed"
            };
            return Err(EngineError(format!("cannot start a trial: {why}")));
        };
        let missing = trial.promiscuous.iter();
        let missing = missing.filter(|port| !ports.promiscuous.contains_key(port));
        let joined: Result<Vec<_>> = missing
            .filter_map(|port| Some((*port, self.places.get(*port)?)))
            .map(|(port, place)| Ok((port, promiscuous(place)?)))
            .collect();
        match joined {
            Ok(joined) => ports.promiscuous.extend(joined),
            Err(error) => {
                state.ports = Some(ports);
                return Err(error);
            }
        }
        let watch = Arc::new(Watch::of(&trial));
        let log = log.then(|| Arc::new(FrameLog::new(changed_only)));
        state.watch = Some(watch.clone());
        state.log = log.clone();
        state.thread = Some(thread::spawn(move || {
            let record = carry(
                &trial,
                &tables,
                &mut ports,
                &watch,
                log,
                watched.as_ref(),
                hops.as_deref(),
            );
            watch.finished.store(true, Ordering::Release);
            (ports, record)
        }));
        Ok(())
    }

    /// The rows of arrivals since the last call, as bytes of `frame_log::Entry`, and how many were lost.
    fn take_frames(&self, py: Python<'_>) -> (Vec<u8>, u64) {
        // The lock must be free before the interpreter's is waited for: `progress` takes them in that order.
        let log = self.lock().log.clone();
        match log {
            Some(log) => py.detach(|| (log.take(), log.lost())),
            None => (Vec::new(), 0),
        }
    }

    /// Frames offered and forwarded so far, and whether `finish` would return at once.
    fn progress(&self) -> (u64, u64, bool) {
        let Some(watch) = self.lock().watch.clone() else {
            return (0, 0, true);
        };
        (
            watch.offered.load(Ordering::Relaxed),
            watch.forwarded.load(Ordering::Relaxed),
            watch.finished.load(Ordering::Acquire),
        )
    }

    /// When the first frame of the latest trial that has ended was due, on CLOCK_MONOTONIC.
    fn began_ns(&self) -> u64 {
        self.lock().began_ns
    }

    /// When the first frame of the running trial is due, in ns of CLOCK_MONOTONIC; None as long as that is not known.
    fn start_ns(&self) -> Option<u64> {
        let watch = self.lock().watch.clone()?;
        Some(watch.start_ns.load(Ordering::Relaxed)).filter(|start_ns| *start_ns > 0)
    }

    /// State ('waiting', 'going', 'paused', 'ended'), frames offered, received and forwarded so far of each stream,
    /// where the trial switches them one by one.
    fn streams(&self) -> Vec<StreamSeen> {
        let watch = self.lock().watch.clone();
        watch.map_or_else(Vec::new, |watch| watch.streams())
    }

    /// The longest interruption of each stream of the running trial until now: its first and last number, how many are
    /// missing, and when the frames before and behind it were sent. None if no account is kept now.
    fn longest_gaps(&self, py: Python<'_>) -> Option<Vec<Option<SeenGap>>> {
        let watch = self.lock().watch.clone();
        let watch = watch.filter(|watch| !watch.finished.load(Ordering::Acquire))?;
        let told = py.detach(|| watch.longest.ask(GAPS_PATIENCE))?;
        let seen = |gap: Gap| (gap.first, gap.last, gap.count, gap.after_ns, gap.before_ns);
        Some(told.into_iter().map(|gap| gap.map(seen)).collect())
    }

    /// Starts, pauses or ends streams. Returns false if the trial is over or does not switch its streams.
    fn switch(&self, streams: Vec<usize>, state: &str) -> bool {
        let watch = self.lock().watch.clone();
        watch.is_some_and(|watch| watch.switch(&streams, state))
    }

    /// Tells a trial whose frames leave at another host that all of them have left, and how many of each stream.
    fn sent(&self, offered: Vec<u64>) {
        if let Some(watch) = &self.lock().watch {
            watch.sent.get_or_init(|| offered);
        }
    }

    /// Ends the trial early; its record then says `interrupted`.
    fn stop(&self) {
        self.halted.store(true, Ordering::Relaxed);
        if let Some(watch) = &self.lock().watch {
            watch.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for the end of the trial and returns its record as JSON.
    ///
    /// Raises `EngineError` if a port failed during the trial.
    fn finish(&self, py: Python<'_>) -> Result<String> {
        let Some(record) = py.detach(|| self.join()) else {
            return Err(EngineError("no trial is running".into()));
        };
        let mut record = record?;
        self.lock().words = std::mem::take(&mut record.words);
        serde_json::to_string(&record).map_err(|error| EngineError(error.to_string()))
    }

    /// For each stream of the latest trial that kept words of frames: those of each variant that arrived, else zero, as
    /// native 64-bit integers, the word at the first place in the low half. They are handed over once.
    fn words(&self) -> Vec<Vec<u8>> {
        let words = std::mem::take(&mut self.lock().words);
        let bytes = |one: Vec<u64>| one.into_iter().flat_map(u64::to_ne_bytes).collect();
        words.into_iter().map(bytes).collect()
    }

    /// Sends `count` learning frames, 1 ms apart, from one of the ports.
    fn learn(&self, py: Python<'_>, port: usize, template: Vec<u8>, count: u32) -> Result<()> {
        let Some(own) = self.learning.get(port) else {
            return Err(EngineError(format!("there is no port {port}")));
        };
        py.detach(|| {
            let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
            own.send(&template, count)
        })
    }

    /// The rings that a `Capture` of the ports needs; each can be had once. The ports must have been opened with
    /// `capture_bytes`, and no trial may be running.
    fn capture_rings(&self) -> Result<Vec<CaptureRing>> {
        let mut state = self.lock();
        let Some(ports) = &mut state.ports else {
            return Err(EngineError(
                "cannot begin a capture while a trial is running".into(),
            ));
        };
        let sent = ports.senders.iter_mut();
        let received = ports.receivers.iter_mut();
        let rings = sent
            .map(|sender| sender.transmit.capture_ring())
            .chain(received.map(|(_, receive)| receive.capture_ring()))
            .collect::<Result<Vec<_>>>();
        Ok(rings?.into_iter().flatten().collect())
    }

    /// Stops a running trial, detaches every program and closes every socket.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.shut());
    }
}

impl Wire {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self) -> Option<Result<Record>> {
        let thread = self.lock().thread.take()?;
        let ended = thread.join();
        let mut state = self.lock();
        if let Some(watch) = state.watch.take() {
            state.began_ns = watch.start_ns.load(Ordering::Relaxed);
        }
        let (ports, record) = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        state.ports = Some(ports);
        Some(record)
    }

    fn shut(&self) {
        self.stop();
        self.join();
        self.lock().ports = None;
        for own in &self.learning {
            own.lock().unwrap_or_else(PoisonError::into_inner).close();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shut();
    }
}

/// Opens every port once for each of its duties.
///
/// Ports of one engine and namespace share a sender if there are not enough CPUs for more, because two senders on one
/// CPU would delay each other by a call of 10 ms.
fn open(places: &[Place], transmit: &[usize], receive: &[usize]) -> Result<Ports> {
    let spare = affinity::allowed().map_or(1, |cpus| cpus.len().saturating_sub(1).max(1));
    let most = transmit.len().div_ceil(spare);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &port in transmit {
        let joins = |group: &&mut Vec<usize>| {
            let (one, other) = (&places[group[0]], &places[port]);
            let alike = one.engine == other.engine && one.namespace == other.namespace;
            alike && group.len() < most
        };
        match groups.iter_mut().find(joins) {
            Some(group) => group.push(port),
            None => groups.push(vec![port]),
        }
    }
    let mut opening = Opening::new(receive.iter().map(|port| &places[*port]));
    for port in transmit.iter().chain(receive) {
        places[*port].index()?;
    }
    // Receivers first: their programs make drivers take XDP frames, here or at the other end of a veth.
    let receivers = receive
        .iter()
        .map(|port| Ok((*port, opening.receive(&places[*port])?)))
        .collect::<Result<_>>()?;
    let senders = groups.into_iter().map(|ports| {
        let own: Vec<Place> = ports.iter().map(|port| places[*port].clone()).collect();
        let transmit = opening.transmit(&own)?;
        Ok(Sender { ports, transmit })
    });
    let used = places.iter().enumerate();
    let used = used.filter(|(port, _)| transmit.contains(port) || receive.contains(port));
    let links = LinkWatch::open(used)?;
    Ok(Ports {
        senders: senders.collect::<Result<_>>()?,
        receivers,
        links,
        promiscuous: HashMap::new(),
    })
}

/// Makes a port receive frames for all addresses as long as the socket is open, also if this process is killed.
fn promiscuous(place: &Place) -> Result<OwnedFd> {
    let index = place.index()?;
    packet_socket::open(place, false, |socket| {
        packet_socket::join(socket, index, libc::PACKET_MR_PROMISC)
    })
}

/// What is to arrive, if the trial asks for it: as many frames as are sent.
fn watched(
    trial: &Trial,
    tables: &[Arc<Table>],
    expected: Option<ExpectedParts>,
) -> Result<Option<Watched>> {
    if !trial.changes {
        return Ok(None);
    }
    let (expected, free) = match expected {
        Some((parts, free)) => {
            let own = parts
                .into_iter()
                .map(Table::of)
                .collect::<Result<Vec<_>>>()?;
            (own, free_bits(&free)?)
        }
        None => (tables.to_vec(), Free::default()),
    };
    let sent = tables.iter().map(|table| table.len());
    if !sent.eq(expected.iter().map(|table| table.len())) {
        return Err(EngineError(
            "changes: there must be an expected frame for each that is sent".into(),
        ));
    }
    Ok(Some(Watched { expected, free }))
}

fn parse<T: DeserializeOwned>(json: &str, what: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| EngineError(format!("{what}: {error}")))
}
