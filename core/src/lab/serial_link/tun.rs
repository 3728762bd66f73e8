//! `Tun`: a TUN device that lives as long as its descriptor. It carries IP packets without an Ethernet header.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::host::netns;

/// The largest packet that a TUN device can hand over.
pub const MOST_BYTES: usize = 65_535;

#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Creates the device `interface` in the namespace at `namespace` (None: the own one); the device must not exist.
    pub fn new(namespace: Option<&str>, interface: &str) -> io::Result<Self> {
        netns::within(namespace, || make(interface))
    }

    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The bytes of the next packet, None if there is none now.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the kernel, which has forwarded it when this returns.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        self.file.write(packet).map(|_| ())
    }
}

fn make(interface: &str) -> io::Result<Tun> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let name = CString::new(interface)?;
    let bytes = name.as_bytes_with_nul();
    if bytes.len() > libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    // SAFETY: ifreq is plain bits, for which all zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags =
        (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
    // SAFETY: the kernel reads and writes the ifreq that it is given, which lives across the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Tun { file })
}
