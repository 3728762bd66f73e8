//! What the responder needs of its interface: the interface's addresses, and a socket that receives neighbour
//! requests.

use std::ffi::{CStr, CString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::error::Result;
use crate::host::netns;
use crate::interface::packet_socket;
use crate::interface::place::Place;

use super::message::{ADVERTISEMENT, Mac, SOLICITATION};

/// Addresses for which the kernel answers by itself.
pub struct Own {
    pub mac: Mac,
    pub ips: Vec<IpAddr>,
}

impl Own {
    pub fn of(place: &Place) -> Result<Self> {
        let name = CString::new(place.interface.as_str()).unwrap_or_default();
        netns::within(place.namespace.as_deref(), || addresses(&name))
            .map_err(|error| place.refusal("read the addresses", &error))
    }
}

fn addresses(name: &CStr) -> io::Result<Own> {
    let mut own = Own {
        mac: [0; 6],
        ips: Vec::new(),
    };
    let mut list = std::ptr::null_mut();
    // SAFETY: the kernel's list is written to `list`, and freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut at = list;
    while !at.is_null() {
        // SAFETY: an entry of the list, whose name is a string and whose address, if there is one, is of
        // the type that its family says; none is used after the list is freed.
        unsafe {
            let (entry, address) = (&*at, (*at).ifa_addr);
            if CStr::from_ptr(entry.ifa_name) == name && !address.is_null() {
                match i32::from((*address).sa_family) {
                    libc::AF_INET => {
                        let address = &*address.cast::<libc::sockaddr_in>();
                        let bytes = address.sin_addr.s_addr.to_ne_bytes();
                        own.ips.push(IpAddr::V4(Ipv4Addr::from(bytes)));
                    }
                    libc::AF_INET6 => {
                        let address = &*address.cast::<libc::sockaddr_in6>();
                        let bytes = address.sin6_addr.s6_addr;
                        own.ips.push(IpAddr::V6(Ipv6Addr::from(bytes)));
                    }
                    libc::AF_PACKET => {
                        let address = &*address.cast::<libc::sockaddr_ll>();
                        own.mac.copy_from_slice(&address.sll_addr[..6]);
                    }
                    _ => {}
                }
            }
            at = entry.ifa_next;
        }
    }
    // SAFETY: the list that getifaddrs made, of which nothing is kept.
    unsafe { libc::freeifaddrs(list) };
    Ok(own)
}

/// A socket that receives neighbour requests and answers and nothing else; with `every_mac` also those sent to other
/// MAC addresses than that of the interface.
pub fn socket(place: &Place, every_mac: bool) -> Result<OwnedFd> {
    let index = place.index()?;
    packet_socket::open(place, true, |socket| {
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        attach_filter(socket)?;
        // Solicitations go to groups that the interface itself has not joined.
        packet_socket::join(socket, index, libc::PACKET_MR_ALLMULTI)?;
        if every_mac {
            packet_socket::join(socket, index, libc::PACKET_MR_PROMISC)?;
        }
        Ok(())
    })
}

/// Receives a frame that waits, and the VLAN of its tag, which the kernel has taken out.
pub fn receive(socket: &OwnedFd, frame: &mut [u8]) -> Option<(usize, Option<u16>)> {
    /// Room for a `tpacket_auxdata` with its header.
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: frame.as_mut_ptr().cast(),
        iov_len: frame.len(),
    };
    // SAFETY: all its fields may be zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the kernel writes at most the lengths that are given, of memory that outlives the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).ok()?;
    let mut vlan = None;
    // SAFETY: headers and data are within the control memory, as the kernel's lengths say.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const message);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_PACKET && (*at).cmsg_type == libc::PACKET_AUXDATA {
                let data = libc::CMSG_DATA(at).cast::<libc::tpacket_auxdata>();
                let told = std::ptr::read_unaligned(data);
                let number = told.tp_vlan_tci & 0x0FFF;
                // Number 0 is a priority only (IEEE 802.1Q §9.6).
                if told.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && number != 0 {
                    vlan = Some(number);
                }
            }
            at = libc::CMSG_NXTHDR(&raw const message, at);
        }
    }
    Some((length, vlan))
}

/// Attaches a filter that accepts ARP and neighbour discovery only, so that a test frame costs one run of the filter
/// and wakes no thread. A tag is not in the frame that it sees, but beside it.
fn attach_filter(socket: &OwnedFd) -> io::Result<()> {
    const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const ETHERTYPE: u32 = 12;
    const NEXT_HEADER: u32 = 20;
    const KIND: u32 = 54;
    const ICMPV6: u32 = libc::IPPROTO_ICMPV6 as u32;
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut program = [
        step(LOAD_HALF, ETHERTYPE, 0, 0),
        step(EQUAL, libc::ETH_P_ARP as u32, 7, 0),
        step(EQUAL, libc::ETH_P_IPV6 as u32, 0, 5),
        step(LOAD_BYTE, NEXT_HEADER, 0, 0),
        step(EQUAL, ICMPV6, 0, 3),
        step(LOAD_BYTE, KIND, 0, 0),
        step(EQUAL, u32::from(SOLICITATION), 2, 0),
        step(EQUAL, u32::from(ADVERTISEMENT), 1, 0),
        step(RETURN, 0, 0, 0),
        step(RETURN, u32::MAX, 0, 0),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program during the call, for which `program` lives.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of_val(&filter) as u32,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
