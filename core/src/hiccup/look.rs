//! A look at the host before a run: how long the host keeps a thread that never sleeps from each CPU.
//!
//! A thread at a sender's priority reads the clock again and again; where two readings are far apart, something else
//! had the CPU. That is finer than the meter that runs beside a trial, and too costly to run there: it takes all CPUs.

use std::thread;

use crate::host::affinity;
use crate::host::kernel_clock::monotonic_ns;

/// What was seen on one CPU.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub cpu: usize,
    /// From the first reading of the clock to the last.
    pub watched_ns: u64,
    /// Begin and length of each time in which the thread did not run, in ns from the first reading.
    pub stops: Vec<(u64, u64)>,
}

/// Watches all `cpus` at the same time for `span_ns`. Times shorter than `least_ns` are no stops: the kernel's timer
/// takes some µs.
pub fn look(cpus: &[usize], span_ns: u64, least_ns: u64) -> Vec<Watched> {
    let threads: Vec<_> = cpus
        .iter()
        .map(|&cpu| thread::spawn(move || watch(cpu, span_ns, least_ns)))
        .collect();
    let watched = threads.into_iter().map(|thread| {
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    watched.collect()
}

fn watch(cpu: usize, span_ns: u64, least_ns: u64) -> Watched {
    affinity::restrict(&[cpu]);
    affinity::hurry(affinity::FIRST_NICE);
    // Room for what most hosts do, so that the thread seldom stops itself.
    let mut stops = Vec::with_capacity(1024);
    let begun_ns = monotonic_ns();
    let mut seen_ns = begun_ns;
    while seen_ns - begun_ns < span_ns {
        let now_ns = monotonic_ns();
        if now_ns - seen_ns >= least_ns {
            stops.push((seen_ns - begun_ns, now_ns - seen_ns));
        }
        seen_ns = now_ns;
    }
    Watched {
        cpu,
        watched_ns: seen_ns - begun_ns,
        stops,
    }
}

/// Python's `keisoku._core.look_at_cpus`.
#[cfg(feature = "python")]
pub mod python {
    use pyo3::prelude::*;

    /// CPU, time watched, and begin and length of each stop, in ns.
    type Seen = (usize, u64, Vec<(u64, u64)>);

    /// Watches `cpus` for `span_ns` each, all at the same time; times shorter than `least_ns` are no stops.
    #[pyfunction]
    pub fn look_at_cpus(
        py: Python<'_>,
        cpus: Vec<usize>,
        span_ns: u64,
        least_ns: u64,
    ) -> Vec<Seen> {
        let watched = py.detach(|| super::look(&cpus, span_ns, least_ns));
        watched
            .into_iter()
            .map(|one| (one.cpu, one.watched_ns, one.stops))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_watched_for_the_whole_time_and_stops_do_not_overlap() {
        let cpus = affinity::allowed().unwrap();
        let watched = look(&cpus, 20_000_000, 1);
        assert_eq!(watched.len(), cpus.len());
        for (one, cpu) in watched.iter().zip(cpus) {
            assert_eq!(one.cpu, cpu);
            assert!(one.watched_ns >= 20_000_000);
            // Two readings are at least a nanosecond apart, so that all the time is in such stops.
            let stopped_ns: u64 = one.stops.iter().map(|stop| stop.1).sum();
            assert_eq!(stopped_ns, one.watched_ns);
            let mut pairs = one.stops.windows(2);
            assert!(pairs.all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn another_thread_of_the_same_priority_on_the_cpu_is_seen() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let cpu = affinity::allowed().unwrap()[0];
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                affinity::restrict(&[cpu]);
                affinity::hurry(affinity::FIRST_NICE);
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let watched = look(&[cpu], 100_000_000, 50_000);
            done.store(true, Ordering::Relaxed);
            let longest_ns = watched[0].stops.iter().map(|stop| stop.1).max();
            // The scheduler changes between the two within a few ticks.
            assert!(longest_ns > Some(500_000), "{longest_ns:?}");
        });
    }
}
