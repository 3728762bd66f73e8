//! Control messages of `sendmsg` and `recvmsg`, which accompany the bytes of a packet.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

use super::address::{KernelAddress, from_kernel};

/// asm-generic/socket.h, since Linux 6.13: the caller's number for the stamps of a packet.
const SCM_TS_OPT_ID: i32 = 81;
/// asm-generic/socket.h: packets that the socket had no room for.
pub const SO_RXQ_OVFL: i32 = 40;

/// Room for the control messages of one packet, aligned as they are.
#[repr(C, align(8))]
pub struct Room(pub [u8; 512]);

impl Room {
    pub fn new() -> Self {
        Room([0; 512])
    }
}

/// Writes consecutive control messages.
pub struct Writer<'a> {
    room: &'a mut Room,
    used: usize,
}

impl<'a> Writer<'a> {
    pub fn new(room: &'a mut Room) -> Self {
        Writer { room, used: 0 }
    }

    /// The packet's time to live (hop limit).
    pub fn ttl(&mut self, of_ipv6: bool, ttl: u8) {
        let value = i32::from(ttl).to_ne_bytes();
        if of_ipv6 {
            self.add(libc::SOL_IPV6, libc::IPV6_HOPLIMIT, &value);
        } else {
            self.add(libc::SOL_IP, libc::IP_TTL, &value);
        }
    }

    /// The number that the packet's stamps come back with.
    pub fn key(&mut self, key: u32) {
        self.add(libc::SOL_SOCKET, SCM_TS_OPT_ID, &key.to_ne_bytes());
    }

    /// The address that the packet leaves from; by which interface, the routes say.
    pub fn source(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => {
                // struct in_pktinfo: interface, local address, and one that only arrivals have.
                let mut value = [0; 12];
                value[4..8].copy_from_slice(&v4.octets());
                self.add(libc::SOL_IP, libc::IP_PKTINFO, &value);
            }
            IpAddr::V6(v6) => {
                // struct in6_pktinfo: local address and interface.
                let mut value = [0; 20];
                value[..16].copy_from_slice(&v6.octets());
                self.add(libc::SOL_IPV6, libc::IPV6_PKTINFO, &value);
            }
        }
    }

    /// Bytes written.
    pub fn used(&self) -> usize {
        self.used
    }

    fn add(&mut self, level: i32, kind: i32, value: &[u8]) {
        const HEADER: usize = size_of::<libc::cmsghdr>();
        // SAFETY: plain integers, for which all zero is a value; libraries of C differ in what else there is.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = (HEADER + value.len()) as _;
        header.cmsg_level = level;
        header.cmsg_type = kind;
        // SAFETY: a header is integers only, and as long as the array it is copied to.
        let bytes: [u8; HEADER] = unsafe { std::mem::transmute(header) };
        self.room.0[self.used..self.used + HEADER].copy_from_slice(&bytes);
        self.used += HEADER;
        self.room.0[self.used..self.used + value.len()].copy_from_slice(value);
        // CMSG_ALIGN: the next header begins at a multiple of a pointer's size.
        self.used += value.len().next_multiple_of(size_of::<usize>());
    }
}

/// The control messages of a packet or of an entry of the error queue.
#[derive(Default)]
pub struct Beside {
    /// The kernel's stamp in ns of CLOCK_REALTIME.
    pub kernel_ns: Option<u64>,
    /// The hardware's stamp, on the clock of the port's hardware.
    pub hardware_ns: Option<u64>,
    pub ttl: Option<u8>,
    /// The address of this host at which it arrived, of a socket that asks for it.
    pub local: Option<IpAddr>,
    /// Packets dropped since the socket was opened.
    pub dropped: Option<u32>,
    pub error: Option<(libc::sock_extended_err, Option<SocketAddr>)>,
}

impl Beside {
    /// Receives into `room`: returns the number of bytes, what came beside them, from whom they are, and what `at_return`
    /// says as soon as the kernel has returned.
    pub fn receive<T>(
        socket: RawFd,
        room: &mut [u8],
        flags: libc::c_int,
        at_return: impl FnOnce() -> T,
    ) -> io::Result<(usize, Self, KernelAddress, T)> {
        let mut control = Room::new();
        let mut from = KernelAddress::empty();
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: msghdr is integers and pointers, for which all zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = (&raw mut from.storage).cast();
        message.msg_namelen = from.length;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: the kernel writes no more than the lengths given, into room that outlives the call.
        let bytes = unsafe { libc::recvmsg(socket, &raw mut message, flags) };
        let Ok(bytes) = usize::try_from(bytes) else {
            return Err(io::Error::last_os_error());
        };
        let told = at_return();
        from.length = message.msg_namelen;
        // SAFETY: as recvmsg left it, and the room is still there.
        let beside = unsafe { Beside::of(&message) };
        Ok((bytes, beside, from, told))
    }

    /// Reads what the kernel wrote for `message`.
    ///
    /// # Safety
    /// `message` must be as `recvmsg` left it, with its control buffer still there.
    unsafe fn of(message: &libc::msghdr) -> Self {
        let mut beside = Beside::default();
        // SAFETY: the macros walk the messages that the kernel wrote; each is as long as its type.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(message);
            while !header.is_null() {
                let data = libc::CMSG_DATA(header);
                match ((*header).cmsg_level, (*header).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        let stamps = data.cast::<[libc::timespec; 3]>().read_unaligned();
                        beside.kernel_ns = in_ns(stamps[0]);
                        beside.hardware_ns = in_ns(stamps[2]);
                    }
                    (libc::SOL_SOCKET, SO_RXQ_OVFL) => {
                        beside.dropped = Some(data.cast::<u32>().read_unaligned());
                    }
                    (libc::SOL_IP, libc::IP_TTL) | (libc::SOL_IPV6, libc::IPV6_HOPLIMIT) => {
                        beside.ttl = u8::try_from(data.cast::<i32>().read_unaligned()).ok();
                    }
                    (libc::SOL_IP, libc::IP_PKTINFO) => {
                        let told = data.cast::<libc::in_pktinfo>().read_unaligned();
                        let octets = told.ipi_spec_dst.s_addr.to_ne_bytes();
                        beside.local = Some(Ipv4Addr::from(octets).into());
                    }
                    (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                        let told = data.cast::<libc::in6_pktinfo>().read_unaligned();
                        beside.local = Some(Ipv6Addr::from(told.ipi6_addr.s6_addr).into());
                    }
                    (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                        let error = data.cast::<libc::sock_extended_err>();
                        // SO_EE_OFFENDER: the address follows the error.
                        let offender = from_kernel(error.add(1).cast());
                        beside.error = Some((error.read_unaligned(), offender));
                    }
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(message, header);
            }
        }
        beside
    }
}

fn in_ns(time: libc::timespec) -> Option<u64> {
    let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    (ns > 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_laid_out_as_the_macros_read_it() {
        let mut room = Room::new();
        let mut writer = Writer::new(&mut room);
        writer.ttl(false, 7);
        writer.key(0x0102_0304);
        let used = writer.used();
        // SAFETY: msghdr is integers and pointers, for which all zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = used as _;
        // SAFETY: the room outlives the walk, and holds two whole messages.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            assert_eq!(
                ((*first).cmsg_level, (*first).cmsg_type),
                (libc::SOL_IP, libc::IP_TTL)
            );
            let second = libc::CMSG_NXTHDR(&raw const message, first);
            assert_eq!((*second).cmsg_type, SCM_TS_OPT_ID);
            assert_eq!(
                libc::CMSG_DATA(second).cast::<u32>().read_unaligned(),
                0x0102_0304
            );
            assert!(libc::CMSG_NXTHDR(&raw const message, second).is_null());
            assert_eq!(Beside::of(&message).ttl, Some(7));
        }
    }
}
