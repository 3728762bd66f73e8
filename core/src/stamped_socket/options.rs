//! How a socket is opened: its kind, its addresses, and every option that its stamps need.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::address::KernelAddress;
use super::control::SO_RXQ_OVFL;

/// Room for some ms of packets at 10 Gb/s; the kernel may grant less.
const RECEIVE_BYTES: i32 = 8 << 20;
const RECEIVE_STAMPS: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
const TRANSMIT_STAMPS: u32 = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
const REPORTED: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
const BOTH: u32 = libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Udp,
    /// Raw ICMP: needs the privilege, and receives every ICMP message of its namespace.
    Icmp,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub kind: Kind,
    /// Local address; port 0 for any.
    pub bind: SocketAddr,
    /// The only peer; `None` if each packet names its destination.
    pub connect: Option<SocketAddr>,
    pub do_not_fragment: bool,
    /// The interface's hardware stamps are on, so that those of sent packets are requested too.
    pub hardware: bool,
    /// Receive buffer that is requested from the kernel; `None`: a large one.
    pub receive_bytes: Option<i32>,
}

impl Options {
    pub fn is_ipv6(&self) -> bool {
        self.bind.is_ipv6()
    }

    /// The kernel tells at which of the host's addresses a packet arrived: an answer leaves from there.
    fn answers(&self) -> bool {
        self.kind == Kind::Udp && self.connect.is_none() && self.bind.ip().is_unspecified()
    }

    /// The socket; the error is the kernel's.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let (family, icmp) = match self.is_ipv6() {
            true => (libc::AF_INET6, libc::IPPROTO_ICMPV6),
            false => (libc::AF_INET, libc::IPPROTO_ICMP),
        };
        let (kind, protocol) = match self.kind {
            Kind::Udp => (libc::SOCK_DGRAM, libc::IPPROTO_UDP),
            Kind::Icmp => (libc::SOCK_RAW, icmp),
        };
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket() touches no memory of ours.
        let socket = match unsafe { libc::socket(family, kind | flags, protocol) } {
            ..0 => return Err(io::Error::last_os_error()),
            // SAFETY: a new descriptor that nobody else owns.
            socket => unsafe { OwnedFd::from_raw_fd(socket) },
        };
        self.configure(&socket)?;
        give_address(&socket, libc::bind, self.bind)?;
        if let Some(peer) = self.connect {
            give_address(&socket, libc::connect, peer)?;
        }
        Ok(socket)
    }

    /// Flags of SO_TIMESTAMPING.
    fn stamps(&self) -> u32 {
        let hardware = if self.hardware { BOTH } else { 0 };
        RECEIVE_STAMPS | TRANSMIT_STAMPS | REPORTED | hardware
    }

    /// Restarts the kernel's numbering of packets, which happens whenever OPT_ID is set after it was not set.
    pub fn number_from_zero(&self, socket: &OwnedFd) -> io::Result<()> {
        for flags in [0, self.stamps()] {
            set(
                socket,
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                flags as i32,
            )?;
        }
        Ok(())
    }

    fn configure(&self, socket: &OwnedFd) -> io::Result<()> {
        self.number_from_zero(socket)?;
        set(socket, libc::SOL_SOCKET, SO_RXQ_OVFL, 1)?;
        let room = self.receive_bytes.unwrap_or(RECEIVE_BYTES);
        if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room).is_err() {
            set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, room)?;
        }
        let (level, errors, ttl, discovery) = match self.is_ipv6() {
            true => (
                libc::SOL_IPV6,
                libc::IPV6_RECVERR,
                libc::IPV6_RECVHOPLIMIT,
                libc::IPV6_MTU_DISCOVER,
            ),
            false => (
                libc::SOL_IP,
                libc::IP_RECVERR,
                libc::IP_RECVTTL,
                libc::IP_MTU_DISCOVER,
            ),
        };
        set(socket, level, errors, 1)?;
        set(socket, level, ttl, 1)?;
        // Neither setting uses a path MTU that was learned before: either DF is set and the packet leaves, or it is
        // fragmented on this host.
        let discover = match self.do_not_fragment {
            true => libc::IP_PMTUDISC_PROBE,
            false => libc::IP_PMTUDISC_DONT,
        };
        set(socket, level, discovery, discover)?;
        // A raw socket is of one version.
        if self.kind == Kind::Udp && self.is_ipv6() && self.bind.ip().is_unspecified() {
            // It serves IPv4 as well, which has its own options.
            set(socket, libc::SOL_IPV6, libc::IPV6_V6ONLY, 0)?;
            set(socket, libc::SOL_IP, libc::IP_RECVTTL, 1)?;
            set(socket, libc::SOL_IP, libc::IP_MTU_DISCOVER, discover)?;
        }
        if self.answers() {
            let (level, option) = match self.is_ipv6() {
                true => (libc::SOL_IPV6, libc::IPV6_RECVPKTINFO),
                false => (libc::SOL_IP, libc::IP_PKTINFO),
            };
            set(socket, level, option, 1)?;
        }
        if self.kind == Kind::Udp {
            // Merged packets would share one stamp.
            set(socket, libc::SOL_UDP, libc::UDP_GRO, 0)?;
        }
        Ok(())
    }
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value outlives the call, and its length is given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as _,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

type AddressCall = unsafe extern "C" fn(i32, *const libc::sockaddr, libc::socklen_t) -> i32;

fn give_address(socket: &OwnedFd, call: AddressCall, address: SocketAddr) -> io::Result<()> {
    let address = KernelAddress::of(address);
    // SAFETY: bind and connect read an address of the length given, which outlives the call.
    let done = unsafe {
        call(
            socket.as_raw_fd(),
            (&raw const address.storage).cast(),
            address.length,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
