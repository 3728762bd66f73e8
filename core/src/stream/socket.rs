//! What the loops need of a socket: options, and how long a call may block.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The longest time for which a call blocks, so that a thread notices in time that it must stop.
pub const PATIENCE: Duration = Duration::from_millis(50);

pub fn set(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the kernel reads `value`, which lives across the call, in the length given.
    let refused = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    match refused {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Fills the start of `room` and returns what was filled.
pub fn get<'a>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    room: &'a mut [u8],
) -> io::Result<&'a [u8]> {
    let mut length = room.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `room` and says how many.
    let refused = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            room.as_mut_ptr().cast(),
            &mut length,
        )
    };
    match refused {
        0 => Ok(&room[..length as usize]),
        _ => Err(io::Error::last_os_error()),
    }
}

const SO_MEMINFO: libc::c_int = 55;
/// Places in SO_MEMINFO (include/uapi/linux/sock_diag.h).
pub const SK_MEMINFO_RMEM_ALLOC: usize = 0;
pub const SK_MEMINFO_DROPS: usize = 8;

/// One of the socket's counts of SO_MEMINFO; None where the kernel does not report it.
pub fn memory(socket: BorrowedFd<'_>, place: usize) -> Option<u32> {
    let mut room = [0u8; 64];
    let told = get(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut room).ok()?;
    let part = told.get(4 * place..4 * place + 4)?;
    part.try_into().ok().map(u32::from_ne_bytes)
}

/// Bytes of a stream that have arrived in order and were not read (tcp(7), SIOCINQ).
pub fn unread(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one int to `count`, which lives across the call.
    let refused = unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONREAD, &mut count) };
    match refused {
        0 => Ok(u64::try_from(count).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the socket block for at most `PATIENCE`.
pub fn be_patient(socket: BorrowedFd<'_>) -> io::Result<()> {
    let descriptor = socket.as_raw_fd();
    // SAFETY: fcntl with these commands takes and returns numbers.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK) } < 0
    {
        return Err(io::Error::last_os_error());
    }
    set(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &time(PATIENCE))?;
    return_after(socket, PATIENCE)
}

/// Makes a call that reads return after this time, below a second, if nothing has come.
pub fn return_after(socket: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &time(patience))
}

/// A time below a second as a `timeval`.
fn time(duration: Duration) -> [u8; 16] {
    let micros = i64::from(duration.subsec_micros());
    let mut time = [0u8; 16];
    time[8..].copy_from_slice(&micros.to_ne_bytes());
    time
}

/// True if the call was only interrupted or timed out.
pub fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
