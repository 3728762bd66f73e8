//! Socket addresses in the form of the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Room for an address of either family, and the number of bytes in use.
#[derive(Clone, Copy)]
pub struct KernelAddress {
    pub storage: libc::sockaddr_storage,
    pub length: libc::socklen_t,
}

impl KernelAddress {
    /// Room for the kernel to fill.
    pub fn empty() -> Self {
        KernelAddress {
            // SAFETY: plain integers, for which all zero is a value (AF_UNSPEC).
            storage: unsafe { std::mem::zeroed() },
            length: size_of::<libc::sockaddr_storage>() as _,
        }
    }

    pub fn of(address: SocketAddr) -> Self {
        let mut made = KernelAddress::empty();
        match address {
            SocketAddr::V4(v4) => {
                let value = libc::sockaddr_in {
                    sin_family: libc::AF_INET as _,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from_ne_bytes(v4.ip().octets()),
                    },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is larger than, and aligned for, every address.
                unsafe {
                    (&raw mut made.storage)
                        .cast::<libc::sockaddr_in>()
                        .write(value)
                };
                made.length = size_of::<libc::sockaddr_in>() as _;
            }
            SocketAddr::V6(v6) => {
                let value = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as _,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr {
                        s6_addr: v6.ip().octets(),
                    },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe {
                    (&raw mut made.storage)
                        .cast::<libc::sockaddr_in6>()
                        .write(value)
                };
                made.length = size_of::<libc::sockaddr_in6>() as _;
            }
        }
        made
    }

    pub fn get(&self) -> Option<SocketAddr> {
        // SAFETY: storage holds a whole address of the family that it names.
        unsafe { from_kernel((&raw const self.storage).cast()) }
    }
}

/// # Safety
/// `address` must point to a whole socket address of the family that it names.
pub unsafe fn from_kernel(address: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: the caller's promise.
    unsafe {
        match i32::from((&raw const (*address).sa_family).read_unaligned()) {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernels_form() {
        for text in ["192.0.2.7:862", "[2001:db8::9]:65535", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(KernelAddress::of(address).get(), Some(address));
        }
        assert_eq!(KernelAddress::empty().get(), None);
    }
}
