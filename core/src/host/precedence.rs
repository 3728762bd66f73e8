//! The real-time class of threads that have a CPU for themselves, and the pauses that the kernel's limit asks for.
//!
//! A nice value does not let a thread run first: the kernel shares a CPU evenly between sessions before it looks at nice
//! values (`sched_autogroup_enabled`), so that a program started in another terminal takes half of it from a thread at
//! nice -20 (measured: gaps of 2 to 9 ms, 4 to 28 % of a sender's time).
//!
//! A thread in a real-time class may use 0.95 s of each period of 1 s (`sched_rt_runtime_us`, `sched_rt_period_us`). Kernels
//! before Linux 6.12, and later ones with CONFIG_RT_GROUP_SCHED, then stop it for up to 50 ms, even if no other thread
//! waits; others give these 50 ms to programs that wait, in one piece. So another thread takes a sender out of its class
//! for moments: so short that a sender whose CPU is taken in them catches up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::host::affinity::{FIRST_NICE, hurry};
use crate::host::kernel_clock::monotonic_ns;

/// A thread that goes first does not leave its class for this long, so that short trials are not interrupted.
const UNTOUCHED_NS: u64 = 400_000_000;
/// After that it is out of its class for one part of the time and in it for so many: any second has 0.6 x 9 / 10 + 0.4 s
/// in the class at most.
const IN_CLASS: u64 = 9;

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
    // SAFETY: plain integers, for which all zero is a value; libraries of C differ in what else there is.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = sched_priority;
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
    thread: AtomicUsize,
}

impl First {
    /// Lets the calling thread go first.
    pub fn enter(&self) {
        if go_first() {
            // SAFETY: it has no preconditions.
            let own = unsafe { libc::pthread_self() };
            self.thread.store(own as usize, Ordering::Release);
        }
    }

    /// # Safety
    ///
    /// The thread that entered was not joined or detached yet.
    unsafe fn set_class(&self, real_time: bool) {
        let thread = self.thread.load(Ordering::Acquire);
        if thread != 0 {
            // SAFETY: the caller promises what is asked for.
            unsafe { set_class(thread as libc::pthread_t, real_time) };
        }
    }
}

/// When threads that go first leave their class.
pub struct Pauses {
    /// When they came into it last, or will have been in it for long enough at first.
    since_ns: u64,
}

impl Pauses {
    pub fn from(start_ns: u64) -> Self {
        Pauses {
            since_ns: start_ns + UNTOUCHED_NS,
        }
    }

    /// Takes `threads` out of their class for as long as they owe since the last look, and sleeps for that time.
    ///
    /// # Safety
    ///
    /// The threads that entered were not joined or detached yet.
    pub unsafe fn look(&mut self, threads: &[First]) {
        let owed_ns = self.owed_ns(monotonic_ns());
        if owed_ns == 0 || threads.is_empty() {
            return;
        }
        // SAFETY: the caller promises what is asked for.
        let set = |real_time| unsafe { threads.iter().for_each(|one| one.set_class(real_time)) };
        set(false);
        thread::sleep(Duration::from_nanos(owed_ns));
        set(true);
        self.since_ns = monotonic_ns();
    }

    /// For how long threads are to be out of their class, which they have not left since the last look.
    fn owed_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.since_ns) / IN_CLASS
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
        const STEP_NS: u64 = 100_000;
        const STEPS_OF_A_LOOK: u64 = 50;
        let mut pauses = Pauses::from(0);
        let mut in_class = Vec::new();
        while in_class.len() < 30_000 {
            in_class.extend([true; STEPS_OF_A_LOOK as usize]);
            let out = pauses
                .owed_ns(in_class.len() as u64 * STEP_NS)
                .div_ceil(STEP_NS);
            in_class.extend((0..out).map(|_| false));
            if out > 0 {
                pauses.since_ns = in_class.len() as u64 * STEP_NS;
            }
        }
        let of = |second: &[bool]| second.iter().filter(|one| **one).count();
        let most = in_class.windows(10_000).map(of).max().unwrap();
        assert!(
            most < 9_500,
            "{most} of 10 000 steps of a second; the kernel allows 9500"
        );
        assert!(in_class[..4_000].iter().all(|one| *one));
    }

    #[test]
    fn nothing_is_owed_where_no_thread_goes_first() {
        // A host that only receives once slept for a ninth of what its clock is ahead of the sender's.
        let mut pauses = Pauses { since_ns: 0 };
        // SAFETY: there is no thread.
        unsafe { pauses.look(&[]) };
        assert_eq!(pauses.since_ns, 0);
    }

    #[test]
    fn a_thread_in_its_class_is_taken_out_and_put_back() {
        use std::sync::mpsc::channel;
        let first = [First::default()];
        // SAFETY: 0 is the calling thread.
        let class = || unsafe { libc::sched_getscheduler(0) };
        let (ask, asked) = channel();
        let (tell, told) = channel();
        thread::scope(|scope| {
            let own = &first[0];
            scope.spawn(move || {
                own.enter();
                tell.send(class()).unwrap();
                asked.iter().for_each(|()| tell.send(class()).unwrap());
            });
            let granted = told.recv().unwrap();
            for (real_time, expected) in [(false, libc::SCHED_OTHER), (true, granted)] {
                // SAFETY: the thread is joined at the end of the scope.
                unsafe { first[0].set_class(real_time) };
                ask.send(()).unwrap();
                assert_eq!(told.recv().unwrap(), expected);
            }
            let mut pauses = Pauses {
                since_ns: monotonic_ns() - 1_000_000,
            };
            // SAFETY: the thread is joined at the end of the scope.
            unsafe { pauses.look(&first) };
            ask.send(()).unwrap();
            assert_eq!(told.recv().unwrap(), granted, "after a pause");
            drop(ask);
        });
    }
}
