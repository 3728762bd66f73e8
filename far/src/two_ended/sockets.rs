//! Sockets of a measurement at one address of this host, and waits for several of them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Waits for connections at an address; those of IPv4, too, if it is any of IPv6, whatever the host's setting is.
pub fn listening(address: SocketAddr) -> io::Result<TcpListener> {
    let made = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    made.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        made.set_only_v6(false)?;
    }
    made.bind(&address.into())?;
    made.listen(BACKLOG)?;
    Ok(made.into())
}

/// A socket of the address's family, bound to it.
pub fn bound(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let made = Socket::new(Domain::for_address(address), kind, None)?;
    made.bind(&address.into())?;
    Ok(made)
}

/// The local port.
pub fn port_of(socket: &Socket) -> u16 {
    socket
        .local_addr()
        .ok()
        .and_then(|address| address.as_socket())
        .map_or(0, |address| address.port())
}

/// Places of those that can be read, after waiting for at most that long for one.
pub fn readable(sockets: &[RawFd], wait: Duration) -> io::Result<Vec<usize>> {
    let mut entries: Vec<libc::pollfd> = sockets
        .iter()
        .map(|socket| libc::pollfd {
            fd: *socket,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let wait_ms = wait.as_millis().min(60_000) as libc::c_int
        + i32::from(!wait.subsec_nanos().is_multiple_of(1_000_000));
    // SAFETY: the entries live across the call, and their number is given.
    let count = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, wait_ms) };
    if count < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok(Vec::new()),
            _ => Err(error),
        };
    }
    let is_ready = |(place, entry): (usize, &libc::pollfd)| (entry.revents != 0).then_some(place);
    Ok(entries.iter().enumerate().filter_map(is_ready).collect())
}

/// Waits until it can be read; false if that does not happen in time.
pub fn is_readable(socket: &Socket, wait: Duration) -> bool {
    readable(&[socket.as_raw_fd()], wait).is_ok_and(|found| !found.is_empty())
}
