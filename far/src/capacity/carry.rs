//! Carries out one end of a test on a connected socket, in the calling thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keisoku::host::affinity::sleep_precisely;
use keisoku::host::kernel_clock::{monotonic_ns, read};
use keisoku::stream::socket::set;
use keisoku::transaction::stamped::receive;
use socket2::Socket;

use super::end::End;
use crate::stream::flows::set_buffers;
use crate::two_ended::sockets::is_readable;

/// Buffers for bursts.
const BUFFER_BYTES: u32 = 4 << 20;
const LONGEST: usize = 9216;
/// For so long arrivals are read, before a status that is due leaves.
const READING_NS: u64 = 20_000_000;
/// How often a sender looks for statuses: each look costs as much as a datagram.
const RARE_NS: u64 = 1_000_000;
/// Shorter times are slept: `poll` counts in ms.
const POLLED_NS: u64 = 1_500_000;
const AT_MOST_NS: u64 = 100_000_000;

/// To be called before anything can arrive.
pub fn prepare(socket: &Socket) -> io::Result<()> {
    set_buffers(socket.as_fd(), BUFFER_BYTES)?;
    let stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &stamps.to_ne_bytes(),
    )
}

/// What turns the monotonic clock's readings into time of day.
pub fn wall_ns() -> i128 {
    i128::from(read(libc::CLOCK_REALTIME)) - i128::from(monotonic_ns())
}

/// Until the test is over, or `stopped`. Fails if the socket does for good.
pub fn carry_out(end: &mut dyn End, socket: &Socket, stopped: &AtomicBool) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    sleep_precisely();
    let (since_ns, mut now_ns, mut read_ns) = (wall_ns(), 0, 0);
    let mut room = vec![0; LONGEST];
    while !end.common().over && !stopped.load(Ordering::Relaxed) {
        let mut anything = false;
        if !end.sends() || now_ns >= read_ns + RARE_NS {
            // First, as what came while this thread was held up came before what leaves now.
            anything = received(end, socket, since_ns, &mut room)?;
            read_ns = now_ns;
        }
        now_ns = monotonic_ns();
        if end.common().over {
            break;
        }
        if now_ns >= end.due_ns() {
            let mut failure = None;
            end.leave(now_ns, &mut |data| sent(socket, data, &mut failure));
            if let Some(error) = failure {
                return Err(error);
            }
        } else if !anything {
            wait(socket, (end.due_ns() - now_ns).min(AT_MOST_NS));
        }
    }
    Ok(())
}

/// Whether this host had room for it. A refused port is the client's, which may not be there yet or any more; the silence ends the
/// test.
fn sent(socket: &Socket, data: &[u8], failure: &mut Option<io::Error>) -> bool {
    match socket.send(data) {
        Ok(_) => true,
        Err(error) => match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => true,
            Some(libc::EAGAIN | libc::ENOBUFS) => false,
            _ => {
                *failure = Some(error);
                false
            }
        },
    }
}

/// What has arrived, at the time at which the kernel had it; whether there was any. A sender reads one, as statuses are few, and a
/// receiver all, but goes on to its status after a while even if more and more comes.
fn received(
    end: &mut dyn End,
    socket: &Socket,
    since_ns: i128,
    room: &mut [u8],
) -> io::Result<bool> {
    let until_ns = monotonic_ns() + READING_NS;
    let mut any = false;
    while !end.common().over {
        let came = match receive(socket.as_raw_fd(), room) {
            Ok(came) => came,
            Err(error) => match error.raw_os_error() {
                Some(libc::ECONNREFUSED | libc::EINTR) => continue,
                Some(libc::EAGAIN) => return Ok(any),
                _ => return Err(error),
            },
        };
        any = true;
        let now_ns = monotonic_ns();
        let stamp_ns = came
            .stamp
            .and_then(|stamp| u64::try_from(i128::from(stamp) - since_ns).ok());
        end.arrived(
            stamp_ns.map_or(now_ns, |stamp_ns| stamp_ns.min(now_ns)),
            &room[..came.count],
        );
        if end.sends() || now_ns >= until_ns {
            break;
        }
    }
    Ok(any)
}

fn wait(socket: &Socket, left_ns: u64) {
    if left_ns < POLLED_NS {
        std::thread::sleep(Duration::from_nanos(left_ns));
    } else {
        is_readable(socket, Duration::from_millis(left_ns / 1_000_000));
    }
}
