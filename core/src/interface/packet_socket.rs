//! A raw AF_PACKET socket that is bound to one interface in one namespace.
//!
//! This file sets options and binds. It never sends or receives.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{EngineError, Result};
use crate::host::netns;
use crate::interface::place::Place;

const NO_PROTOCOL: u16 = 0;

/// Opens a socket on `place`'s interface; `arrange` sets options before it is bound.
pub fn open(
    place: &Place,
    every_frame: bool,
    arrange: impl FnOnce(&OwnedFd) -> io::Result<()> + Send,
) -> Result<OwnedFd> {
    let index = place.index()?;
    let protocol = if every_frame {
        (libc::ETH_P_ALL as u16).to_be()
    } else {
        NO_PROTOCOL
    };
    netns::within(place.namespace.as_deref(), || {
        // SAFETY: socket() touches no memory of ours.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        arrange(&socket)?;
        // SAFETY: sockaddr_ll is plain integers, for which all zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        // SAFETY: the address outlives the call and its size is given.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as u32,
            )
        };
        if bound != 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(socket)
        }
    })
    .map_err(|error| place.refusal("open a packet socket", &error))
}

/// Sets an option of level SOL_PACKET (or another) to a plain value.
pub fn set<T: Copy>(socket: &OwnedFd, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: the value outlives the call and its size is given.
    let set = unsafe {
        let size = size_of::<T>() as u32;
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size,
        )
    };
    if set != 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Sets a packet membership of the socket, which lasts until the socket is closed.
pub fn join(socket: &OwnedFd, index: u32, kind: i32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: kind as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let name = libc::PACKET_ADD_MEMBERSHIP;
    set(socket, libc::SOL_PACKET, name, membership)
}

/// Takes an error off the socket that an earlier state of its interface left there: that it was down fails the next call
/// even if it is up again.
pub fn forget_error(socket: &OwnedFd) {
    let (mut code, mut size) = (0i32, size_of::<i32>() as u32);
    // SAFETY: the kernel writes at most the size given, into a value that outlives the call.
    unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &raw mut size,
        )
    };
}

/// An error of a running trial.
pub fn failure(what: &str) -> EngineError {
    EngineError(format!("{what}: {}", io::Error::last_os_error()))
}
