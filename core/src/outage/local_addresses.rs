//! This host's addresses.

use std::io;
use std::net::IpAddr;

use crate::stamped_socket::address::from_kernel;

/// Those of this host at which it listens: all that clients may use, if it is at any.
pub fn local_addresses(at: IpAddr) -> io::Result<Vec<IpAddr>> {
    if !at.is_unspecified() {
        return Ok(vec![at]);
    }
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is written to a place that lives across the call, and freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut next) = (Vec::new(), first);
    while !next.is_null() {
        // SAFETY: an entry of the list, which is freed only below.
        let entry = unsafe { &*next };
        if !entry.ifa_addr.is_null() {
            // SAFETY: an address of the family that it names, or of one that is passed over.
            found.extend(unsafe { from_kernel(entry.ifa_addr) }.map(|address| address.ip()));
        }
        next = entry.ifa_next;
    }
    // SAFETY: as getifaddrs gave it.
    unsafe { libc::freeifaddrs(first) };
    // One that is valid on its link only would need its interface.
    found.retain(|address| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(own) => at.is_ipv6() && !own.is_unicast_link_local(),
    });
    Ok(found)
}
