//! `Usage`: CPU time that the calling thread has used since a moment (getrusage(2), RUSAGE_THREAD).
//!
//! Work that the kernel does for the thread in interrupts counts where the kernel accounts it: on a veth, for the
//! sender.

use std::mem::MaybeUninit;
use std::time::Instant;

#[derive(Clone, Copy)]
pub struct Usage {
    at: Instant,
    cpu_ns: u64,
}

impl Usage {
    pub fn now() -> Self {
        Usage {
            at: Instant::now(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// ns that passed and ns of CPU time that the calling thread used since then. The thread must be the same.
    pub fn since(&self) -> (u64, u64) {
        let elapsed_ns = self.at.elapsed().as_nanos() as u64;
        (elapsed_ns, thread_cpu_ns().saturating_sub(self.cpu_ns))
    }
}

fn thread_cpu_ns() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, for which all zero is a value; it cannot fail for the calling thread.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000)
        .sum()
}
