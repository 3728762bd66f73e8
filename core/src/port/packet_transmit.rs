//! Sends by AF_PACKET: works on every interface, paced in user space.
//!
//! Each frame is stamped with CLOCK_MONOTONIC just before it is handed to the kernel. It sleeps
//! until shortly before a frame is due and then spins. A frame that the kernel refuses for
//! want of a buffer is stamped anew and sent again: no sequence number is skipped.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{monotonic_ns, sleep_until};
use crate::histogram::Histogram;
use crate::port::open::Place;
use crate::port::{Control, EngineError, Load, Result, Transmit, packet_socket};
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
    socket: OwnedFd,
    progress: Arc<Progress>,
    name: String,
    batch: Option<u32>,
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
    pub fn open(place: &Place) -> Result<Self> {
        let socket = packet_socket::open(place, false, |socket| {
            // What bypasses the queue is not shown to other packet sockets either.
            let bypass = i32::from(place.capture_bytes == 0);
            packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, bypass)
        })?;
        let progress = Arc::default();
        Ok(PacketTransmit {
            socket,
            progress,
            name: place.interface.clone(),
            batch: place.batch,
        })
    }

    /// Hands the frames over in one call; says how many were taken, the others are to be tried again.
    fn send(&self, frames: &mut [Vec<u8>]) -> Result<usize> {
        let mut parts: Vec<libc::iovec> = frames
            .iter_mut()
            .map(|frame| libc::iovec {
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
                frames[0].len() + 4
            ))),
            _ => Err(packet_socket::failure(&format!(
                "{}: cannot send",
                self.name
            ))),
        }
    }
}

impl Transmit for PacketTransmit {
    fn prepare(&mut self, _load: &Load) -> Result<()> {
        self.progress = Arc::default();
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.progress.clone()
    }

    fn run(&mut self, load: &Load) -> Result<Sent> {
        let batch = self.batch.unwrap_or(BATCH).clamp(1, LARGEST_BATCH) as u64;
        let mut frames = vec![load.template.to_vec(); batch as usize];
        let mut stamps = vec![0; batch as usize];
        let mut gaps = Histogram::default();
        let mut schedule = load.schedule;
        let (mut first_ns, mut last_ns, mut lag_max_ns, mut postponed_ns) = (None, 0, 0, 0);
        let mut sequence = 0;
        while sequence < load.frames {
            let mut now_ns = self.wait(schedule.due_ns(sequence));
            if now_ns > load.give_up_ns || self.progress.stop.load(Ordering::Relaxed) {
                break;
            }
            let due = schedule.due_frames(now_ns).min(load.frames) - sequence;
            let count = due.clamp(1, batch) as usize;
            for (frame, (stamp, sequence)) in frames
                .iter_mut()
                .zip(stamps.iter_mut().zip(sequence..))
                .take(count)
            {
                *stamp = now_ns;
                sign(
                    frame,
                    Signature {
                        stream: load.stream,
                        sequence,
                        sent_ns: now_ns,
                    },
                )?;
                now_ns = monotonic_ns();
            }
            let taken = self.send(&mut frames[..count])?;
            for &stamp in &stamps[..taken] {
                if first_ns.is_some() {
                    gaps.record((stamp - last_ns) as i64);
                }
                first_ns.get_or_insert(stamp);
                last_ns = stamp;
                let lag_ns = stamp.saturating_sub(schedule.due_ns(sequence));
                lag_max_ns = lag_max_ns.max(lag_ns);
                if lag_ns > schedule.catch_up_ns() {
                    schedule.postpone(lag_ns);
                    postponed_ns += lag_ns;
                }
                sequence += 1;
            }
            self.progress.offered.store(sequence, Ordering::Relaxed);
        }
        let relative = |time_ns: u64| time_ns.saturating_sub(load.schedule.start_ns);
        Ok(Sent {
            offered_frames: sequence,
            first_sent_ns: relative(first_ns.unwrap_or(0)),
            last_sent_ns: relative(last_ns),
            lag_max_ns,
            postponed_ns,
            gaps: gaps.buckets(),
        })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC before send() on AF_PACKET"
    }
}

impl PacketTransmit {
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

/// Writes the signature at the end of the frame.
fn sign(frame: &mut [u8], signature: Signature) -> Result<()> {
    let place = frame.last_chunk_mut::<LENGTH>();
    signature.emit(place.ok_or_else(|| EngineError("frame: shorter than a signature".into()))?);
    Ok(())
}

/// Sends `count` frames 1 ms apart that belong to no trial (RFC 2544 §23 c: learning frames).
pub fn send_slowly(place: &Place, template: &[u8], count: u32) -> Result<()> {
    let port = PacketTransmit::open(place)?;
    let mut frame = [template.to_vec()];
    for sequence in 0..u64::from(count) {
        let sent_ns = monotonic_ns();
        sign(
            &mut frame[0],
            Signature {
                stream: LEARNING_STREAM,
                sequence,
                sent_ns,
            },
        )?;
        port.send(&mut frame)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
