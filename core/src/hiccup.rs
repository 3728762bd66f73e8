//! Measures interference with the tester during a trial: how late a thread wakes up on each core, and what the kernel
//! took.
//!
//! On a core without a sender, a thread sleeps to fixed points of time and notes how late it wakes up. A core on
//! which a sender spins gets no such thread: its lateness would show the sender, and each of its wake-ups would take
//! the core away from the sender. There the sender itself is the finer meter, because it stamps every frame, beside
//! the core's steal time and the sender's run delay. This file never judges a trial; `validity.py` does.

pub mod host;
pub mod look;
pub mod record;
pub mod speed;
mod throttling;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::host::affinity;
use crate::host::kernel_clock::monotonic_ns;
use crate::latency::histogram::{Buckets, Histogram};

use host::HostState;
use record::{HiccupRecord, Lateness};
use throttling::Throttling;
use waits::Thread;

/// Interval between two points of time. A wake-up costs about 35 µs on a busy virtual machine (docs/guards.md), so
/// that the meter stays below 0.1 % of a core, and an interruption that matters (`validity.py`) covers two points.
const PERIOD_NS: u64 = 40_000_000;

/// A measurement from `begin` to `end`.
pub struct Hiccups {
    begun_ns: u64,
    cpus: Vec<usize>,
    before: HostState,
    sleepers: Vec<Sleeper>,
    threads: Mutex<Vec<Thread>>,
    stop: Arc<AtomicBool>,
}

struct Sleeper {
    cpu: usize,
    thread: JoinHandle<Lateness>,
}

impl Hiccups {
    /// Starts on `cpus`, the tester's cores; `spinning` are those of them on which a sender spins.
    pub fn begin(cpus: &[usize], spinning: &[usize]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let begun_ns = monotonic_ns();
        let quiet = cpus.iter().filter(|cpu| !spinning.contains(cpu));
        let sleepers = quiet
            .map(|&cpu| Sleeper {
                cpu,
                thread: thread::spawn({
                    let stop = stop.clone();
                    move || sleep(cpu, begun_ns, &stop)
                }),
            })
            .collect();
        Hiccups {
            begun_ns,
            cpus: cpus.to_vec(),
            before: HostState::read(cpus),
            sleepers,
            threads: Mutex::default(),
            stop,
        }
    }

    /// Runs `work` on the calling thread and stores under `role` what that thread had to wait for.
    pub fn watching<T>(&self, role: &str, work: impl FnOnce() -> T) -> T {
        let begun = waits::Waits::begin();
        let outcome = work();
        let thread = begun.end(role);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(thread);
        outcome
    }

    /// Ends the measurement.
    pub fn end(mut self) -> HiccupRecord {
        let after = HostState::read(&self.cpus);
        let span_ns = monotonic_ns() - self.begun_ns;
        let mut lateness = self.stop();
        let mut cores = after.since(&self.before);
        for core in &mut cores {
            let own = lateness.iter().position(|(cpu, _)| *cpu == core.cpu);
            core.lateness = own.map(|index| lateness.swap_remove(index).1);
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        HiccupRecord {
            span_ns,
            steal_resolution_ns: host::tick_ns(),
            cores,
            threads: std::mem::take(&mut threads),
            throttling: Throttling::between(self.before.throttling, after.throttling),
            clock_sources: (self.before.clock_source.clone(), after.clock_source),
        }
    }

    fn stop(&mut self) -> Vec<(usize, Lateness)> {
        self.stop.store(true, Ordering::Relaxed);
        for sleeper in &self.sleepers {
            sleeper.thread.thread().unpark();
        }
        let sleepers = self.sleepers.drain(..);
        sleepers
            .filter_map(|sleeper| Some((sleeper.cpu, sleeper.thread.join().ok()?)))
            .collect()
    }
}

impl Drop for Hiccups {
    /// A trial that failed must not leave a sleeping thread behind either.
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sleeps on `cpu` from point to point of time, counted from `begun_ns`, until `stop`.
fn sleep(cpu: usize, begun_ns: u64, stop: &AtomicBool) -> Lateness {
    affinity::restrict(&[cpu]);
    affinity::hurry(affinity::FIRST_NICE);
    affinity::sleep_precisely();
    let mut histogram = Histogram::default();
    let mut lateness = Lateness {
        points: 0,
        max_ns: 0,
        over_1_ms: 0,
        histogram: Buckets::default(),
    };
    let mut due_ns = begun_ns + PERIOD_NS;
    loop {
        let rest_ns = due_ns.saturating_sub(monotonic_ns());
        thread::park_timeout(Duration::from_nanos(rest_ns));
        let woke_ns = monotonic_ns();
        while due_ns <= woke_ns {
            lateness.note(woke_ns - due_ns);
            histogram.record((woke_ns - due_ns) as i64);
            due_ns += PERIOD_NS;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    lateness.histogram = histogram.buckets();
    lateness
}

/// Python's `keisoku._core.Hiccups`.
#[cfg(feature = "python")]
pub mod python {
    use std::sync::{Mutex, PoisonError};

    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    /// Measures interference on `cpus` from now on; `spinning` are those that a sender keeps busy.
    #[pyclass(frozen, module = "keisoku._core")]
    pub struct Hiccups {
        running: Mutex<Option<super::Hiccups>>,
    }

    #[pymethods]
    impl Hiccups {
        #[new]
        fn new(cpus: Vec<usize>, spinning: Vec<usize>) -> Self {
            Hiccups {
                running: Mutex::new(Some(super::Hiccups::begin(&cpus, &spinning))),
            }
        }

        /// Ends the measurement; returns JSON of `HiccupRecord`. Raises RuntimeError the second time.
        fn end(&self, py: Python<'_>) -> PyResult<String> {
            let taken = || {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.take()
            };
            let record = py.detach(|| taken().map(super::Hiccups::end));
            let record = record.ok_or_else(|| PyRuntimeError::new_err("it has ended"))?;
            serde_json::to_string(&record)
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_the_grid_is_counted_and_a_sending_core_has_no_sleeper() {
        let cpus = affinity::allowed().unwrap();
        let hiccups = Hiccups::begin(&cpus, &cpus[..1]);
        let work = hiccups.watching("accounting", || {
            let until_ns = monotonic_ns() + 4 * PERIOD_NS;
            crate::host::kernel_clock::sleep_until(until_ns);
            7
        });
        let record = hiccups.end();
        assert_eq!(work, 7);
        assert_eq!(record.threads.len(), 1);
        assert_eq!(record.threads[0].role, "accounting");
        assert!(record.span_ns >= 4 * PERIOD_NS);
        assert_eq!(record.cores.len(), cpus.len());
        assert!(record.cores[0].lateness.is_none());
        for core in &record.cores[1..] {
            let lateness = core.lateness.as_ref().unwrap();
            assert!(lateness.points >= 4);
            assert_eq!(
                lateness.histogram.counts.iter().sum::<u64>(),
                lateness.points
            );
        }
    }

    #[test]
    fn a_meter_that_is_dropped_leaves_no_sleeper_and_one_without_cores_measures_nothing() {
        let hiccups = Hiccups::begin(&affinity::allowed().unwrap(), &[]);
        let held = hiccups.stop.clone();
        drop(hiccups);
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(Hiccups::begin(&[], &[]).end().cores.is_empty());
    }
}
