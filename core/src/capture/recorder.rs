//! Writes what several sources capture into one file, on a thread of its own.
//!
//! It never opens a port and never decides when a capture ends. If the disk is full, the capture ends and `finish`
//! returns the error.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::capture::pcapng::{PcapngWriter, Statistics};
use crate::capture::source::{Frame, FrameSource};
use crate::host::affinity;

/// Interval between two reads of the sources; short compared with the time in which their rings fill up.
const LOOK: Duration = Duration::from_millis(2);
/// A frame captured before the end is readable within this time, because the timer of a packet ring has the
/// resolution of a jiffy.
const LAST_FRAMES: Duration = Duration::from_millis(20);
/// Lower priority than sending and accounting, higher than all other threads.
const NICE: i32 = -5;
const BUFFER_BYTES: usize = 1 << 20;

/// How a port appears in the file.
#[derive(Clone, Debug, Deserialize)]
pub struct Label {
    pub name: String,
    /// Role of the port, such as "transmits, before the DUT".
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub comment: String,
}

/// Counts of one port that other threads may read.
#[derive(Debug, Default)]
pub struct CaptureCounts {
    pub written: AtomicU64,
    pub dropped: AtomicU64,
}

/// A running capture.
pub struct Recorder {
    counts: Arc<Vec<CaptureCounts>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

struct Task {
    writer: PcapngWriter<BufWriter<File>>,
    sources: Vec<Box<dyn FrameSource>>,
    counts: Arc<Vec<CaptureCounts>>,
    stop: Arc<AtomicBool>,
    /// Frames to write at most.
    limit: u64,
    /// Frames with a later stamp do not belong to this capture.
    until_ns: u64,
    written: u64,
}

impl Recorder {
    /// Begins to write into the empty `file`. It keeps `snap` bytes of each frame and ends by itself after `limit`
    /// frames.
    pub fn start(
        file: File,
        labels: &[Label],
        sources: Vec<Box<dyn FrameSource>>,
        snap: u32,
        limit: Option<u64>,
    ) -> io::Result<Self> {
        let mut writer = PcapngWriter::new(BufWriter::with_capacity(BUFFER_BYTES, file), snap)?;
        for label in labels {
            writer.interface(&label.name, &label.description, &label.comment)?;
        }
        writer.flush()?;
        let counts: Arc<Vec<CaptureCounts>> =
            Arc::new(labels.iter().map(|_| CaptureCounts::default()).collect());
        let stop = Arc::new(AtomicBool::new(false));
        let mut task = Task {
            writer,
            sources,
            counts: counts.clone(),
            stop: stop.clone(),
            limit: limit.unwrap_or(u64::MAX),
            until_ns: u64::MAX,
            written: 0,
        };
        Ok(Recorder {
            counts,
            stop,
            thread: thread::spawn(move || task.run()),
        })
    }

    /// Written and dropped frames of each port so far.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.counts
            .iter()
            .map(|own| (load(&own.written), load(&own.dropped)))
            .collect()
    }

    /// True if the limit is reached or writing failed.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the capture and completes the file; returns the counts.
    pub fn finish(self) -> io::Result<Vec<(u64, u64)>> {
        self.stop.store(true, Ordering::Relaxed);
        let counts = self.counts.clone();
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(counts
            .iter()
            .map(|own| (load(&own.written), load(&own.dropped)))
            .collect())
    }
}

impl Task {
    fn run(&mut self) -> io::Result<()> {
        // The first CPU belongs to the sender, whose stamps a capture must not delay.
        let cpus = affinity::allowed().unwrap_or_default();
        affinity::restrict(cpus.get(1..).unwrap_or_default());
        affinity::hurry(NICE);
        let start_ns = realtime_ns();
        while !self.stop.load(Ordering::Relaxed) && self.written < self.limit {
            if self.drain()? == 0 {
                self.writer.flush()?;
                thread::sleep(LOOK);
            }
        }
        if self.written < self.limit {
            self.until_ns = realtime_ns();
            thread::sleep(LAST_FRAMES);
            while self.drain()? > 0 {}
        }
        for (port, counts) in self.counts.iter().enumerate() {
            let dropped = counts.dropped.load(Ordering::Relaxed);
            let statistics = Statistics {
                start_ns,
                end_ns: realtime_ns(),
                seen: counts.written.load(Ordering::Relaxed) + dropped,
                dropped,
            };
            self.writer.statistics(port, &statistics)?;
        }
        self.writer.flush()
    }

    /// Writes frames that were captured since the last call and returns their number.
    fn drain(&mut self) -> io::Result<u64> {
        let before = self.written;
        for source in &mut self.sources {
            source.drain(&mut |frame: &Frame| {
                if self.written < self.limit && frame.time_ns <= self.until_ns {
                    self.writer.frame(frame)?;
                    self.written += 1;
                    self.counts[frame.port]
                        .written
                        .fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })?;
        }
        for (port, counts) in self.counts.iter().enumerate() {
            let dropped = self.sources.iter_mut().map(|source| source.dropped(port));
            counts.dropped.store(dropped.sum(), Ordering::Relaxed);
        }
        Ok(self.written - before)
    }
}

fn realtime_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}
