//! `keisoku._core.Wire`: a transmit and a receive port, opened once for many trials.
//!
//! Turns JSON into types and threads into handles for Python; every decision is below it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::capture::CaptureRing;
use crate::carry::carry;
use crate::port::{self, EngineError, Place, Receive, Transmit};
use crate::record::{Record, Trial};
use crate::watch::Watch;

mod errors {
    pyo3::import_exception!(keisoku.errors, EngineError);
}

type Ports = (Box<dyn Transmit>, Box<dyn Receive>);
type Ended = (Ports, port::Result<Record>);

/// A transmit and a receive port.
///
/// Ports are JSON objects: `engine` ('xdp' or 'packet'), `interface`, `namespace` (a path such as
/// '/run/netns/x', or null). Raises `EngineError` if a port cannot be opened.
#[pyclass(frozen)]
pub struct Wire {
    tx: Place,
    rx: Place,
    /// Locked for moments only, so that progress and stop work while another thread waits in finish.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ports: Option<Ports>,
    watch: Option<Arc<Watch>>,
    thread: Option<JoinHandle<Ended>>,
}

#[pymethods]
impl Wire {
    #[new]
    fn new(py: Python<'_>, tx_json: &str, rx_json: &str) -> PyResult<Self> {
        let (tx, rx): (Place, Place) = (parse(tx_json, "tx")?, parse(rx_json, "rx")?);
        let ports = py.detach(|| Ok((port::open_transmit(&tx)?, port::open_receive(&rx)?)));
        let state = State {
            ports: Some(ports.map_err(raise)?),
            ..State::default()
        };
        Ok(Wire {
            tx,
            rx,
            state: Mutex::new(state),
        })
    }

    /// Begins a trial and returns at once.
    ///
    /// `trial_json`: `record::Trial`. `template`: a frame without FCS, its last 18 bytes zero, whose
    /// bytes from `checked_from` on sum to zero in ones' complement.
    fn start(&self, trial_json: &str, template: Vec<u8>, checked_from: usize) -> PyResult<()> {
        let trial: Trial = parse(trial_json, "trial")?;
        let mut state = self.lock();
        let Some((mut transmit, mut receive)) = state.ports.take() else {
            let why = if state.watch.is_some() {
                "a trial is running"
            } else {
                "it is closed"
            };
            return Err(raise(EngineError(format!("cannot start a trial: {why}"))));
        };
        let watch = Arc::new(Watch::default());
        state.watch = Some(watch.clone());
        state.thread = Some(thread::spawn(move || {
            let (tx, rx) = (transmit.as_mut(), receive.as_mut());
            let record = carry(&trial, &template, checked_from, tx, rx, &watch);
            watch.finished.store(true, Ordering::Release);
            ((transmit, receive), record)
        }));
        Ok(())
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

    /// Ends the trial early; its record then says `interrupted`.
    fn stop(&self) {
        if let Some(watch) = &self.lock().watch {
            watch.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for the end of the trial and returns its record as JSON.
    ///
    /// Raises `EngineError` if a port failed during the trial.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let Some(record) = py.detach(|| self.join()) else {
            return Err(raise(EngineError("no trial is running".into())));
        };
        let record = record.map_err(raise)?;
        serde_json::to_string(&record).map_err(|error| raise(EngineError(error.to_string())))
    }

    /// Sends `count` learning frames, 1 ms apart, from the transmit port, or from the receive port.
    #[pyo3(signature = (template, count, reverse=false))]
    fn learn(&self, py: Python<'_>, template: Vec<u8>, count: u32, reverse: bool) -> PyResult<()> {
        let place = if reverse { &self.rx } else { &self.tx };
        py.detach(|| port::send_slowly(place, &template, count))
            .map_err(raise)
    }

    /// The rings that a `Capture` of the ports needs; each can be had once. The ports must have been opened with
    /// `capture_bytes`, and no trial may be running.
    fn capture_rings(&self) -> PyResult<Vec<CaptureRing>> {
        let mut state = self.lock();
        let Some((transmit, receive)) = &mut state.ports else {
            return Err(raise(EngineError(
                "cannot begin a capture while a trial is running".into(),
            )));
        };
        let rings = [transmit.capture_ring(), receive.capture_ring()];
        let rings: port::Result<Vec<_>> = rings.into_iter().collect();
        Ok(rings.map_err(raise)?.into_iter().flatten().collect())
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

    fn join(&self) -> Option<port::Result<Record>> {
        let thread = self.lock().thread.take()?;
        let ended = thread.join();
        let mut state = self.lock();
        state.watch = None;
        let (ports, record) = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        state.ports = Some(ports);
        Some(record)
    }

    fn shut(&self) {
        self.stop();
        self.join();
        self.lock().ports = None;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shut();
    }
}

fn parse<T: DeserializeOwned>(json: &str, what: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| raise(EngineError(format!("{what}: {error}"))))
}

fn raise(EngineError(message): EngineError) -> PyErr {
    errors::EngineError::new_err(message)
}
