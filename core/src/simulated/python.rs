//! `keisoku._core.Simulation`, with the same methods as `Wire`.
//!
//! A trial runs on a thread of its own. This file computes nothing.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::account::frame_log::FrameLog;
use crate::account::record::Record;
use crate::account::watch::{StreamSeen, Watch};
use crate::error::Result;
use crate::frame::table::{Table, TableParts};
use crate::frame::view::free_bits;
use crate::trial::Trial;

use super::bridge::Addresses;
use super::connections::ConnectionTable;
use super::device::{Code, Device};
use super::path::paths;
use super::rewriting::{Choice, Watching};
use super::run::run;
use super::scene::Scene;

/// Frames as they are sent, as they are expected, bytes of their fronts with the bits that may change, and frames after
/// each rewriting, which comes as JSON of a `Choice`.
type WatchedParts = (
    Vec<TableParts>,
    Vec<TableParts>,
    Vec<(u16, u8)>,
    Vec<(String, Vec<TableParts>)>,
);

/// How long a signal such as Ctrl-C waits while Python is blocked in `finish`.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// How soon the end of a trial is noticed.
const LOOK: Duration = Duration::from_micros(200);
/// The longest trial: 100 days, so that picoseconds fit into 63 bits.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// A device, some of whose ports are connected to the tester.
#[pyclass(frozen, module = "keisoku._core")]
pub struct Simulation {
    device: Device,
    /// The device's port number for each port of the tester.
    ports: Vec<u16>,
    receive_clock_ppm: f64,
    /// What the device knows of connections, from trial to trial.
    connections: Option<Arc<Mutex<ConnectionTable>>>,
    trial: Mutex<Option<Running>>,
}

struct Running {
    watch: Arc<Watch>,
    log: Option<Arc<FrameLog>>,
    record: Option<Receiver<Record>>,
    /// Of the trial that is over (`Record::words`).
    words: Vec<Vec<u64>>,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (device_json, ports, receive_clock_ppm = 0.0))]
    fn new(device_json: &str, ports: Vec<u16>, receive_clock_ppm: f64) -> PyResult<Self> {
        let device: Device = serde_json::from_str(device_json).map_err(to_value_error)?;
        let table = device.connections.as_ref().map(ConnectionTable::new);
        Ok(Simulation {
            connections: table.map(|own| Arc::new(Mutex::new(own))),
            device,
            ports,
            receive_clock_ppm,
            trial: Mutex::new(None),
        })
    }

    /// Begins a trial, given as JSON of `trial::Trial`, and returns at once. `addresses_json` (JSON of
    /// `bridge::Addresses`) is given if the device decides by addresses.
    /// Where changes are watched, `frames` has the tables that are sent and those that are expected, as `Wire.start`
    /// takes them, bytes of the latter with the bits that may change, and JSON of a `rewriting::Choice` with the tables after each rewriting. `log` and `changed_only` are
    /// as for `Wire.start`; without changes there are no rows.
    /// `codes_json` (JSON of a list of `device::Code` for each stream) is given if the device reads classes of traffic.
    #[pyo3(signature = (trial_json, addresses_json = None, codes_json = None, frames = None, log = false,
                        changed_only = false))]
    fn start(
        &self,
        trial_json: &str,
        addresses_json: Option<&str>,
        codes_json: Option<&str>,
        frames: Option<WatchedParts>,
        log: bool,
        changed_only: bool,
    ) -> PyResult<()> {
        let trial: Trial = serde_json::from_str(trial_json).map_err(to_value_error)?;
        check(&trial).map_err(PyValueError::new_err)?;
        let log = log.then(|| Arc::new(FrameLog::new(changed_only)));
        let watching = match frames {
            Some(parts) if trial.changes => Some(watching(&trial, parts, log.clone())?),
            _ => None,
        };
        let addresses: Option<Addresses> = addresses_json
            .map(serde_json::from_str)
            .transpose()
            .map_err(to_value_error)?;
        let codes: Option<Vec<Vec<Code>>> = codes_json
            .map(serde_json::from_str)
            .transpose()
            .map_err(to_value_error)?;
        if let Some(own) = &addresses {
            check_addresses(own, &trial, self.ports.len()).map_err(PyValueError::new_err)?;
        }
        let paths = paths(
            &self.device,
            &self.ports,
            &trial,
            addresses.is_some() || trial.spreads(),
        )
        .map_err(PyValueError::new_err)?;
        let mut place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        if place
            .as_ref()
            .is_some_and(|running| running.record.is_some())
        {
            return Err(PyRuntimeError::new_err(
                "a trial is running: finish it first",
            ));
        }
        let watch = Arc::new(Watch::of(&trial));
        let (sender, receiver) = channel();
        let (receive_clock_ppm, numbers) = (self.receive_clock_ppm, self.ports.clone());
        let seen = Arc::clone(&watch);
        let connections = self.connections.clone();
        thread::spawn(move || {
            let scene = Scene {
                trial: &trial,
                paths: &paths,
                numbers: &numbers,
                receive_clock_ppm,
                addresses: addresses.as_ref(),
                watching: watching.as_ref(),
                codes: &codes.unwrap_or_default(),
                connections: connections.as_deref(),
            };
            let record = run(&scene, &seen);
            if let Some(table) = &connections {
                let trial_ns = trial.duration_ns + trial.drain_ns;
                let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table.pass(trial_ns * 1000);
            }
            // This comes first, so that a reader who has the record also sees that the trial has finished.
            seen.finished.store(true, Ordering::Release);
            // The receiver is gone if `finish` was interrupted.
            let _ = sender.send(record);
        });
        *place = Some(Running {
            watch,
            log,
            record: Some(receiver),
            words: Vec::new(),
        });
        Ok(())
    }

    /// The rows of arrivals since the last call, and how many were lost, as of `Wire`.
    fn take_frames(&self, py: Python<'_>) -> (Vec<u8>, u64) {
        let place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        let log = place.as_ref().and_then(|running| running.log.clone());
        drop(place);
        match log {
            Some(log) => py.detach(|| (log.take(), log.lost())),
            None => (Vec::new(), 0),
        }
    }

    /// (offered, forwarded, finished) of the latest trial after at most `seconds`; at once when it is over.
    fn wait(&self, py: Python<'_>, seconds: f64) -> (u64, u64, bool) {
        let deadline = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| {
            while !self.progress().2 && Instant::now() < deadline {
                thread::sleep(LOOK);
            }
        });
        self.progress()
    }

    /// State, frames offered, received and forwarded so far of each stream, where they are switched one by one.
    fn streams(&self) -> Vec<StreamSeen> {
        self.watch().map_or_else(Vec::new, |watch| watch.streams())
    }

    /// Starts, pauses or ends streams. Returns false if the trial is over or does not switch its streams.
    fn switch(&self, streams: Vec<usize>, state: &str) -> bool {
        self.watch()
            .is_some_and(|watch| watch.switch(&streams, state))
    }

    /// Ends the trial early; `finish` then returns what happened until now.
    fn stop(&self) {
        let place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = place.as_ref() {
            running.watch.stop.store(true, Ordering::Relaxed);
        }
    }

    /// From where the frames of each stream of the latest trial arrived, as of `Wire`.
    fn words(&self) -> Vec<Vec<u8>> {
        let mut place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        let words = place
            .as_mut()
            .map(|running| std::mem::take(&mut running.words));
        let bytes = |one: Vec<u64>| one.into_iter().flat_map(u64::to_ne_bytes).collect();
        words.unwrap_or_default().into_iter().map(bytes).collect()
    }

    /// The device forgets all connections; returns how long that takes it, in ns of virtual time. No trial may be running.
    fn forget(&self) -> u64 {
        let table = self.connections.as_ref();
        table.map_or(0, |own| {
            own.lock().unwrap_or_else(PoisonError::into_inner).forget()
        })
    }

    /// Time goes on for the device by so many ns. No trial may be running.
    fn pass_time(&self, time_ns: u64) {
        if let Some(table) = &self.connections {
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.pass(time_ns.min(LONGEST_NS) * 1000);
        }
    }

    /// Waits for the trial and returns JSON of `record::Record`.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let receiver = {
            let mut place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
            place.as_mut().and_then(|running| running.record.take())
        };
        let Some(mut receiver) = receiver else {
            return Err(PyRuntimeError::new_err("no trial was started"));
        };
        loop {
            let waited = py.detach(|| {
                let receiver = &mut receiver;
                receiver.recv_timeout(SIGNAL_CHECK)
            });
            match waited {
                Ok(mut record) => {
                    let mut place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(running) = place.as_mut() {
                        running.words = std::mem::take(&mut record.words);
                    }
                    return serde_json::to_string(&record).map_err(to_value_error);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the simulation failed"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals().inspect_err(|_| self.stop())?
                }
            }
        }
    }
}

impl Simulation {
    fn watch(&self) -> Option<Arc<Watch>> {
        let place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|running| Arc::clone(&running.watch))
    }

    /// (offered, forwarded, finished) of the latest trial; zeros before the first.
    fn progress(&self) -> (u64, u64, bool) {
        let place = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = place.as_ref() else {
            return (0, 0, false);
        };
        let finished = running.watch.finished.load(Ordering::Acquire);
        let offered = running.watch.offered.load(Ordering::Relaxed);
        (
            offered,
            running.watch.forwarded.load(Ordering::Relaxed),
            finished,
        )
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.stop();
    }
}

fn watching(
    trial: &Trial,
    (sent, expected, free, rewritten): WatchedParts,
    log: Option<Arc<FrameLog>>,
) -> PyResult<Watching> {
    let tables =
        |parts: Vec<TableParts>| parts.into_iter().map(Table::of).collect::<Result<Vec<_>>>();
    let sent = tables(sent)?;
    let expected = tables(expected)?;
    let made = rewritten.into_iter().map(|(choice, parts)| {
        let choice: Choice = serde_json::from_str(&choice).map_err(to_value_error)?;
        Ok((choice, tables(parts)?))
    });
    let rewritten = made.collect::<PyResult<Vec<_>>>()?;
    let complete = |own: &[Arc<Table>]| {
        let counts = own.iter().map(|table| table.len());
        counts.eq(sent.iter().map(|table| table.len()))
    };
    let all = rewritten.iter().map(|(_, own)| own).chain([&expected]);
    let is_complete = all.into_iter().all(|own| complete(own));
    let has_all = trial.streams.iter().all(|stream| stream.table < sent.len());
    let of_one_size = trial
        .streams
        .iter()
        .all(|stream| stream.frame_bytes.len() == 1);
    if !is_complete || !has_all || !of_one_size {
        return Err(PyValueError::new_err(
            "changes: each stream needs frames of one size, and as many expected and rewritten ones",
        ));
    }
    Ok(Watching {
        sent,
        expected,
        free: free_bits(&free)?,
        rewritten,
        log,
    })
}

/// Refuses a trial that cannot be computed; the error names the field.
fn check(trial: &Trial) -> Result<(), String> {
    if trial.streams.is_empty() || trial.interval_ns == 0 {
        return Err("streams and interval_ns must be above zero".into());
    }
    if usize::from(trial.first_stream) + trial.streams.len() > usize::from(u16::MAX) {
        return Err(format!(
            "streams: {} do not fit behind number {}",
            trial.streams.len(),
            trial.first_stream
        ));
    }
    let events = trial.events.iter().map(|event| event.after_ns).max();
    if trial.reset_after_ns.max(events) > Some(LONGEST_NS) {
        return Err("a simulated trial lasts at most 100 days".into());
    }
    let switches = trial.switches.as_ref();
    if switches.is_some_and(|switches| switches.len() != trial.streams.len()) {
        return Err("switches: there must be one for each stream".into());
    }
    for stream in &trial.streams {
        if !(stream.frames_per_second.is_finite() && stream.frames_per_second > 0.0) {
            return Err("frames_per_second must be above zero".into());
        }
        if stream.frames == 0 || stream.frame_bytes.is_empty() || stream.frame_bytes.contains(&0) {
            return Err("frames and frame_bytes must be above zero".into());
        }
        if stream.growth_bytes != 0 {
            return Err("growth_bytes: a simulated device changes no frame".into());
        }
        if stream.connections.as_ref().is_some_and(|own| {
            own.count == 0
                || own
                    .numbers
                    .as_ref()
                    .is_some_and(|all| all.len() as u64 != own.count)
        }) {
            return Err("connections: there must be as many numbers as connections".into());
        }
        let receives: Vec<usize> = stream.receives().collect();
        if (1..receives.len()).any(|place| receives[..place].contains(&receives[place])) {
            return Err("streams: a port is to receive one of them twice".into());
        }
        stream.pacing.check()?;
        if trial.duration_ns > LONGEST_NS
            || trial.drain_ns > LONGEST_NS
            || stream.frames as f64 / stream.frames_per_second > LONGEST_NS as f64 / 1e9
        {
            return Err("a simulated trial lasts at most 100 days".into());
        }
    }
    Ok(())
}

fn check_addresses(addresses: &Addresses, trial: &Trial, ports: usize) -> Result<(), String> {
    let mut own = addresses.streams.iter();
    if addresses.streams.len() != trial.streams.len()
        || own.any(|macs| macs.sources.is_empty() || macs.destinations.is_empty())
    {
        return Err("addresses: each stream must have some".into());
    }
    if addresses.known.iter().any(|(_, port)| *port >= ports) {
        return Err("addresses: one is known behind a port that the tester has not".into());
    }
    Ok(())
}

fn to_value_error(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
