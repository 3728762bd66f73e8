//! The CPUs that the sending and the accounting thread run on, and how both are scheduled.
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

/// Gives the calling thread priority over other threads of its session. Without the privilege nothing changes.
pub fn hurry(nice: i32) {
    // SAFETY: setpriority takes numbers; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Lets the calling thread, which has a CPU for itself, run before every thread of the host without a real-time class.
///
/// A nice value does not do this: the kernel shares a CPU evenly between sessions first (`sched_autogroup_enabled`), so
/// that a program started in another terminal takes half of it from a thread at nice -20 (measured: gaps of 2 to 9 ms,
/// 4 to 28 % of a sender's time). Soft interrupts of a device under test on this CPU run inside the sender's calls. Before
/// Linux 6.4 and on real-time kernels they wait for a thread without a real-time class instead, which would starve; there,
/// and without the privilege, this is `hurry`.
pub fn go_first() {
    hurry(-20);
    if soft_interrupts_wait_for_a_thread() {
        return;
    }
    // SAFETY: the structure outlives the call; 0 is the calling thread.
    unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO,
            &libc::sched_param { sched_priority: 1 },
        )
    };
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

/// Sets the timer slack of the calling thread to 1 ns instead of the default 50 µs.
pub fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
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
}
