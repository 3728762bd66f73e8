//! An interface where no frame ever arrives, to which a program is attached that only calls run.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

use crate::host::netns;

const LOOPBACK: u32 = 1;

/// The interface exists as long as this does.
pub struct DeadEnd {
    _kept: File,
}

impl DeadEnd {
    /// Makes one and calls `attach` with its index, in its namespace.
    ///
    /// It is the loopback interface of a namespace of its own. A user who may make no namespace (CAP_SYS_ADMIN) gets a
    /// tap device in this one instead, which is down, so that nothing is sent there.
    pub fn with(attach: impl Fn(u32) -> io::Result<()> + Send + Sync) -> io::Result<Self> {
        match netns::within_a_new_one(|| attach(LOOPBACK)) {
            Ok((namespace, ())) => Ok(Self { _kept: namespace }),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                let (tap, index) = tap()?;
                attach(index)?;
                Ok(Self { _kept: tap })
            }
            Err(error) => Err(error),
        }
    }
}

/// A tap device that the kernel names and removes with the file; and its index.
fn tap() -> io::Result<(File, u32)> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(|error| {
            io::Error::other(format!(
                "{error} at /dev/net/tun; make it readable and writable for this user (mode 0666), or run as root"
            ))
        })?;
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes the ifreq, which outlives the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has written a name that ends with a zero.
    match unsafe { libc::if_nametoindex(request.ifr_name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok((file, index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_device_is_there_until_its_file_is_closed() {
        let Ok((file, index)) = tap() else {
            eprintln!("skipped: this user may make no tap device");
            return;
        };
        let mut name = [0 as libc::c_char; libc::IF_NAMESIZE];
        // SAFETY: the buffer has the size that the call wants.
        let named = |name: &mut [libc::c_char]| unsafe {
            !libc::if_indextoname(index, name.as_mut_ptr()).is_null()
        };
        assert!(named(&mut name));
        drop(file);
        assert!(!named(&mut name));
    }
}
