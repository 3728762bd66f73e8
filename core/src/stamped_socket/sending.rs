//! Sends packets back-to-back and prepares everything beforehand.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::{io, ptr};

use super::address::KernelAddress;
use super::clocks::UserStamps;
use super::control::{Room, Writer};

/// A packet to be sent.
pub struct Outgoing<'a> {
    pub data: &'a [u8],
    /// `None`: the peer of the socket.
    pub destination: Option<SocketAddr>,
    /// `None`: the host's default.
    pub ttl: Option<u8>,
}

/// What became of a packet.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Number of the packet in the socket, from 0, including refused packets.
    pub id: u64,
    /// Taken directly before the call.
    pub user: UserStamps,
    pub kernel_ns: Option<u64>,
    pub hardware_ns: Option<u64>,
    /// Why it was not sent.
    pub error: Option<String>,
}

/// A packet that is ready for the kernel, so that sending costs one call only.
pub struct Prepared<'a> {
    part: libc::iovec,
    address: Option<KernelAddress>,
    source: Option<IpAddr>,
    packet: &'a Outgoing<'a>,
    of_ipv6: bool,
}

fn is_mapped(address: SocketAddr) -> bool {
    address.is_ipv6() && address.ip().to_canonical().is_ipv4()
}

impl<'a> Prepared<'a> {
    /// `source`: the address that it leaves from; `None`: the kernel chooses one.
    pub fn new(packet: &'a Outgoing<'a>, source: Option<IpAddr>, of_ipv6: bool) -> Self {
        Prepared {
            part: libc::iovec {
                iov_base: packet.data.as_ptr().cast_mut().cast(),
                iov_len: packet.data.len(),
            },
            address: packet.destination.map(KernelAddress::of),
            source,
            packet,
            // A socket of both versions sends IPv4 with IPv4's options alone.
            of_ipv6: of_ipv6 && !packet.destination.is_some_and(is_mapped),
        }
    }

    /// Hands the packet to the kernel, with a number for its stamps if the kernel accepts one.
    #[inline]
    pub fn send(&mut self, socket: &OwnedFd, key: Option<u32>) -> io::Result<()> {
        let mut room = Room::new();
        let mut writer = Writer::new(&mut room);
        if let Some(ttl) = self.packet.ttl {
            writer.ttl(self.of_ipv6, ttl);
        }
        if let Some(key) = key {
            writer.key(key);
        }
        if let Some(source) = self.source {
            writer.source(source);
        }
        let used = writer.used();
        // SAFETY: msghdr is integers and pointers, for which all zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        if let Some(address) = &mut self.address {
            message.msg_name = (&raw mut address.storage).cast();
            message.msg_namelen = address.length;
        }
        message.msg_iov = &raw mut self.part;
        message.msg_iovlen = 1;
        message.msg_control = if used > 0 {
            room.0.as_mut_ptr().cast()
        } else {
            ptr::null_mut()
        };
        message.msg_controllen = used as _;
        // SAFETY: data, address and control messages outlive the call, and the kernel only reads them.
        match unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) } {
            ..0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// True if `error` may come from an ICMP error about an earlier packet, which the kernel reports to the next call
/// that sends.
pub fn is_of_an_earlier_packet(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::EOPNOTSUPP
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EACCES
                | libc::EMSGSIZE
        )
    )
}
