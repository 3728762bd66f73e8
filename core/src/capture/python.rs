//! `keisoku._core.Capture` and the two functions that read capture files, for `keisoku/subjects/device/capture/`.
//!
//! This file converts JSON and bytes into types. It decides nothing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;

use crate::capture::find;
use crate::capture::packet_source::PacketSource;
use crate::capture::recorder::{Label, Recorder};
use crate::capture::replay::{Limits, recorded};
use crate::capture::ring::CaptureRing;
#[cfg(bpf)]
use crate::capture::ring::Served;
#[cfg(bpf)]
use crate::capture::source::Direction;
use crate::capture::source::FrameSource;
use crate::error::{EngineError, Result};
use crate::interface::place::Place;

/// A port to capture: its place, and its label in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapturedPort {
    place: Place,
    label: Label,
}

/// A capture of `ports_json` (a list of objects: `place`, `label`) and of `rings` into a new pcapng file.
///
/// It begins at once. Keeps `snap_bytes` of each frame and ends by itself after `count` frames. Raises
/// `EngineError` if a port cannot be opened or the file cannot be written.
#[pyclass(frozen)]
pub struct Capture {
    path: PathBuf,
    recorder: Mutex<Option<Recorder>>,
}

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (path, ports_json, rings, snap_bytes, count=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        ports_json: &str,
        rings: Vec<Py<CaptureRing>>,
        snap_bytes: u32,
        count: Option<u64>,
    ) -> Result<Self> {
        let ports: Vec<CapturedPort> = serde_json::from_str(ports_json)
            .map_err(|error| EngineError(format!("ports: {error}")))?;
        let started = py.detach(|| {
            let sources = open(&ports, &rings)?;
            let labels: Vec<Label> = ports.into_iter().map(|port| port.label).collect();
            File::create(&path)
                .and_then(|file| Recorder::start(file, &labels, sources, snap_bytes, count))
                .map_err(|error| unwritten(&path, &error))
        });
        Ok(Capture {
            recorder: Mutex::new(Some(started?)),
            path,
        })
    }

    /// Written and dropped frames of each port so far.
    fn counts(&self) -> Vec<(u64, u64)> {
        self.lock()
            .as_ref()
            .map(Recorder::counts)
            .unwrap_or_default()
    }

    /// True if `count` frames were written or if the file cannot be written any more.
    fn has_ended(&self) -> bool {
        self.lock().as_ref().is_none_or(Recorder::has_ended)
    }

    /// Ends the capture, completes the file, and returns the counts; a second call returns none.
    ///
    /// Raises `EngineError` if the file could not be written.
    fn close(&self, py: Python<'_>) -> Result<Vec<(u64, u64)>> {
        let Some(recorder) = self.lock().take() else {
            return Ok(Vec::new());
        };
        py.detach(|| recorder.finish())
            .map_err(|error| unwritten(&self.path, &error))
    }
}

impl Capture {
    fn lock(&self) -> MutexGuard<'_, Option<Recorder>> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if let Some(recorder) = self.lock().take() {
            // The object is being dropped, so an error cannot be reported any more.
            let _ = recorder.finish();
        }
    }
}

/// Opens a packet socket for each port and the rings. Each captures what the other cannot see; where a ring captures
/// every arrival of a port, the socket of that port captures departures only.
fn open(ports: &[CapturedPort], rings: &[Py<CaptureRing>]) -> Result<Vec<Box<dyn FrameSource>>> {
    let mut sources: Vec<Box<dyn FrameSource>> = Vec::new();
    let mut arrivals = vec![true; ports.len()];
    for ring in rings {
        sources.push(begin(ring.get(), ports, &mut arrivals)?);
    }
    for (number, port) in ports.iter().enumerate() {
        let source = PacketSource::open(&port.place, number, arrivals[number])?;
        sources.push(Box::new(source));
    }
    Ok(sources)
}

#[cfg(bpf)]
fn begin(
    ring: &CaptureRing,
    ports: &[CapturedPort],
    arrivals: &mut [bool],
) -> Result<Box<dyn FrameSource>> {
    let served = ring
        .served
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Served {
        mut ring,
        places,
        direction,
    } = served.ok_or_else(|| EngineError("a port is being captured already".into()))?;
    let mut interfaces = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        if places.iter().any(|place| same_port(place, &port.place)) {
            interfaces.push((port.place.index()?, number));
            arrivals[number] &= direction != Direction::Incoming;
        }
    }
    ring.begin(interfaces);
    Ok(ring)
}

#[cfg(bpf)]
fn same_port(one: &Place, other: &Place) -> bool {
    (&one.interface, &one.namespace) == (&other.interface, &other.namespace)
}

#[cfg(not(bpf))]
fn begin(_: &CaptureRing, _: &[CapturedPort], _: &mut [bool]) -> Result<Box<dyn FrameSource>> {
    Err(EngineError(
        "this keisoku was built without BPF programs".into(),
    ))
}

/// Finds the frames of a stream in a capture file and returns `find::Found` as JSON.
///
/// `wanted`: inclusive ranges of sequence numbers, ascending and disjoint. Raises `EngineError` if the file is no
/// capture.
#[pyfunction]
pub fn find_frames(
    py: Python<'_>,
    path: PathBuf,
    stream: Option<u16>,
    wanted: Vec<(u64, u64)>,
) -> Result<String> {
    let found = py.detach(|| find::find(&path, stream, &wanted))?;
    serde_json::to_string(&found).map_err(|error| EngineError(error.to_string()))
}

/// The concatenated frames of a capture file, their lengths (u16) and their times in ns (u64), in native byte order.
///
/// Raises `EngineError` for a file that cannot be replayed.
#[pyfunction]
#[pyo3(signature = (path, port, most_frames, most_bytes))]
pub fn recorded_frames<'py>(
    py: Python<'py>,
    path: PathBuf,
    port: Option<&str>,
    most_frames: usize,
    most_bytes: usize,
) -> Result<(
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
)> {
    let limits = Limits {
        frames: most_frames,
        bytes: most_bytes,
    };
    let taken = py.detach(|| recorded(&path, port, limits))?;
    let lengths: Vec<u8> = taken
        .lengths
        .iter()
        .flat_map(|length| length.to_ne_bytes())
        .collect();
    let times: Vec<u8> = taken
        .times_ns
        .iter()
        .flat_map(|time| time.to_ne_bytes())
        .collect();
    Ok((
        PyBytes::new(py, &taken.bytes),
        PyBytes::new(py, &lengths),
        PyBytes::new(py, &times),
    ))
}

fn unwritten(path: &Path, error: &std::io::Error) -> EngineError {
    EngineError(format!(
        "{}: the capture cannot be written: {error}; make room or write elsewhere",
        path.display()
    ))
}
