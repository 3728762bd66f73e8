//! Runs tasks inside a network namespace, on threads of their own.
//!
//! The caller's thread never changes its namespace, so that Python is not affected.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;

/// Moves the calling thread into the namespace at `path`. Only for threads that end with their task.
pub fn enter(path: Option<&str>) -> io::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let file = File::open(path)?;
    // SAFETY: setns takes a descriptor and a flag and touches no memory of ours.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs `task` on a thread inside the namespace at `path` (`None`: the own one) and waits for it.
pub fn within<T: Send>(
    path: Option<&str>,
    task: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| enter(path).and_then(|()| task()));
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `task` on a thread inside a new namespace, which lives as long as the file returned.
pub fn within_a_new_one<T: Send>(
    task: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<(File, T)> {
    within(None, || {
        // SAFETY: unshare takes a flag; only this thread, which ends soon, changes its namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let namespace = File::open("/proc/thread-self/ns/net")?;
        Ok((namespace, task()?))
    })
}
