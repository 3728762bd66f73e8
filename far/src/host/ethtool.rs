//! The ethtool ioctl, and the ioctls of an interface's MTU, in the calling thread's namespace.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SIOCETHTOOL: u32 = 0x8946;
const GET_SETTINGS: u32 = 0x01;
const GET_DRIVER: u32 = 0x03;

/// An offload: its name in settings, and the commands that read and set it (linux/ethtool.h).
pub const OFFLOADS: [(&str, u32, u32); 3] = [
    ("tso", 0x1E, 0x1F),
    ("gso", 0x23, 0x24),
    ("gro", 0x2B, 0x2C),
];

/// The name of an interface by its number.
pub fn name_of(index: u32) -> Option<String> {
    let mut room = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the room has the length that the call asks for.
    let found = unsafe { libc::if_indextoname(index, room.as_mut_ptr().cast()) };
    if found.is_null() {
        return None;
    }
    let end = room.iter().position(|byte| *byte == 0)?;
    String::from_utf8(room[..end].to_vec()).ok()
}

/// The driver's name; `None` where there is none.
pub fn driver(interface: &str) -> Option<String> {
    // struct ethtool_drvinfo
    let mut answer = [0u32; 49];
    answer[0] = GET_DRIVER;
    ethtool(interface, &mut answer).ok()?;
    let bytes: Vec<u8> = answer[1..9]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// The rate of the line in bit/s; `None` where there is no line, or it is down.
pub fn speed_bps(interface: &str) -> Option<u64> {
    // struct ethtool_cmd, whose speed in Mb/s is in two halves: 16 bits behind three words, and 16 behind 28 bytes.
    let mut answer = [0u32; 11];
    answer[0] = GET_SETTINGS;
    ethtool(interface, &mut answer).ok()?;
    let half = |at: usize| {
        let bytes = answer[at / 4].to_ne_bytes();
        u32::from(u16::from_ne_bytes([bytes[at % 4], bytes[at % 4 + 1]]))
    };
    let mbps = half(28) << 16 | half(12);
    (!matches!(mbps, 0 | 0xFFFF | 0xFFFF_FFFF)).then(|| u64::from(mbps) * 1_000_000)
}

/// Whether an offload is on; `None` where the interface has none such.
pub fn offload(interface: &str, command: u32) -> Option<bool> {
    let mut answer = [command, 0];
    ethtool(interface, &mut answer).ok()?;
    Some(answer[1] != 0)
}

pub fn set_offload(interface: &str, command: u32, on: bool) -> io::Result<()> {
    ethtool(interface, &mut [command, u32::from(on)])
}

pub fn mtu(interface: &str) -> io::Result<i32> {
    let mut request = request(interface)?;
    call(libc::SIOCGIFMTU as u32, &mut request)?;
    // SAFETY: the kernel filled this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

pub fn set_mtu(interface: &str, bytes: i32) -> io::Result<()> {
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_mtu = bytes;
    call(libc::SIOCSIFMTU as u32, &mut request)
}

fn ethtool(interface: &str, argument: &mut [u32]) -> io::Result<()> {
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
    call(SIOCETHTOOL, &mut request)
}

fn request(interface: &str) -> io::Result<libc::ifreq> {
    let name = CString::new(interface)?;
    // SAFETY: ifreq is plain integers and pointers, for which all zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request
        .ifr_name
        .iter_mut()
        .zip(name.as_bytes().iter().take(room))
    {
        *to = *from as libc::c_char;
    }
    Ok(request)
}

fn call(number: u32, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: socket() touches no memory of ours.
    let made = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just made and belongs to nobody else.
    let control = unsafe { OwnedFd::from_raw_fd(made) };
    // SAFETY: the request, and what it points to, live across the call and are as long as their command asks for.
    match unsafe {
        libc::ioctl(
            control.as_raw_fd(),
            number as _,
            std::ptr::from_mut(request),
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
