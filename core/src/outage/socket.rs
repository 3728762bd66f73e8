//! Datagrams of a socket that never blocks: sent one by one, and received with the time at which each came.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::host::kernel_clock::monotonic_ns;
use crate::stamped_socket::address::KernelAddress;
use crate::stream::socket::{SK_MEMINFO_DROPS, memory, set};
use crate::transaction::stamped;

/// Room for the packets of seconds, so that a stop of this program loses none.
const BUFFER_BYTES: i32 = 1 << 25;

/// The kernel's, of packets that come.
const STAMPS: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
/// Errors of earlier datagrams that are passed over at most.
const ERRORS: usize = 8;

/// Lets the kernel stamp what comes at a socket.
pub fn stamp_arrivals(socket: &OwnedFd) -> io::Result<()> {
    let stamps = STAMPS.to_ne_bytes();
    set(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &stamps,
    )
}

pub struct Datagrams {
    socket: OwnedFd,
    dropped: u32,
    /// Nothing that is read now came before this.
    read_ns: u64,
}

/// A datagram and when it came, by CLOCK_MONOTONIC.
pub struct Datagram {
    pub length: usize,
    pub arrived_ns: u64,
    pub from: KernelAddress,
}

impl Datagrams {
    /// A socket at `local`, which may have port 0.
    pub fn bound(local: SocketAddr) -> io::Result<Self> {
        let family = match local {
            SocketAddr::V4(_) => libc::AF_INET,
            SocketAddr::V6(_) => libc::AF_INET6,
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: returns a new descriptor or an error, and touches no memory.
        let made = unsafe { libc::socket(family, kind, 0) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(made) };
        let room = BUFFER_BYTES.to_ne_bytes();
        stamp_arrivals(&socket)?;
        // Beyond the limit of the host with the privilege, else up to it.
        if set(
            socket.as_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            &room,
        )
        .is_err()
        {
            set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &room)?;
        }
        let address = KernelAddress::of(local);
        let (storage, length) = ((&raw const address.storage).cast(), address.length);
        // SAFETY: the kernel reads the address, which lives across the call, in the length given.
        if unsafe { libc::bind(socket.as_raw_fd(), storage, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Datagrams {
            socket,
            dropped: 0,
            read_ns: monotonic_ns(),
        })
    }

    pub fn descriptor(&self) -> &OwnedFd {
        &self.socket
    }

    /// The address that it is bound to.
    pub fn local(&self) -> io::Result<SocketAddr> {
        let mut address = KernelAddress::empty();
        let (storage, length) = ((&raw mut address.storage).cast(), &raw mut address.length);
        // SAFETY: the kernel writes an address into room of the length given.
        if unsafe { libc::getsockname(self.socket.as_raw_fd(), storage, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let unknown = || io::Error::other("the socket has no address");
        address.get().ok_or_else(unknown)
    }

    /// Sends one; an error that an earlier one met at the far host (ICMP) does not keep it back.
    pub fn send(&self, bytes: &[u8], to: &KernelAddress) -> io::Result<()> {
        let once = || stamped::send(self.socket.as_raw_fd(), bytes, Some(to)).map(|_| ());
        match once() {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => once(),
            outcome => outcome,
        }
    }

    /// The next datagram into `room`; `None` if there is none now. `ahead_ns`: how far the clock of the kernel's stamps is
    /// ahead of the monotonic one.
    pub fn receive(&mut self, room: &mut [u8], ahead_ns: i64) -> Option<Datagram> {
        for _ in 0..ERRORS {
            match stamped::receive(self.socket.as_raw_fd(), room) {
                Ok(received) => {
                    let now_ns = monotonic_ns();
                    let stamp = received.stamp.map(|ns| ns.wrapping_add_signed(-ahead_ns));
                    // A stamp that cannot be true is of a clock that was set meanwhile.
                    let arrived_ns = stamp.filter(|ns| (self.read_ns..=now_ns).contains(ns));
                    return Some(Datagram {
                        length: received.count,
                        arrived_ns: arrived_ns.unwrap_or(now_ns),
                        from: received.from,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // What an earlier datagram met at the far host.
                Err(_) => {}
            }
        }
        None
    }

    /// Everything that came before `now_ns` was read.
    pub fn drained(&mut self, now_ns: u64) {
        self.read_ns = now_ns;
    }

    /// Datagrams for which the socket had no room since this was asked last.
    pub fn dropped(&mut self) -> u64 {
        let now = memory(self.socket.as_fd(), SK_MEMINFO_DROPS).unwrap_or(self.dropped);
        u64::from(now.wrapping_sub(std::mem::replace(&mut self.dropped, now)))
    }
}
