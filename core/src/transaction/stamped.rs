//! Calls on a socket that never blocks and whose packets the kernel stamps: connecting, sending, receiving, and the
//! stamps of what left (SO_TIMESTAMPING).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::host::kernel_clock::{monotonic_ns, read};
use crate::stamped_socket::address::KernelAddress;
use crate::stamped_socket::control::{Beside, Room};
use crate::stream::socket::set;

use super::Kind;

/// Stamps of the kernel alone; those of packets that left come back without the packet, with the number of its last
/// byte (TCP) or of the datagram (UDP), counted from 0 when this is set.
const STAMPS: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// How far the clock of the kernel's stamps is ahead of the monotonic one, in ns. It changes only where the time of day
/// is set, as both are slewed alike.
pub fn stamps_ahead_ns() -> i64 {
    const TRIES: usize = 10;
    let look = || {
        let before = monotonic_ns();
        let real = real_ns();
        let after = monotonic_ns();
        (
            after - before,
            real as i64 - (before + (after - before) / 2) as i64,
        )
    };
    // A thread that was away between the readings shows in how long they took.
    let tightest = (0..TRIES).map(|_| look()).min();
    tightest.map_or(0, |(_, ahead)| ahead)
}

/// Now by the clock of the kernel's stamps.
pub fn real_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// A socket that is connected, or begins to be.
pub fn connecting(kind: Kind, server: SocketAddr) -> io::Result<OwnedFd> {
    let family = match server {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let of = match kind {
        Kind::Udp => libc::SOCK_DGRAM,
        _ => libc::SOCK_STREAM,
    };
    // SAFETY: returns a new descriptor or an error, and touches no memory.
    let made = unsafe { libc::socket(family, of | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(made) };
    if kind != Kind::Udp {
        at_once(&socket)?;
    }
    let address = KernelAddress::of(server);
    let (storage, length) = ((&raw const address.storage).cast(), address.length);
    // SAFETY: the kernel reads the address, which lives across the call, in the length given.
    match unsafe { libc::connect(socket.as_raw_fd(), storage, length) } {
        0 => Ok(socket),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            error => Err(error),
        },
    }
}

/// A message leaves when it is written (TCP_NODELAY).
pub fn at_once(socket: &OwnedFd) -> io::Result<()> {
    let yes = 1i32.to_ne_bytes();
    set(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, &yes)
}

/// Asks for stamps. A TCP connection must be established, and nothing of it be under way.
pub fn stamp(socket: &OwnedFd) -> io::Result<()> {
    let flags = STAMPS.to_ne_bytes();
    set(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags,
    )
}

/// The error that the kernel keeps for the socket, which it then forgets.
pub fn kept_error(socket: &OwnedFd) -> Option<i32> {
    let mut room = [0u8; 4];
    let told =
        crate::stream::socket::get(socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut room);
    let code = i32::from_ne_bytes(told.ok()?.try_into().ok()?);
    (code != 0).then_some(code)
}

/// Sends as much as there is room for; to `to`, if the socket is not connected.
pub fn send(socket: RawFd, bytes: &[u8], to: Option<&KernelAddress>) -> io::Result<usize> {
    let (address, length) = to.map_or((std::ptr::null(), 0), |to| {
        ((&raw const to.storage).cast(), to.length)
    });
    // SAFETY: the kernel reads the bytes and the address, which live across the call, in the lengths given.
    let count = unsafe {
        libc::sendto(
            socket,
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
            address,
            length,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// What one call received: bytes, the kernel's stamp of the last of them, and who sent them (UDP).
pub struct Received {
    pub count: usize,
    pub stamp: Option<u64>,
    pub from: KernelAddress,
}

pub fn receive(socket: RawFd, room: &mut [u8]) -> io::Result<Received> {
    message(socket, room, libc::MSG_DONTWAIT).map(|(count, beside, from)| Received {
        count,
        stamp: beside.kernel_ns,
        from,
    })
}

/// A stamp of what left: its number, and CLOCK_REALTIME. `None`: there are no more now.
pub fn left(socket: RawFd) -> Option<(u32, u64)> {
    loop {
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let (_, beside, _) = message(socket, &mut [], flags).ok()?;
        // Other entries are ICMP errors, which the socket reports itself.
        if let (Some((error, _)), Some(stamp)) = (beside.error, beside.kernel_ns)
            && error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING
        {
            return Some((error.ee_data, stamp));
        }
    }
}

fn message(
    socket: RawFd,
    room: &mut [u8],
    flags: libc::c_int,
) -> io::Result<(usize, Beside, KernelAddress)> {
    let mut control = Room::new();
    let mut from = KernelAddress::empty();
    let mut part = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // SAFETY: msghdr is integers and pointers, for which all zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut from.storage).cast();
    header.msg_namelen = from.length;
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the kernel writes no more than the lengths given, into room that outlives the call.
    let count = unsafe { libc::recvmsg(socket, &raw mut header, flags) };
    let Ok(count) = usize::try_from(count) else {
        return Err(io::Error::last_os_error());
    };
    from.length = header.msg_namelen;
    // SAFETY: as recvmsg left it, and the room is still there.
    let beside = unsafe { Beside::of(&header) };
    Ok((count, beside, from))
}

/// Whether an event may mean that there is something to read, or an error: not one that only says that there is room,
/// or that a stamp came, which was `taken`.
pub fn reads(events: u32, taken: bool) -> bool {
    let data = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP) as u32;
    events & data != 0 || (events & libc::EPOLLERR as u32 != 0 && !taken)
}

/// An epoll descriptor.
pub struct Poll(OwnedFd);

/// Events that one call of `Poll::wait` returns at most.
pub const EVENTS: usize = 256;
pub type Events = [libc::epoll_event; EVENTS];

impl Poll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: returns a new descriptor or an error, and touches no memory.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            ..0 => Err(io::Error::last_os_error()),
            // SAFETY: a descriptor that was just made and belongs to nobody else.
            made => Ok(Poll(unsafe { OwnedFd::from_raw_fd(made) })),
        }
    }

    /// Tells what changes at the socket, until it is closed; of a UDP socket not that there is room again, which is so
    /// after each datagram.
    pub fn watch(&self, socket: RawFd, kind: Kind, number: usize) -> io::Result<()> {
        let room = if kind == Kind::Udp { 0 } else { libc::EPOLLOUT };
        let wanted = libc::EPOLLIN | room | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: wanted as u32,
            u64: number as u64,
        };
        let (epoll, add) = (self.0.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the kernel reads the event, which lives across the call.
        match unsafe { libc::epoll_ctl(epoll, add, socket, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for at most `ns`. Returns how many events there are.
    pub fn wait(&self, ns: u64, events: &mut Events) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the kernel writes at most EVENTS events and reads the timeout; both live across the call.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        match usize::try_from(found) {
            Ok(found) => Ok(found),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
                error => Err(error),
            },
        }
    }
}
