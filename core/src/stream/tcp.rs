//! The loops of a TCP stream. Each iteration contains the call, two counts and a check for the end.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::arrivals::TIGHT_NS;
use super::pace::Pace;
use super::report::{ReceiverReport, SenderReport};
use super::send_buffer::SendBuffer;
use super::socket::{SK_MEMINFO_RMEM_ALLOC, again, memory, return_after, unread};
use super::tcp_info::TcpInfo;
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

/// How often a reader that has nothing to read looks how many segments wait for one that was lost.
const LOOK: Duration = Duration::from_millis(4);

/// Reads until the far end has closed or until `stop`; `live` counts bytes meanwhile, `origin` is that of arrivals.
pub fn receive(
    connection: BorrowedFd<'_>,
    room_bytes: usize,
    origin: Instant,
    stop: &AtomicBool,
    live: &AtomicU64,
) -> ReceiverReport {
    let mut room = SendBuffer::new(room_bytes.max(1));
    let room = room.bytes_mut();
    let mut received = ReceiverReport::default();
    let mut first: Option<Instant> = None;
    let mut disordered = TcpInfo::of(connection).map_or(None, |info| info.disordered_segments);
    // Where this fails, the reader looks less often.
    let _ = return_after(connection, LOOK);
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
            // All has come, and been read: what waited for a lost segment is known, too.
            let segments = TcpInfo::of(connection).map_or(None, |info| info.received_segments);
            let now_ns = origin.elapsed().as_nanos() as u64;
            let arrivals = &mut received.arrivals;
            arrivals.note_all(now_ns, received.bytes, now_ns, segments.unwrap_or_default());
            break;
        }
        let now = Instant::now();
        if count < 0 {
            let error = io::Error::last_os_error();
            if !again(&error) {
                received.error = Some(error.to_string());
                break;
            }
        } else {
            received.bytes += count as u64;
            received.calls += 1;
            live.store(received.bytes, Ordering::Relaxed);
            received.elapsed_ns = (now - *first.get_or_insert(now)).as_nanos() as u64;
        }
        if first.is_some() && received.arrivals.due((now - origin).as_nanos() as u64) {
            note(connection, origin, &mut disordered, &mut received);
        }
    }
    received.arrivals.cut(received.bytes);
    received.cpu_ns = begun.since().1;
    received
}

/// Notes what has arrived by now: what was read, and what waits in the socket.
///
/// Segments that wait for one that was lost have arrived too, but the kernel does not say how many bytes they are. So
/// only the number of segments is noted while there are any. `disordered` is the kernel's count of segments out of
/// order when there were none: as long as it stays, none wait.
fn note(
    connection: BorrowedFd<'_>,
    origin: Instant,
    disordered: &mut Option<u32>,
    received: &mut ReceiverReport,
) {
    let before_ns = origin.elapsed().as_nanos() as u64;
    let Ok(waiting) = unread(connection) else {
        return;
    };
    let now_ns = origin.elapsed().as_nanos() as u64;
    if now_ns - before_ns > TIGHT_NS {
        return;
    }
    let Ok(info) = TcpInfo::of(connection) else {
        return;
    };
    let mut counted_ns = origin.elapsed().as_nanos() as u64;
    let (arrivals, segments) = (
        &mut received.arrivals,
        info.received_segments.unwrap_or_default(),
    );
    if info.disordered_segments != *disordered {
        let empty = waiting == 0 && memory(connection, SK_MEMINFO_RMEM_ALLOC) == Some(0);
        if !empty {
            if counted_ns - now_ns <= TIGHT_NS {
                arrivals.note_segments(counted_ns, segments);
            }
            return;
        }
        *disordered = info.disordered_segments;
        counted_ns = now_ns; // nothing has come since
    }
    arrivals.note_all(now_ns, received.bytes + waiting, counted_ns, segments);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::time::Instant;

    use super::receive;

    #[test]
    fn what_waited_in_the_socket_when_the_count_began_is_not_credited_to_the_time_after() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        let origin = Instant::now();
        // All is there before the first byte is read, as on a host that was busy, and then comes one more.
        sender.write_all(&[1; 60_000]).unwrap();
        let (stop, live) = (AtomicBool::new(false), AtomicU64::new(0));
        let received = std::thread::scope(|scope| {
            let reading = scope.spawn(|| receive(receiver.as_fd(), 1000, origin, &stop, &live));
            while live.load(std::sync::atomic::Ordering::Relaxed) < 60_000 {
                std::thread::yield_now();
            }
            sender.write_all(&[1]).unwrap();
            drop(sender);
            reading.join().unwrap()
        });
        assert_eq!(received.bytes, 60_001);
        let (bytes, _) = super::super::arrivals::in_one_window(&[&received.arrivals], 0);
        assert!(bytes[0].iter().sum::<u64>() <= 1, "{bytes:?}");
    }
}
