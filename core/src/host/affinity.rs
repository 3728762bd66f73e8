//! The CPUs that the sending and the accounting thread run on, their nice values and their timers.
//!
//! The sender has the first allowed CPU for itself and accounting takes any other one, so that neither delays the
//! stamps of the other. Functions of this module change the calling thread only.

use std::io;

/// The CPUs that this thread may run on, in ascending order.
pub fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: cpu_set_t is plain bits, for which all zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the size given into `set`.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: CPU_ISSET only reads bits below CPU_SETSIZE.
    Ok((0..libc::CPU_SETSIZE as usize)
        .filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
        .collect())
}

/// Restricts the calling thread to `cpus`. If the kernel refuses, the thread stays where it was, which costs
/// precision only.
pub fn restrict(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    // SAFETY: cpu_set_t is plain bits, for which all zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: `allowed` returns only numbers below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the kernel reads the size given from `set`.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// The nice value of threads that go before all others of their session without a real-time class.
pub const FIRST_NICE: i32 = -20;

/// Gives the calling thread priority over other threads of its session. Without the privilege nothing changes.
pub fn hurry(nice: i32) {
    // SAFETY: setpriority takes numbers; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Sets the timer slack of the calling thread to 1 ns instead of the default 50 µs.
pub fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
