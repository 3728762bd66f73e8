//! `Connection`: a TCP connection that carries packets one behind the other, and never blocks.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::host::kernel_clock::monotonic_ns;
use crate::stamped_socket::address::KernelAddress;
use crate::transaction::Kind;
use crate::transaction::stamped::{at_once, connecting, receive, send};

use super::TURN;
use super::packet::{BYTES, Packet};
use super::socket::stamp_arrivals;

const BACKLOG: i32 = 1024;

pub struct Connection {
    socket: OwnedFd,
    /// The end of a packet of which the front was taken already.
    rest: Vec<u8>,
    /// The front of a packet of which the end has not come.
    front: Vec<u8>,
    /// When the packet that was read last could be.
    arrived_ns: u64,
}

impl Connection {
    /// One that begins to be.
    pub fn to(remote: SocketAddr) -> io::Result<Self> {
        connecting(Kind::Kept, remote).and_then(Connection::of)
    }

    fn of(socket: OwnedFd) -> io::Result<Self> {
        stamp_arrivals(&socket)?;
        Ok(Connection {
            socket,
            rest: Vec::new(),
            front: Vec::new(),
            arrived_ns: 0,
        })
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

    /// Calls `take` with each whole packet that can be read now, for a turn at most, and when it could be read first, by
    /// CLOCK_MONOTONIC: however late this program comes. An error says that it is over; so does what is no packet.
    /// `ahead_ns`: how far the clock of the kernel's stamps is ahead of the monotonic one.
    pub fn receive(&mut self, ahead_ns: i64, mut take: impl FnMut(Packet, u64)) -> io::Result<()> {
        for _ in 0..TURN {
            // Packet by packet, as a call gets the stamp of its last byte alone.
            let mut room = [0u8; BYTES];
            let wanted = &mut room[self.front.len()..];
            let received = match receive(self.descriptor(), wanted) {
                Ok(received) if received.count == 0 => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let now_ns = monotonic_ns();
            let stamp = received.stamp.map(|ns| ns.wrapping_add_signed(-ahead_ns));
            // What came before the bytes in front of it could be read with them alone, and a clock may have been set.
            let arrived_ns = stamp.unwrap_or(now_ns).max(self.arrived_ns).min(now_ns);
            self.arrived_ns = arrived_ns;
            self.front.extend_from_slice(&wanted[..received.count]);
            if self.front.len() == BYTES {
                let packet = Packet::read(&self.front);
                self.front.clear();
                let packet = packet.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
                take(packet, arrived_ns);
            }
        }
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
        Some((Connection::of(socket).ok()?, from.get()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::packet::Kind as Of;
    use std::net::Ipv4Addr;

    fn packet(number: u64) -> Packet {
        Packet {
            kind: Of::Data,
            flow: 1,
            token: 2,
            number,
            sent_ns: 3,
            next: 4,
            received: 5,
            sent_before: 6,
        }
    }

    fn connected() -> (Connection, Connection) {
        let listener = Listener::at((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let port = listener.port().unwrap();
        let near = Connection::to((Ipv4Addr::LOCALHOST, port).into()).unwrap();
        loop {
            if let Some((far, _)) = listener.accept() {
                return (near, far);
            }
        }
    }

    #[test]
    fn a_packet_that_is_read_late_came_when_the_kernel_had_it() {
        let (mut near, mut far) = connected();
        let ahead_ns = crate::transaction::stamped::stamps_ahead_ns();
        let mut next = 0;
        let mut times = Vec::new();
        // A busy host may take longer than this test's patience to hand one over: then another one is asked.
        while times.is_empty() {
            while !near.send(&packet(next).write()).unwrap() {}
            next += 1;
            let sent_ns = monotonic_ns();
            while monotonic_ns() < sent_ns + 20_000_000 {}
            far.receive(ahead_ns, |_, arrived_ns| {
                times.push((arrived_ns, sent_ns + 10_000_000))
            })
            .unwrap();
        }
        let (arrived_ns, latest_ns) = times[0];
        assert!(arrived_ns < latest_ns, "{arrived_ns} {latest_ns}");
    }

    #[test]
    fn packets_come_whole_and_in_order_however_they_were_cut() {
        let (mut near, mut far) = connected();
        // More than the buffers of both sockets hold.
        let mut taken = 0;
        while near.send(&packet(taken).write()).unwrap() || taken == 0 {
            taken += 1;
        }
        let mut numbers = Vec::new();
        while numbers.len() < taken as usize {
            far.receive(0, |packet, _| numbers.push(packet.number))
                .unwrap();
            if taken % 2 == 1 && near.send(&packet(taken).write()).unwrap() {
                taken += 1;
            }
        }
        assert!(numbers.iter().copied().eq(0..taken));
        drop(near);
        assert!((0..1000).any(|_| far.receive(0, |_, _| ()).is_err()));
    }
}
