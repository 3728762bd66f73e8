//! The real-time class of threads that have a CPU for themselves, and the pauses that the kernel's limit asks for.
//!
//! A nice value does not let a thread run first: the kernel shares a CPU evenly between sessions before it looks at nice
//! values (`sched_autogroup_enabled`), so that a program started in another terminal takes half of it from a thread at
//! nice -20 (measured: gaps of 2 to 9 ms, 4 to 28 % of a sender's time).
//!
//! A thread in a real-time class may use 0.95 s of each period of 1 s (`sched_rt_runtime_us`, `sched_rt_period_us`). Kernels
//! before Linux 6.12, and later ones with CONFIG_RT_GROUP_SCHED, then stop it for up to 50 ms, even if no other thread
//! waits. A sender that spins would meet this stop in every second, so another thread takes it out of the class before.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::affinity::{FIRST_NICE, hurry};

/// A thread is in the real-time class for this long, and then out of it for `PAUSE_NS`. Each period of 1 s that
/// contains a whole pause has at most 0.94 s in the class. Both may be late by a look of the accounting thread.
const CLASS_NS: u64 = 800_000_000;
const PAUSE_NS: u64 = 60_000_000;

/// Lets the calling thread, which has a CPU for itself, run before every thread of the host without a real-time class;
/// returns whether it has such a class.
///
/// Soft interrupts of a device under test on this CPU run inside the sender's calls. Before Linux 6.4 and on real-time
/// kernels they wait for a thread without a real-time class instead, which would starve; there, and without the
/// privilege, the thread has a nice value only.
pub fn go_first() -> bool {
    hurry(FIRST_NICE);
    // SAFETY: the thread that asks exists.
    !soft_interrupts_wait_for_a_thread() && unsafe { set_class(libc::pthread_self(), true) }
}

/// # Safety
///
/// `thread` was not joined or detached yet.
unsafe fn set_class(thread: libc::pthread_t, real_time: bool) -> bool {
    let (class, sched_priority) = if real_time {
        (libc::SCHED_FIFO, 1)
    } else {
        (libc::SCHED_OTHER, 0)
    };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the structure outlives the call.
    unsafe { libc::pthread_setschedparam(thread, class, &raw const parameters) == 0 }
}

fn soft_interrupts_wait_for_a_thread() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    std::path::Path::new("/sys/kernel/realtime").exists() || version(&release) < (6, 4)
}

/// Major and minor version of a kernel's release such as '6.12.9-amd64'; zero where it has none.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|sign: char| !sign.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// One thread that goes first, as the thread sees it that takes it out of its class for the pauses.
#[derive(Default)]
pub struct First {
    /// The thread; 0 while it has no real-time class.
    thread: AtomicU64,
}

impl First {
    /// Lets the calling thread go first.
    pub fn enter(&self) {
        if go_first() {
            // SAFETY: it has no preconditions.
            let own = unsafe { libc::pthread_self() };
            self.thread.store(own, Ordering::Release);
        }
    }

    /// # Safety
    ///
    /// The thread that entered was not joined or detached yet.
    unsafe fn set_class(&self, real_time: bool) {
        let thread = self.thread.load(Ordering::Acquire);
        if thread != 0 {
            // SAFETY: the caller promises what is asked for.
            unsafe { set_class(thread, real_time) };
        }
    }
}

/// When threads that go first are in their class.
pub struct Pauses {
    paused: bool,
    /// When this changes.
    until_ns: u64,
}

impl Pauses {
    pub fn from(now_ns: u64) -> Self {
        Pauses {
            paused: false,
            until_ns: now_ns + CLASS_NS,
        }
    }

    /// Puts `threads` into their class or takes them out of it, if it is time.
    ///
    /// # Safety
    ///
    /// The threads that entered were not joined or detached yet.
    pub unsafe fn look(&mut self, threads: &[First], now_ns: u64) {
        if let Some(real_time) = self.change(now_ns) {
            for thread in threads {
                // SAFETY: the caller promises what is asked for.
                unsafe { thread.set_class(real_time) };
            }
        }
    }

    /// Whether threads are to be in their class from now on, if this changes.
    fn change(&mut self, now_ns: u64) -> Option<bool> {
        if now_ns < self.until_ns {
            return None;
        }
        self.paused = !self.paused;
        self.until_ns = now_ns + if self.paused { PAUSE_NS } else { CLASS_NS };
        Some(!self.paused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_kernels_are_compared_as_numbers() {
        assert_eq!(version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(version("5.10.0-30-amd64\n"), (5, 10));
        assert_eq!(version(""), (0, 0));
    }

    #[test]
    fn any_second_has_less_than_its_share_in_the_class() {
        const LOOK_NS: u64 = 5_000_000;
        let mut pauses = Pauses::from(0);
        let mut class = true;
        let in_class: Vec<bool> = (0..2000)
            .map(|look| {
                class = pauses.change(look * LOOK_NS).unwrap_or(class);
                class
            })
            .collect();
        let most = in_class
            .windows(200)
            .map(|second| second.iter().filter(|one| **one).count());
        assert_eq!(most.max(), Some(188), "of 200 looks; the kernel allows 190");
        assert!(in_class[..160].iter().all(|one| *one));
    }

    #[test]
    fn a_thread_in_its_class_is_taken_out_and_put_back() {
        use std::sync::mpsc::channel;
        let first = [First::default()];
        // SAFETY: 0 is the calling thread.
        let class = || unsafe { libc::sched_getscheduler(0) };
        let (ask, asked) = channel();
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            let own = &first[0];
            scope.spawn(move || {
                own.enter();
                tell.send(class()).unwrap();
                asked.iter().for_each(|()| tell.send(class()).unwrap());
            });
            let granted = told.recv().unwrap();
            let mut pauses = Pauses::from(0);
            for (now_ns, expected) in [
                (CLASS_NS - 1, granted),
                (CLASS_NS, libc::SCHED_OTHER),
                (CLASS_NS + PAUSE_NS, granted),
            ] {
                // SAFETY: the thread is joined at the end of the scope.
                unsafe { pauses.look(&first, now_ns) };
                ask.send(()).unwrap();
                assert_eq!(told.recv().unwrap(), expected, "at {now_ns}");
            }
            drop(ask);
        });
    }
}
