//! Receives one packet with everything that the kernel reports about it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::calibrated::Clock;

use super::clocks::UserStamps;
use super::control::Beside;

/// A packet that arrived.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The payload of UDP; for raw IPv4 the packet with its header.
    pub data: Vec<u8>,
    pub source: Option<SocketAddr>,
    /// The address of this host that it was sent to, where the socket is at any.
    pub local: Option<IpAddr>,
    pub ttl: Option<u8>,
    /// CLOCK_REALTIME, when the kernel's stack received it.
    pub kernel_ns: Option<u64>,
    /// The clock of the port's hardware.
    pub hardware_ns: Option<u64>,
    /// Taken directly after the kernel had handed over the packet.
    pub user: UserStamps,
}

/// The next packet, and the socket's count of drops if the kernel sent it; `None` if there is no packet yet.
pub fn receive(
    socket: &OwnedFd,
    clock: &mut Clock,
    room: &mut [u8],
) -> io::Result<Option<(Packet, Option<u32>)>> {
    let (socket, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    let (bytes, beside, source, user) =
        match Beside::receive(socket, room, flags, || UserStamps::now(clock)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            other => other?,
        };
    let packet = Packet {
        data: room[..bytes].to_vec(),
        source: source.get(),
        local: beside.local,
        ttl: beside.ttl,
        kernel_ns: beside.kernel_ns,
        hardware_ns: beside.hardware_ns,
        user,
    };
    Ok(Some((packet, beside.dropped)))
}
