//! `Poll`: waits for any of several descriptors with a timeout in ns. Another thread can wake it up.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// What `Poll::wait` returns when a `Waker` woke it up.
pub const WOKEN: u64 = u64::MAX;
const MOST_EVENTS: usize = 16;

pub struct Poll {
    poll: OwnedFd,
    wake: Arc<OwnedFd>,
    events: [libc::epoll_event; MOST_EVENTS],
}

/// Ends a wait of the poll that it belongs to.
pub struct Waker {
    wake: Arc<OwnedFd>,
}

impl Poll {
    /// Fails before Linux 5.11, which has no timeouts in ns.
    pub fn new() -> io::Result<(Self, Waker)> {
        // SAFETY: both calls return a new descriptor or an error, and touch no memory.
        let wake = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: as above.
        let poll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let wake = Arc::new(wake);
        let mut made = Poll {
            poll,
            wake: wake.clone(),
            events: [libc::epoll_event { events: 0, u64: 0 }; MOST_EVENTS],
        };
        made.watch(wake.as_raw_fd(), WOKEN)?;
        if made.ask(Some(0)) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((made, Waker { wake }))
    }

    /// From now on `wait` returns `token` while there is something to read.
    pub fn watch(&mut self, descriptor: RawFd, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token,
        };
        let (poll, add) = (self.poll.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the kernel reads the event, which lives across the call.
        match unsafe { libc::epoll_ctl(poll, add, descriptor, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The tokens of what can be read, after `ns` at the latest (None: whenever there is something).
    pub fn wait(&mut self, ns: Option<u64>) -> impl Iterator<Item = u64> + use<> {
        // A wait that a signal interrupted found nothing.
        let found = usize::try_from(self.ask(ns)).unwrap_or(0);
        let tokens = self.events.map(|event| event.u64);
        if tokens[..found].contains(&WOKEN) {
            let mut count = [0u8; 8];
            // SAFETY: read writes at most the eight bytes given.
            unsafe {
                libc::read(
                    self.wake.as_raw_fd(),
                    count.as_mut_ptr().cast(),
                    count.len(),
                )
            };
        }
        tokens.into_iter().take(found)
    }

    fn ask(&mut self, ns: Option<u64>) -> libc::c_long {
        let timeout = ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let time = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel reads the time and writes at most as many events as there are; both live across the call.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.poll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len(),
                time,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        }
    }
}

impl Waker {
    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: write reads eight bytes that live across the call.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
