//! What the kernel says by rtnetlink(7) of routes and queues, in the calling thread's namespace. It changes nothing.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const HEADER: usize = 16;
const ROUTE_BYTES: usize = 12;
const QUEUE_BYTES: usize = 20;
const MAIN_TABLE: u8 = 254;
const UNICAST: u8 = 1;
const ROOT: u32 = 0xFFFF_FFFF;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const ROOM: usize = 1 << 16;

/// The number of the interface by which an address is reached; `None` if there is no route.
pub fn interface_towards(address: IpAddr) -> Option<u32> {
    let (family, octets) = match address {
        IpAddr::V4(v4) => (libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6, v6.octets().to_vec()),
    };
    let mut body = vec![0; ROUTE_BYTES];
    (body[0], body[1]) = (family as u8, 8 * octets.len() as u8);
    body.extend(((4 + octets.len()) as u16).to_ne_bytes());
    body.extend(RTA_DST.to_ne_bytes());
    body.extend(octets);
    let answers = ask(libc::RTM_GETROUTE, false, &body).ok()?;
    answers
        .iter()
        .find_map(|one| outgoing(one.get(ROUTE_BYTES..)?))
}

/// Numbers of interfaces over which a default route of the main table leads.
pub fn default_routes() -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut body = vec![0; ROUTE_BYTES];
        body[0] = family as u8;
        for route in ask(libc::RTM_GETROUTE, true, &body)? {
            // rtm_dst_len, rtm_table and rtm_type of struct rtmsg.
            let leads = matches!(
                route.as_slice(),
                [_, 0, _, _, MAIN_TABLE, _, _, UNICAST, ..]
            );
            if leads && let Some(attributes) = route.get(ROUTE_BYTES..) {
                found.extend(outgoing(attributes));
            }
        }
    }
    Ok(found)
}

/// Bytes a second of the token bucket that is the whole queue of an interface; `None` where there is none.
pub fn token_bucket(interface: u32) -> Option<u32> {
    let queues = ask(libc::RTM_GETQDISC, true, &[0; QUEUE_BYTES]).ok()?;
    queues.iter().find_map(|queue| {
        let word = |at: usize| Some(u32::from_ne_bytes(queue.get(at..at + 4)?.try_into().ok()?));
        // tcm_ifindex and tcm_parent of struct tcmsg.
        if word(4)? != interface || word(12)? != ROOT {
            return None;
        }
        let attributes = queue.get(QUEUE_BYTES..)?;
        if attribute(attributes, TCA_KIND)? != b"tbf\0" {
            return None;
        }
        let parameters = attribute(attribute(attributes, TCA_OPTIONS)?, TCA_TBF_PARMS)?;
        // struct tc_tbf_qopt begins with a tc_ratespec, whose last word is the rate.
        Some(u32::from_ne_bytes(parameters.get(8..12)?.try_into().ok()?))
    })
}

fn outgoing(attributes: &[u8]) -> Option<u32> {
    let value = attribute(attributes, RTA_OIF)?;
    Some(u32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
}

/// The value of an attribute among others.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let [a, b, c, d, ..] = *bytes {
        let (length, kind) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
        let length = usize::from(length);
        let value = bytes.get(4..length)?;
        // The two highest bits say that it is nested, and its order of bytes.
        if kind & 0x3FFF == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The bodies of all answers to one request.
fn ask(kind: u16, all: bool, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    // SAFETY: socket() touches no memory of ours.
    let made = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(made) };
    let flags = libc::NLM_F_REQUEST | if all { libc::NLM_F_DUMP } else { 0 };
    let mut request = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend((flags as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    // SAFETY: the kernel reads the request, which lives across the call, in its length.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut room) = (Vec::new(), vec![0u8; ROOM]);
    loop {
        // SAFETY: the kernel writes at most the length of the room.
        let count =
            unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), 0) };
        let Ok(count) = usize::try_from(count) else {
            return Err(io::Error::last_os_error());
        };
        let mut rest = &room[..count];
        while rest.len() >= HEADER {
            let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let (kind, flags) = (
                u16::from_ne_bytes([rest[4], rest[5]]),
                u16::from_ne_bytes([rest[6], rest[7]]),
            );
            let Some(message) = rest.get(HEADER..length) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(found),
                libc::NLMSG_ERROR => {
                    let number = message.get(..4).map_or(0, |word| {
                        i32::from_ne_bytes([word[0], word[1], word[2], word[3]])
                    });
                    return Err(io::Error::from_raw_os_error(-number));
                }
                _ => found.push(message.to_vec()),
            }
            if i32::from(flags) & libc::NLM_F_MULTI == 0 {
                return Ok(found);
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_loopback_is_reached_by_the_first_interface_and_has_no_token_bucket() {
        let found = interface_towards("127.0.0.1".parse().unwrap());
        assert_eq!(found, Some(1));
        assert_eq!(token_bucket(1), None);
        assert!(!default_routes().unwrap().contains(&1));
    }

    proptest! {
        #[test]
        fn attributes_are_never_read_beyond_their_end(bytes in prop::collection::vec(any::<u8>(), 0..64), kind in 0u16..8) {
            if let Some(value) = attribute(&bytes, kind) {
                prop_assert!(value.len() + 4 <= bytes.len());
            }
        }
    }
}
