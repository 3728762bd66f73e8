//! Keeps other programs of this host from running between the packets of a batch.

/// The calling thread runs before all ordinary threads (SCHED_FIFO) as long as this value lives. Without the
/// privilege, or if the thread has a policy already, nothing changes. The value must not be moved to another thread.
pub struct Urgent {
    raised: bool,
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

impl Urgent {
    pub fn now() -> Self {
        // SAFETY: takes a number and touches no memory of ours; 0 is the calling thread.
        let ordinary = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
        Urgent {
            raised: ordinary && set(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1),
            _of_this_thread: std::marker::PhantomData,
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if self.raised {
            set(libc::SCHED_OTHER, 0);
        }
    }
}

fn set(policy: i32, priority: i32) -> bool {
    // SAFETY: plain integers, for which all zero is a value; libraries of C differ in what else there is.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority;
    // SAFETY: the parameter outlives the call, which only reads it.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_afterwards_as_it_was() {
        // SAFETY: as above.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        drop(Urgent::now());
        assert_eq!(policy(), before);
    }
}
