//! `Poll`: waits for any of several descriptors with a timeout in ns. Another thread can wake it up.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::host::epoll::{Epoll, NO_EVENT};

/// What `Poll::wait` returns when a `Waker` woke it up.
pub const WOKEN: u64 = u64::MAX;
const MOST_EVENTS: usize = 16;

pub struct Poll {
    epoll: Epoll,
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
        // SAFETY: returns a new descriptor or an error, and touches no memory.
        let wake = match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
            ..0 => return Err(io::Error::last_os_error()),
            // SAFETY: a descriptor that was just made and belongs to nobody else.
            made => Arc::new(unsafe { OwnedFd::from_raw_fd(made) }),
        };
        let epoll = Epoll::new()?;
        epoll.watch(wake.as_raw_fd(), libc::EPOLLIN, WOKEN)?;
        let mut events = [NO_EVENT; MOST_EVENTS];
        epoll.wait(Some(0), &mut events)?;
        let waker = Waker { wake: wake.clone() };
        let poll = Poll {
            epoll,
            wake,
            events,
        };
        Ok((poll, waker))
    }

    /// From now on `wait` returns `token` while there is something to read.
    pub fn watch(&self, descriptor: RawFd, token: u64) -> io::Result<()> {
        self.epoll.watch(descriptor, libc::EPOLLIN, token)
    }

    /// The tokens of what can be read, after `ns` at the latest (None: whenever there is something).
    pub fn wait(&mut self, ns: Option<u64>) -> impl Iterator<Item = u64> + use<> {
        let found = self.epoll.wait(ns, &mut self.events).unwrap_or(0);
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
}

impl Waker {
    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: write reads eight bytes that live across the call.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}
