//! Asks the kernel what a driver can do with XDP frames (netdev generic netlink).
//!
//! Kernels before 6.3 do not answer; then it returns an error, and the caller goes on without. Some drivers answer
//! otherwise while a program is attached.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const CTRL_ID: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
/// NETDEV_XDP_ACT_BASIC: the driver itself runs programs.
const BASIC: u64 = 1 << 0;
/// NETDEV_XDP_ACT_NDO_XMIT: frames may be redirected to the device.
const NDO_XMIT: u64 = 1 << 2;
/// struct nlmsghdr and struct genlmsghdr.
const HEADERS: usize = 16 + 4;

/// What a driver does with XDP frames now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// It runs programs by itself, not only the kernel in its place.
    pub native: bool,
    /// Frames redirected to the interface leave it.
    pub takes_frames: bool,
}

/// Must run in the interface's namespace.
pub fn of(interface: u32) -> io::Result<Features> {
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let family = ask(CTRL_ID, CTRL_CMD_GETFAMILY, &name, CTRL_ATTR_FAMILY_ID)? as u16;
    let index = attribute(NETDEV_A_DEV_IFINDEX, &interface.to_ne_bytes());
    let features = ask(
        family,
        NETDEV_CMD_DEV_GET,
        &index,
        NETDEV_A_DEV_XDP_FEATURES,
    )?;
    Ok(Features {
        native: features & BASIC != 0,
        takes_frames: features & NDO_XMIT != 0,
    })
}

/// Sends one request and returns the integer in the reply's attribute `wanted`.
fn ask(family: u16, command: u8, payload: &[u8], wanted: u16) -> io::Result<u64> {
    let mut message = Vec::with_capacity(HEADERS + payload.len());
    message.extend(((HEADERS + payload.len()) as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(payload);
    let reply = exchange(&message)?;
    let kind = reply
        .get(4..6)
        .map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind != Some(family) {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    find(reply.get(HEADERS..).unwrap_or_default(), wanted)
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}

fn exchange(message: &[u8]) -> io::Result<Vec<u8>> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket() touches no memory of ours.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut reply = vec![0; 16384];
    // SAFETY: both buffers outlive the calls and their lengths are given.
    let received = unsafe {
        if libc::send(
            socket.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            0,
        ) < 0
        {
            return Err(io::Error::last_os_error());
        }
        libc::recv(
            socket.as_raw_fd(),
            reply.as_mut_ptr().cast(),
            reply.len(),
            0,
        )
    };
    let length = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    reply.truncate(length);
    Ok(reply)
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The integer (2, 4 or 8 bytes) of the first attribute of this kind.
fn find(mut attributes: &[u8], wanted: u16) -> Option<u64> {
    while let [l0, l1, k0, k1, rest @ ..] = attributes {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1])).checked_sub(4)?;
        let value = rest.get(..length)?;
        if u16::from_ne_bytes([*k0, *k1]) == wanted {
            return match *value {
                [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
                [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
                _ => value.try_into().ok().map(u64::from_ne_bytes),
            };
        }
        attributes = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_found_behind_others_of_odd_length() {
        let mut attributes = attribute(7, b"abcde");
        attributes.extend(attribute(3, &9u64.to_ne_bytes()));
        assert_eq!(find(&attributes, 3), Some(9));
        assert_eq!(find(&attributes, 4), None);
        assert_eq!(find(&attributes[..6], 3), None);
    }
}
