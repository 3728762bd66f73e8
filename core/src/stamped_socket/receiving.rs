//! Receives one packet with everything that the kernel reports about it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::calibrated::Clock;

use super::address::KernelAddress;
use super::clocks::UserStamps;
use super::control::{Beside, Room};

/// A packet that arrived.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The payload of UDP; for raw IPv4 the packet with its header.
    pub data: Vec<u8>,
    pub source: Option<SocketAddr>,
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
    let mut control = Room::new();
    let mut name = KernelAddress::empty();
    let mut part = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // SAFETY: msghdr is integers and pointers, for which all zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut name.storage).cast();
    message.msg_namelen = name.length;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the kernel writes no more than the lengths given, into room that outlives the call.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let Ok(bytes) = usize::try_from(bytes) else {
        return match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        };
    };
    let user = UserStamps::now(clock);
    // SAFETY: as recvmsg left it, and the room is still there.
    let beside = unsafe { Beside::of(&message) };
    let packet = Packet {
        data: room[..bytes].to_vec(),
        source: (message.msg_namelen > 0).then(|| name.get()).flatten(),
        ttl: beside.ttl,
        kernel_ns: beside.kernel_ns,
        hardware_ns: beside.hardware_ns,
        user,
    };
    Ok(Some((packet, beside.dropped)))
}
