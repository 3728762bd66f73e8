//! `Connection`: a TCP connection that carries packets one behind the other, and never blocks.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::stamped_socket::address::KernelAddress;
use crate::transaction::Kind;
use crate::transaction::stamped::{at_once, connecting, send};

use super::packet::{BYTES, Packet};

/// So many bytes are read at once.
const ROOM: usize = 16 * BYTES;
const BACKLOG: i32 = 1024;

pub struct Connection {
    socket: OwnedFd,
    /// The end of a packet of which the front was taken already.
    rest: Vec<u8>,
    /// The front of a packet of which the end has not come.
    front: Vec<u8>,
}

impl Connection {
    /// One that begins to be.
    pub fn to(remote: SocketAddr) -> io::Result<Self> {
        connecting(Kind::Kept, remote).map(Connection::of)
    }

    fn of(socket: OwnedFd) -> Self {
        Connection {
            socket,
            rest: Vec::new(),
            front: Vec::new(),
        }
    }

    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Whether the packet was taken: the connection is there, and has room. An error says that it is over.
    pub fn send(&mut self, packet: &[u8; BYTES]) -> io::Result<bool> {
        while !self.rest.is_empty() {
            match send(self.descriptor(), &self.rest, None) {
                Ok(count) => drop(self.rest.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        match send(self.descriptor(), packet, None) {
            Ok(count) => {
                self.rest.extend_from_slice(&packet[count..]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Calls `take` with each whole packet that can be read now. An error says that it is over; so does what is no packet.
    pub fn receive(&mut self, mut take: impl FnMut(Packet)) -> io::Result<()> {
        let mut room = [0u8; ROOM];
        // SAFETY: the kernel writes at most as many bytes as there are.
        let count = unsafe {
            libc::recv(
                self.descriptor(),
                room.as_mut_ptr().cast(),
                room.len(),
                libc::MSG_DONTWAIT,
            )
        };
        let count = match usize::try_from(count) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                error => return Err(error),
            },
        };
        self.front.extend_from_slice(&room[..count]);
        let whole = self.front.len() / BYTES * BYTES;
        for bytes in self.front[..whole].chunks(BYTES) {
            let packet = Packet::read(bytes);
            take(packet.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?);
        }
        self.front.drain(..whole);
        Ok(())
    }
}

/// A socket that waits for connections at `local`.
pub struct Listener(OwnedFd);

impl Listener {
    pub fn at(local: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(local)?;
        listener.set_nonblocking(true)?;
        // SAFETY: listen takes a descriptor that is open, and a number.
        unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
        Ok(Listener(listener.into()))
    }

    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn port(&self) -> io::Result<u16> {
        let mut address = KernelAddress::empty();
        let (storage, length) = ((&raw mut address.storage).cast(), &raw mut address.length);
        // SAFETY: the kernel writes an address into room of the length given.
        if unsafe { libc::getsockname(self.descriptor(), storage, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let unknown = || io::Error::other("the socket has no address");
        address.get().map(|at| at.port()).ok_or_else(unknown)
    }

    /// The next connection and where it comes from; `None` if there is none now.
    pub fn accept(&self) -> Option<(Connection, SocketAddr)> {
        let mut from = KernelAddress::empty();
        let (storage, length) = ((&raw mut from.storage).cast(), &raw mut from.length);
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the kernel writes an address into room of the length given.
        let made = unsafe { libc::accept4(self.descriptor(), storage, length, flags) };
        if made < 0 {
            return None;
        }
        // SAFETY: a descriptor that was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(made) };
        at_once(&socket).ok()?;
        Some((Connection::of(socket), from.get()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::packet::Kind as Of;
    use std::net::Ipv4Addr;

    #[test]
    fn packets_come_whole_and_in_order_however_they_were_cut() {
        let listener = Listener::at((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let port = listener.port().unwrap();
        let mut near = Connection::to((Ipv4Addr::LOCALHOST, port).into()).unwrap();
        let (mut far, _) = loop {
            if let Some(made) = listener.accept() {
                break made;
            }
        };
        let packet = |number| Packet {
            kind: Of::Data,
            flow: 1,
            token: 2,
            number,
            sent_ns: 3,
            next: 4,
            received: 5,
        };
        // More than the buffers of both sockets hold.
        let mut taken = 0;
        while near.send(&packet(taken).write()).unwrap() || taken == 0 {
            taken += 1;
        }
        let mut numbers = Vec::new();
        while numbers.len() < taken as usize {
            far.receive(|packet| numbers.push(packet.number)).unwrap();
            if taken % 2 == 1 && near.send(&packet(taken).write()).unwrap() {
                taken += 1;
            }
        }
        assert!(numbers.iter().copied().eq(0..taken));
        drop(near);
        assert!((0..1000).any(|_| far.receive(|_| ()).is_err()));
    }
}
