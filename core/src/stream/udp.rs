//! The loops of a UDP flow. Each datagram begins with the token of the flow and its own number, so that every
//! datagram is accounted for.
//!
//! With segmentation offload the kernel gets many datagrams in one call (UDP_SEGMENT, UDP_GRO: udp(7)).

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::account::tracking::Tracker;

use super::pace::Pace;
use super::report::{Datagrams, ReceiverReport, SenderReport};
use super::send_buffer::SendBuffer;
use super::socket::{SK_MEMINFO_DROPS, again, memory, set};
use super::usage::Usage;
use super::waiting::wait;

/// Bytes of the token and the number.
pub const HEADER_BYTES: usize = 16;
/// Payload of the longest IPv4 datagram.
pub const MOST_BYTES: usize = 65_507;

const GREETING: &[u8] = b"keisoku\n";
const GREETING_BYTES: usize = 20;
const SOL_UDP: libc::c_int = 17;
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;
/// Buffers received in one call.
const BATCH: usize = 32;
const BUFFER_BYTES: usize = 1 << 16;

/// Sends datagrams of `message_bytes` until `stop`, `segments` in a call.
pub fn send(
    socket: BorrowedFd<'_>,
    token: u64,
    message_bytes: usize,
    segments: usize,
    bytes_per_second: Option<u64>,
    stop: &AtomicBool,
    live: &AtomicU64,
) -> SenderReport {
    let size = message_bytes.clamp(HEADER_BYTES, MOST_BYTES);
    let segments = segments.clamp(1, MOST_BYTES / size);
    let mut sent = SenderReport::default();
    if segments > 1 {
        let segment = (size as libc::c_int).to_ne_bytes();
        if let Err(error) = set(socket, SOL_UDP, UDP_SEGMENT, &segment) {
            sent.error = Some(format!("the kernel refuses segmentation offload: {error}"));
            return sent;
        }
    }
    let mut message = SendBuffer::new(size * segments);
    for datagram in message.bytes_mut().chunks_exact_mut(size) {
        datagram[..8].copy_from_slice(&token.to_be_bytes());
    }
    let mut pace = bytes_per_second.map(Pace::new);
    let begun = Usage::now();
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Some(pace) = &mut pace
            && wait(pace, start)
        {
            continue;
        }
        for (number, datagram) in (sent.datagrams..).zip(message.bytes_mut().chunks_exact_mut(size))
        {
            datagram[8..HEADER_BYTES].copy_from_slice(&number.to_be_bytes());
        }
        let bytes = message.bytes();
        // SAFETY: the kernel reads `bytes`, which lives across the call.
        let count = unsafe {
            libc::send(
                socket.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() == Some(libc::ENOBUFS) {
                sent.refused += 1;
                continue;
            }
            if again(&error) {
                continue;
            }
            sent.error = Some(error.to_string());
            break;
        }
        sent.calls += 1;
        sent.datagrams += segments as u64;
        sent.bytes += count as u64;
        live.store(sent.bytes, Ordering::Relaxed);
        if let Some(pace) = &mut pace {
            pace.sent(count as u64);
        }
    }
    (sent.elapsed_ns, sent.cpu_ns) = begun.since();
    sent
}

/// How a receiver learns that no more datagrams will be sent.
pub struct Ending {
    /// Datagrams offered; `u64::MAX` while that is not known.
    pub offered: AtomicU64,
    /// Once `offered` is known: how long nothing must arrive, in ns.
    pub quiet_ns: AtomicU64,
}

impl Ending {
    pub fn unknown() -> Self {
        Ending {
            offered: AtomicU64::new(u64::MAX),
            quiet_ns: AtomicU64::new(0),
        }
    }
}

/// Prepares a socket to receive, before anything is sent. Returns its drops so far, which do not count.
pub fn prepare(socket: BorrowedFd<'_>, offload: bool) -> io::Result<u64> {
    set(socket, SOL_UDP, UDP_GRO, &i32::from(offload).to_ne_bytes())?;
    set(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPNS,
        &1i32.to_ne_bytes(),
    )?;
    Ok(drops(socket))
}

/// Receives datagrams until all that were offered have arrived, until no more arrive, or until `stop`.
pub fn receive(
    socket: BorrowedFd<'_>,
    token: u64,
    drops_before: u64,
    ending: &Ending,
    origin: Instant,
    stop: &AtomicBool,
    live: &AtomicU64,
) -> ReceiverReport {
    let mut taker = Batch::new();
    let mut tracker = Tracker::new(0, u64::MAX);
    let mut received = ReceiverReport::default();
    let (mut buffers, mut most_in_buffer) = (0, 1);
    let mut first_ns: Option<u64> = None;
    let mut last = (0, 0);
    let mut latest = Instant::now();
    let begun = Usage::now();
    while !stop.load(Ordering::Relaxed) {
        // Only a socket that was found empty is quiet: after an interruption of the thread it is full.
        let mut empty = false;
        match taker.take(socket) {
            Ok(count) => {
                latest = Instant::now();
                received.calls += 1;
                buffers += count as u64;
                let now_ns = (latest - origin).as_nanos() as u64;
                let now_of_stamps_ns = now_of_stamps_ns();
                let before = received.bytes;
                for (bytes, segment, stamp_ns) in taker.buffers(count) {
                    let bytes_before = received.bytes;
                    let segment = segment.unwrap_or(bytes.len()).max(1);
                    most_in_buffer = most_in_buffer.max(bytes.len().div_ceil(segment) as u64);
                    for datagram in bytes.chunks(segment) {
                        match number_of(datagram, token) {
                            Some(number) => {
                                tracker.arrive(number, 0, 0);
                                received.bytes += datagram.len() as u64;
                            }
                            // A greeting that was repeated before the far end was heard.
                            None if is_greeting(datagram, token) => {}
                            None => tracker.foreign(),
                        }
                    }
                    if received.bytes > bytes_before {
                        // It arrived before it was read, by the age of its stamp.
                        let age_ns = stamp_ns.map_or(0, |at| now_of_stamps_ns.saturating_sub(at));
                        last = (now_ns.saturating_sub(age_ns), received.bytes);
                        if first_ns.is_none() {
                            first_ns = Some(last.0);
                            received.arrivals.note(last.0, last.1);
                        }
                    }
                }
                if received.bytes > before {
                    live.store(received.bytes, Ordering::Relaxed);
                    if received.arrivals.due(last.0) {
                        received.arrivals.note(last.0, last.1);
                    }
                }
            }
            Err(error) if again(&error) => empty = true,
            // An ICMP error about a datagram that this end sent says nothing about arrivals.
            Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => {}
            Err(error) => {
                received.error = Some(error.to_string());
                break;
            }
        }
        let offered = ending.offered.load(Ordering::Acquire);
        let quiet = Duration::from_nanos(ending.quiet_ns.load(Ordering::Acquire));
        if offered != u64::MAX
            && (tracker.forwarded_frames() >= offered || (empty && latest.elapsed() >= quiet))
        {
            break;
        }
    }
    received.arrivals.note(last.0, last.1);
    received.elapsed_ns = first_ns.map_or(0, |first_ns| last.0.saturating_sub(first_ns));
    received.cpu_ns = begun.since().1;
    let offered = match ending.offered.load(Ordering::Acquire) {
        u64::MAX => tracker.expected(),
        offered => offered,
    };
    // The number of datagrams that the far end reports and the numbers in its datagrams should agree; if they do not,
    // more arrived than was sent.
    let counted = tracker.finish(offered);
    received.datagrams = Some(Datagrams {
        came: counted.received_frames,
        arrived: counted.forwarded_frames,
        lost: counted.lost_frames,
        duplicated: counted.duplicated.count,
        reordered: counted.reordered.count,
        foreign: counted.foreign_frames,
        socket_drops: drops(socket).saturating_sub(drops_before),
        buffers,
        most_in_buffer,
    });
    received
}

fn number_of(datagram: &[u8], token: u64) -> Option<u64> {
    let (head, _) = datagram.split_at_checked(HEADER_BYTES)?;
    let (mine, number) = head.split_at(8);
    (mine == token.to_be_bytes())
        .then(|| number.try_into().ok().map(u64::from_be_bytes))
        .flatten()
}

/// True for the datagram that opens a flow (HELLO in `keisoku/subjects/stream/session.py`).
fn is_greeting(datagram: &[u8], token: u64) -> bool {
    datagram.len() == GREETING_BYTES
        && datagram.starts_with(GREETING)
        && datagram[8..16] == token.to_be_bytes()
}

/// Buffers for which the socket had no room since it was opened. SO_RXQ_OVFL reports the same beside a datagram; this
/// works also when no more datagrams arrive.
fn drops(socket: BorrowedFd<'_>) -> u64 {
    memory(socket, SK_MEMINFO_DROPS).map_or(0, u64::from)
}

/// Now, by the clock of the kernel's stamps of arrivals.
fn now_of_stamps_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

/// Room for many buffers, filled by one call.
struct Batch {
    rooms: Vec<Box<[u8]>>,
    controls: Vec<[u64; 8]>,
    lengths: Vec<(usize, Option<usize>, Option<u64>)>,
}

impl Batch {
    fn new() -> Self {
        Batch {
            rooms: (0..BATCH)
                .map(|_| vec![0; BUFFER_BYTES].into_boxed_slice())
                .collect(),
            controls: vec![[0; 8]; BATCH],
            lengths: Vec::with_capacity(BATCH),
        }
    }

    /// Waits for a first buffer and receives all others that are available.
    fn take(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut parts: Vec<libc::iovec> = self
            .rooms
            .iter_mut()
            .map(|room| libc::iovec {
                iov_base: room.as_mut_ptr().cast(),
                iov_len: room.len(),
            })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .zip(&mut self.controls)
            .map(|(part, control)| {
                // SAFETY: all zero is a value of the structure.
                let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
                header.msg_hdr.msg_iov = part;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = size_of_val(control) as _;
                header
            })
            .collect();
        // SAFETY: every header points to one part and one control of this batch, which live across the call, with
        // their lengths.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_WAITFORONE as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        self.lengths.clear();
        for header in &headers[..count as usize] {
            let (segment, stamp_ns) = told_beside(&header.msg_hdr);
            self.lengths
                .push((header.msg_len as usize, segment, stamp_ns));
        }
        Ok(count as usize)
    }

    /// The buffers of the last call, with the size of their datagrams where they hold several, and the time at which
    /// the kernel had the first of them, by its clock of stamps.
    fn buffers(&self, count: usize) -> impl Iterator<Item = (&[u8], Option<usize>, Option<u64>)> {
        let filled = self.rooms.iter().zip(&self.lengths).take(count);
        filled.map(|(room, (length, segment, stamp_ns))| (&room[..*length], *segment, *stamp_ns))
    }
}

/// What the kernel tells beside a buffer: the size of its datagrams where there are several, and the time of arrival.
fn told_beside(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let (mut segment, mut stamp_ns) = (None, None);
    // SAFETY: the kernel filled the header's control, in the length it set.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a header within the control.
    while let Some(one) = unsafe { control.as_ref() } {
        match (one.cmsg_level, one.cmsg_type) {
            (SOL_UDP, UDP_GRO) => {
                // SAFETY: the data of this message is an int, which may lie unaligned.
                let size = unsafe { libc::CMSG_DATA(one).cast::<libc::c_int>().read_unaligned() };
                segment = usize::try_from(size).ok();
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: the data of this message is a timespec, which may lie unaligned.
                let at = unsafe {
                    libc::CMSG_DATA(one)
                        .cast::<libc::timespec>()
                        .read_unaligned()
                };
                stamp_ns = Some(at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64);
            }
            _ => {}
        }
        // SAFETY: as above.
        control = unsafe { libc::CMSG_NXTHDR(header, one) };
    }
    (segment, stamp_ns)
}
