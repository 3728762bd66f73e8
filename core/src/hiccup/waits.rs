//! How long one thread had to wait while it was ready to run, from the exact accounts of the kernel.
//!
//! It concerns the calling thread only and costs two reads of /proc at the beginning and at the end.

use serde::Serialize;

/// One thread of the tester during its part of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    pub role: String,
    /// Time on a CPU.
    pub ran_ns: u64,
    /// Time for which it was ready to run but waited for other threads on its CPU; None if the kernel does not report
    /// it.
    pub run_delay_ns: Option<u64>,
    /// How often the scheduler took the CPU away from it although it was ready to run.
    pub involuntary_switches: u64,
}

/// The accounts at the begin.
pub struct Waits {
    ran_ns: u64,
    run_delay_ns: Option<u64>,
    involuntary_switches: u64,
}

impl Waits {
    pub fn begin() -> Self {
        Waits {
            ran_ns: crate::host::kernel_clock::thread_cpu_ns(),
            run_delay_ns: run_delay_ns(),
            involuntary_switches: involuntary_switches(),
        }
    }

    /// To be called on the thread that called `begin`.
    pub fn end(self, role: &str) -> Thread {
        let now = Waits::begin();
        Thread {
            role: role.into(),
            ran_ns: now.ran_ns.saturating_sub(self.ran_ns),
            run_delay_ns: now
                .run_delay_ns
                .zip(self.run_delay_ns)
                .map(|(after, before)| after.saturating_sub(before)),
            involuntary_switches: now.involuntary_switches - self.involuntary_switches,
        }
    }
}

/// The second number of schedstat: time spent waiting on a run queue, in ns (kernel: sched-stats).
fn run_delay_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn involuntary_switches() -> u64 {
    // SAFETY: rusage is integers, for which all zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the structure that it is given.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::affinity;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_thread_that_shares_its_core_with_a_spinning_one_is_seen_waiting() {
        let core = affinity::allowed().unwrap()[0];
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                affinity::restrict(&[core]);
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                affinity::restrict(&[core]);
                let waits = Waits::begin();
                while involuntary_switches() < waits.involuntary_switches + 3 {
                    std::hint::spin_loop();
                }
                let thread = waits.end("test");
                assert!(thread.involuntary_switches >= 3);
                assert!(thread.run_delay_ns.unwrap() > 0);
                assert!(thread.ran_ns > 0);
                done.store(true, Ordering::Relaxed);
            });
        });
    }
}
