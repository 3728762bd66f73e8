//! `Rehearsal`: a TUN device in a namespace of its own without a name, whose packets the kernel drops at once.
//!
//! A write after a sleep takes 0.3 µs longer than one after another write, because the kernel's code for it has left
//! the caches. That would be a step in the delays of links where the thread spins for short packets and sleeps for
//! long ones. A packet written here first makes all deliveries alike. It reaches no network.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::host::netns;

use super::tun::Tun;

/// An IPv4 header without a body, to a documentation address (RFC 5737) to which no route leads.
const PACKET: [u8; 20] = [
    0x45, 0, 0, 20, 0, 0, 0, 0, 1, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
];

#[derive(Debug)]
pub struct Rehearsal {
    /// Keeps the namespace alive; the device is removed with it.
    _namespace: File,
    device: Tun,
}

impl Rehearsal {
    pub fn new() -> io::Result<Self> {
        let (namespace, device) = netns::within_a_new_one(|| {
            let device = Tun::new(None, "rehearsal")?;
            raise("rehearsal")?;
            Ok(device)
        })?;
        Ok(Rehearsal {
            _namespace: namespace,
            device,
        })
    }

    /// One packet that goes nowhere.
    pub fn write(&mut self) {
        // Whether the packet was accepted changes nothing but the cache.
        let _ = self.device.write(&PACKET);
    }
}

/// Puts a device of this namespace up.
fn raise(interface: &str) -> io::Result<()> {
    // SAFETY: socket takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: ifreq is plain bits, for which all zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the kernel reads the ifreq that it is given, which lives across the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
