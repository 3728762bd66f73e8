//! The loops of a TCP stream. Each iteration contains the call, two counts and a check for the end.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::pace::Pace;
use super::report::{ReceiverReport, SenderReport};
use super::send_buffer::SendBuffer;
use super::socket::again;
use super::usage::Usage;
use super::waiting::wait;

/// Sends until `stop`; `live` counts bytes meanwhile. The socket stays open in both directions.
pub fn send(
    connection: BorrowedFd<'_>,
    message_bytes: usize,
    bytes_per_second: Option<u64>,
    stop: &AtomicBool,
    live: &AtomicU64,
) -> SenderReport {
    let message = SendBuffer::new(message_bytes.max(1));
    let mut pace = bytes_per_second.map(Pace::new);
    let mut sent = SenderReport::default();
    let mut left = message.bytes();
    let begun = Usage::now();
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Some(pace) = &mut pace
            && wait(pace, start)
        {
            continue;
        }
        // SAFETY: the kernel reads `left`, which lives across the call.
        let count = unsafe {
            libc::send(
                connection.as_raw_fd(),
                left.as_ptr().cast(),
                left.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            if again(&error) {
                continue;
            }
            sent.error = Some(error.to_string());
            break;
        }
        sent.bytes += count as u64;
        sent.calls += 1;
        live.store(sent.bytes, Ordering::Relaxed);
        left = &left[count as usize..];
        if left.is_empty() {
            left = message.bytes();
        }
        if let Some(pace) = &mut pace {
            pace.sent(count as u64);
        }
    }
    (sent.elapsed_ns, sent.cpu_ns) = begun.since();
    sent
}

/// Reads until the far end has closed or until `stop`; `live` counts bytes meanwhile.
pub fn receive(
    connection: BorrowedFd<'_>,
    room_bytes: usize,
    warm_up_ns: u64,
    stop: &AtomicBool,
    live: &AtomicU64,
) -> ReceiverReport {
    let mut room = SendBuffer::new(room_bytes.max(1));
    let room = room.bytes_mut();
    let mut received = ReceiverReport::default();
    let mut first: Option<Instant> = None;
    // Bytes and time at the end of the warm-up.
    let mut settled: Option<(u64, u64)> = None;
    let begun = Usage::now();
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: the kernel writes at most `room.len()` bytes into `room`.
        let count = unsafe {
            libc::recv(
                connection.as_raw_fd(),
                room.as_mut_ptr().cast(),
                room.len(),
                0,
            )
        };
        if count == 0 {
            break;
        }
        if count < 0 {
            let error = io::Error::last_os_error();
            if again(&error) {
                continue;
            }
            received.error = Some(error.to_string());
            break;
        }
        received.bytes += count as u64;
        received.calls += 1;
        live.store(received.bytes, Ordering::Relaxed);
        let now_ns = match first {
            Some(first) => first.elapsed().as_nanos() as u64,
            None => {
                first = Some(Instant::now());
                0
            }
        };
        received.elapsed_ns = now_ns;
        if settled.is_none() && now_ns >= warm_up_ns {
            settled = Some((received.bytes, now_ns));
        }
    }
    if let Some((bytes, at_ns)) = settled {
        received.settled_bytes = received.bytes - bytes;
        received.settled_ns = received.elapsed_ns - at_ns;
    }
    received.cpu_ns = begun.since().1;
    received
}
