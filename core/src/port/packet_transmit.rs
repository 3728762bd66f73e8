//! Sends by AF_PACKET: works on every interface, paced in user space.
//!
//! Each frame is stamped with CLOCK_MONOTONIC just before it is handed to the kernel. It sleeps
//! until shortly before a frame is due and then spins. A frame that the kernel refuses for
//! want of a buffer is stamped anew and sent again: no sequence number is skipped.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{monotonic_ns, sleep_until};
use crate::departures::Departure;
use crate::histogram::Histogram;
use crate::port::open::Place;
use crate::port::{Control, Ended, EngineError, Load, Result, Transmit, packet_socket};
use crate::record::Sent;
use crate::signature::{LENGTH, Signature};

/// A sleep may end this much late; the rest of a wait is spun.
const SPIN_NS: u64 = 80_000;
/// Longest sleep, so that a stop is noticed.
const NAP_NS: u64 = 20_000_000;
/// Frames that are due already are handed over together, up to this many.
const BATCH: u32 = 1;
const LARGEST_BATCH: u32 = 64;
/// Learning frames belong to no trial.
const LEARNING_STREAM: u16 = 0xFFFF;

pub struct PacketTransmit {
    sockets: Vec<Socket>,
    progress: Arc<Progress>,
    batch: u32,
    load: Option<Load>,
}

/// One port's socket.
struct Socket {
    socket: OwnedFd,
    name: String,
}

#[derive(Default)]
struct Progress {
    offered: AtomicU64,
    stop: AtomicBool,
}

impl Control for Progress {
    fn offered(&self) -> u64 {
        self.offered.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl PacketTransmit {
    /// One sender for all `places`.
    pub fn open(places: &[Place]) -> Result<Self> {
        Ok(PacketTransmit {
            sockets: places.iter().map(Socket::open).collect::<Result<_>>()?,
            progress: Arc::default(),
            batch: places[0].batch.unwrap_or(BATCH).clamp(1, LARGEST_BATCH),
            load: None,
        })
    }

    /// Waits until `due_ns` or a stop; returns the time.
    fn wait(&self, due_ns: u64) -> u64 {
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= due_ns || self.progress.stop.load(Ordering::Relaxed) {
                return now_ns;
            }
            if due_ns - now_ns > SPIN_NS {
                sleep_until((due_ns - SPIN_NS).min(now_ns + NAP_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Socket {
    fn open(place: &Place) -> Result<Self> {
        let socket = packet_socket::open(place, false, |socket| {
            packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
        })?;
        Ok(Socket {
            socket,
            name: place.interface.clone(),
        })
    }

    /// Hands the frames over in one call; says how many were taken, the others are to be tried again.
    fn send(&self, frames: &mut [(Departure, u64, Vec<u8>)]) -> Result<usize> {
        let mut parts: Vec<libc::iovec> = frames
            .iter_mut()
            .map(|(_, _, frame)| libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: mmsghdr is integers and pointers, for which all zero is a value.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
                message
            })
            .collect();
        // SAFETY: messages, parts and frames outlive the call and their numbers are given.
        let sent = unsafe {
            let socket = self.socket.as_raw_fd();
            libc::sendmmsg(socket, messages.as_mut_ptr(), messages.len() as u32, 0)
        };
        if let Ok(sent) = usize::try_from(sent) {
            return Ok(sent);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(0),
            Some(libc::EMSGSIZE) => Err(EngineError(format!(
                "{}: a frame of {} bytes is above the interface's MTU; raise the MTU or leave this size out",
                self.name,
                frames[0].2.len() + 4
            ))),
            _ => Err(packet_socket::failure(&format!(
                "{}: cannot send",
                self.name
            ))),
        }
    }
}

impl Transmit for PacketTransmit {
    fn prepare(&mut self, load: Load) -> Result<()> {
        self.progress = Arc::default();
        self.load = Some(load);
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.progress.clone()
    }

    fn run(&mut self) -> Result<Ended> {
        let mut load = self.load.take().expect("prepared");
        let catch_up_ns = load.catch_up_ns();
        let mut outlets: Vec<Outlet> = self.sockets.iter().map(|_| Outlet::default()).collect();
        let mut offered = vec![0; load.tables.len()];
        let mut frames = Vec::with_capacity(self.batch as usize);
        let mut waiting: VecDeque<Departure> = VecDeque::new();
        let mut postponed_ns = 0;
        loop {
            let Some(first) = waiting.pop_front().or_else(|| load.departures.next()) else {
                break;
            };
            let mut now_ns = self.wait(first.due_ns + postponed_ns);
            if now_ns > load.give_up_ns || self.progress.stop.load(Ordering::Relaxed) {
                break;
            }
            let outlet = load.outlets[first.stream].expect("one of this sender's streams");
            frames.clear();
            let mut departure = first;
            loop {
                frames.push((departure, now_ns, signed(&load, departure, now_ns)?));
                if frames.len() == self.batch as usize {
                    break;
                }
                let Some(next) = waiting.pop_front().or_else(|| load.departures.next()) else {
                    break;
                };
                now_ns = monotonic_ns();
                if next.due_ns + postponed_ns > now_ns || load.outlets[next.stream] != Some(outlet)
                {
                    waiting.push_front(next);
                    break;
                }
                departure = next;
            }
            let taken = self.sockets[outlet].send(&mut frames)?;
            for (refused, _, _) in frames[taken..].iter().rev() {
                waiting.push_front(*refused);
            }
            for (departure, stamp_ns, _) in &frames[..taken] {
                let lag_ns = stamp_ns.saturating_sub(departure.due_ns + postponed_ns);
                outlets[outlet].sent(*stamp_ns, lag_ns);
                if lag_ns > catch_up_ns {
                    postponed_ns += lag_ns;
                }
                offered[departure.stream] += 1;
            }
            self.progress
                .offered
                .fetch_add(taken as u64, Ordering::Relaxed);
        }
        let sent = outlets
            .into_iter()
            .map(|outlet| outlet.finish(load.start_ns, postponed_ns))
            .collect();
        Ok(Ended { sent, offered })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC before send() on AF_PACKET"
    }
}

/// What was sent by one port.
#[derive(Default)]
struct Outlet {
    offered: u64,
    first_ns: u64,
    last_ns: u64,
    lag_max_ns: u64,
    gaps: Histogram,
}

impl Outlet {
    fn sent(&mut self, stamp_ns: u64, lag_ns: u64) {
        if self.offered == 0 {
            self.first_ns = stamp_ns;
        } else {
            self.gaps.record((stamp_ns - self.last_ns) as i64);
        }
        self.offered += 1;
        self.last_ns = stamp_ns;
        self.lag_max_ns = self.lag_max_ns.max(lag_ns);
    }

    fn finish(self, start_ns: u64, postponed_ns: u64) -> Sent {
        Sent {
            offered_frames: self.offered,
            first_sent_ns: self.first_ns.saturating_sub(start_ns),
            last_sent_ns: self.last_ns.saturating_sub(start_ns),
            lag_max_ns: self.lag_max_ns,
            postponed_ns,
            gaps: self.gaps.buckets(),
        }
    }
}

/// The frame of a departure, signed unless its table is sent as it is.
fn signed(load: &Load, departure: Departure, sent_ns: u64) -> Result<Vec<u8>> {
    let table = &load.tables[departure.stream];
    let mut frame = table
        .frame((departure.sequence % table.len() as u64) as usize)
        .to_vec();
    if table.signed {
        let stream = load.first_stream.wrapping_add(departure.stream as u16);
        sign(
            &mut frame,
            Signature {
                stream,
                sequence: departure.sequence,
                sent_ns,
            },
        )?;
    }
    Ok(frame)
}

/// Writes the signature at the end of the frame.
fn sign(frame: &mut [u8], signature: Signature) -> Result<()> {
    let place = frame.last_chunk_mut::<LENGTH>();
    signature.emit(place.ok_or_else(|| EngineError("frame: shorter than a signature".into()))?);
    Ok(())
}

/// Sends `count` frames 1 ms apart that belong to no trial (RFC 2544 §23 c: learning frames).
pub fn send_slowly(place: &Place, template: &[u8], count: u32) -> Result<()> {
    let port = Socket::open(place)?;
    for sequence in 0..u64::from(count) {
        let sent_ns = monotonic_ns();
        let mut frame = template.to_vec();
        sign(
            &mut frame,
            Signature {
                stream: LEARNING_STREAM,
                sequence,
                sent_ns,
            },
        )?;
        let departure = Departure {
            due_ns: sent_ns,
            stream: 0,
            sequence,
        };
        port.send(&mut [(departure, sent_ns, frame)])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
