//! What the sockets of an interface must fit: its receive queues and its MTU. It only reads.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// linux/ethtool.h
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// Receive queues and MTU in bytes of an interface; must run in its namespace.
pub fn queues_and_mtu(interface: &str) -> io::Result<(u32, u32)> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: socket() touches no memory of ours.
    let socket = match unsafe { libc::socket(libc::AF_INET, kind, 0) } {
        ..0 => return Err(io::Error::last_os_error()),
        // SAFETY: a new descriptor that nobody else owns.
        socket => unsafe { OwnedFd::from_raw_fd(socket) },
    };
    // SAFETY: ifreq is plain integers and pointers, for which all zero is a value.
    let mut message: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = message.ifr_name.len() - 1;
    for (to, from) in message
        .ifr_name
        .iter_mut()
        .zip(interface.bytes().take(room))
    {
        *to = from as libc::c_char;
    }
    ask(&socket, libc::SIOCGIFMTU, &mut message)?;
    // SAFETY: the request filled this member of the union.
    let mtu = unsafe { message.ifr_ifru.ifru_mtu } as u32;
    let mut channels = Channels {
        command: ETHTOOL_GCHANNELS,
        ..Channels::default()
    };
    message.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // A driver that does not tell has one queue.
    let queues = match ask(&socket, libc::SIOCETHTOOL, &mut message) {
        Ok(()) => channels.receive + channels.combined,
        Err(_) => 1,
    };
    Ok((queues.max(1), mtu))
}

fn ask(socket: &OwnedFd, request: libc::Ioctl, message: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the message, and what it points to, outlive the call; the kernel writes no more than they hold.
    match unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut *message) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_does_not_tell_has_one_queue() {
        let (queues, mtu) = queues_and_mtu("lo").expect("the loopback interface");
        assert_eq!(queues, 1);
        assert!(mtu >= 1280);
        assert!(queues_and_mtu("nowhere0").is_err());
    }
}
