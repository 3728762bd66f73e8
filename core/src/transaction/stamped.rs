//! Calls on a socket that never blocks and whose packets the kernel stamps: connecting, sending, receiving, and the
//! stamps of what left (SO_TIMESTAMPING).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::host::epoll::Epoll;
use crate::host::kernel_clock::{monotonic_ns, read};
use crate::stamped_socket::address::KernelAddress;
use crate::stamped_socket::control::Beside;
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
    let (count, beside, from, ()) = Beside::receive(socket, room, libc::MSG_DONTWAIT, || ())?;
    Ok(Received {
        count,
        stamp: beside.kernel_ns,
        from,
    })
}

/// A stamp of what left: its number, and CLOCK_REALTIME. `None`: there are no more now.
pub fn left(socket: RawFd) -> Option<(u32, u64)> {
    loop {
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let (_, beside, ..) = Beside::receive(socket, &mut [], flags, || ()).ok()?;
        // Other entries are ICMP errors, which the socket reports itself.
        if let (Some((error, _)), Some(stamp)) = (beside.error, beside.kernel_ns)
            && error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING
        {
            return Some((error.ee_data, stamp));
        }
    }
}

/// Whether an event may mean that there is something to read, or an error: not one that only says that there is room,
/// or that a stamp came, which was `taken`.
pub fn reads(events: u32, taken: bool) -> bool {
    let data = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP) as u32;
    events & data != 0 || (events & libc::EPOLLERR as u32 != 0 && !taken)
}

/// Lets an epoll tell what changes at the socket, until it is closed; of a UDP socket not that there is room again, which
/// is so after each datagram.
pub fn watch(epoll: &Epoll, socket: &OwnedFd, kind: Kind, number: usize) -> io::Result<()> {
    let room = if kind == Kind::Udp { 0 } else { libc::EPOLLOUT };
    let wanted = libc::EPOLLIN | room | libc::EPOLLRDHUP | libc::EPOLLET;
    epoll.watch(socket.as_raw_fd(), wanted, number as u64)
}
