//! `Epoll`: waits for any of several descriptors, with a timeout in ns.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub const NO_EVENT: libc::epoll_event = libc::epoll_event { events: 0, u64: 0 };

pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: returns a new descriptor or an error, and touches no memory.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            ..0 => Err(io::Error::last_os_error()),
            // SAFETY: a descriptor that was just made and belongs to nobody else.
            made => Ok(Epoll(unsafe { OwnedFd::from_raw_fd(made) })),
        }
    }

    /// The same one again, for another thread.
    pub fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Epoll)
    }

    /// From now on waits return `token` with each of `events` at a descriptor, until it is closed.
    pub fn watch(&self, descriptor: RawFd, events: i32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token,
        };
        let (epoll, add) = (self.0.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the kernel reads the event, which lives across the call.
        match unsafe { libc::epoll_ctl(epoll, add, descriptor, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for at most `ns` (None: without a limit). Returns how many of `events` there are: none if a signal came. Fails
    /// before Linux 5.11, which has no timeouts in ns.
    pub fn wait(&self, ns: Option<u64>, events: &mut [libc::epoll_event]) -> io::Result<usize> {
        let timeout = ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        let time = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel reads the time and writes at most as many events as there are; both live across the call.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                events.len(),
                time,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        usize::try_from(found).or_else(|_| match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        })
    }
}
