//! Sends with AF_PACKET, which works on every interface, and paces in user space.
//!
//! Each frame is stamped with CLOCK_MONOTONIC (`clock::Clock`) just before it is handed to the kernel. The thread
//! sleeps until shortly before a frame is due and then spins. A frame that the kernel refuses for lack of a buffer is
//! stamped again and sent again: no sequence number is skipped.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, monotonic_ns, sleep_until};
use crate::departures::{Departure, Departures};
use crate::error::{EngineError, Result};
use crate::hiccup::speed::Meter;
use crate::histogram::Histogram;
use crate::port::{Control, Ended, Load, Place, Transmit, packet_socket};
use crate::record::Sent;
use crate::signature::{LENGTH, Signature};
use crate::stamping::{DriverStamps, TransmitDelay};

/// A sleep may end this much late; the thread spins for the rest of a wait.
const SPIN_NS: u64 = 80_000;
/// The longest sleep, so that a stop is noticed.
const NAP_NS: u64 = 20_000_000;
/// A wait that is longer than this has room for a piece of work by which the core's speed is measured.
const MEASURING_NS: u64 = 20_000;
/// How long before its due time a departure is taken where streams are switched.
const AHEAD_NS: u64 = 4_000_000;
/// Learning frames belong to no trial.
const LEARNING_STREAM: u16 = 0xFFFF;

pub struct PacketTransmit {
    sockets: Vec<Socket>,
    progress: Arc<Progress>,
    /// The clock of waits and stamps.
    clock: Clock,
    meter: Meter,
    load: Option<Load>,
}

/// One port's socket.
struct Socket {
    socket: OwnedFd,
    stamps: DriverStamps,
    name: String,
}

#[derive(Default)]
struct Progress {
    offered: AtomicU64,
    /// Frames sent of each stream of the trial.
    streams: Vec<AtomicU64>,
    stop: AtomicBool,
}

impl Control for Progress {
    fn offered(&self) -> u64 {
        self.offered.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn count(&self, offered: &mut [u64]) {
        for (all, own) in offered.iter_mut().zip(&self.streams) {
            *all += own.load(Ordering::Relaxed);
        }
    }
}

impl PacketTransmit {
    /// One sender for all `places`.
    pub fn open(places: &[Place]) -> Result<Self> {
        Ok(PacketTransmit {
            sockets: places.iter().map(Socket::open).collect::<Result<_>>()?,
            progress: Arc::default(),
            clock: Clock::new(),
            meter: Meter::default(),
            load: None,
        })
    }

    /// The next departure. Where streams are switched one by one, it is returned shortly before it is due, and the
    /// load goes on until all streams have ended.
    fn next(&mut self, departures: &mut Departures, postponed_ns: u64) -> Option<Departure> {
        let Some(switches) = departures.switches().cloned() else {
            return departures.next();
        };
        loop {
            let over = switches.is_over();
            let now_ns = self.clock.now_ns();
            let scheduled_ns = now_ns.saturating_sub(postponed_ns);
            departures.obey(scheduled_ns);
            departures.cut(now_ns);
            let found = departures.next_by(scheduled_ns + AHEAD_NS);
            if found.is_some() || over || self.progress.stop.load(Ordering::Relaxed) {
                return found;
            }
            sleep_until(now_ns + AHEAD_NS / 4);
        }
    }

    /// Waits until `due_ns` or a stop; returns the time.
    fn wait(&mut self, due_ns: u64) -> u64 {
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= due_ns || self.progress.stop.load(Ordering::Relaxed) {
                return now_ns;
            }
            if due_ns - now_ns > MEASURING_NS {
                self.meter.work_when_due(now_ns);
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
            // Frames that bypass the queueing discipline are not shown to other packet sockets either.
            let bypass = i32::from(place.capture_bytes == 0);
            packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, bypass)
        })?;
        let stamps = DriverStamps::open(&socket, None)
            .map_err(|error| place.refusal("ask the driver for stamps", &error))?;
        Ok(Socket {
            socket,
            stamps,
            name: place.interface.clone(),
        })
    }

    /// For a sample of frames, how much later than their stamps the driver had them. A new sample begins.
    fn driver_delay(&mut self) -> TransmitDelay {
        self.stamps.collect(&self.socket, &mut |_, _| ());
        self.stamps.finish()
    }

    /// Hands over a frame that was stamped at `sent_ns`. Returns false if the kernel had no room and the frame must
    /// be sent again.
    fn send(&mut self, frame: &mut [u8], sequence: u64, sent_ns: u64) -> Result<bool> {
        let mut part = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        // SAFETY: msghdr is integers and pointers, for which all zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        let asked = self.stamps.due(sent_ns);
        if asked {
            self.stamps.ask(&mut message, sequence, sent_ns);
        }
        // SAFETY: the message and all that it points to outlive the call.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
        let error = io::Error::last_os_error();
        let failed = |what: &str| packet_socket::failure(&format!("{}: {what}", self.name));
        if asked && sent < 0 {
            self.stamps
                .refused(&self.socket)
                .map_err(|_| failed("cannot ask the driver for stamps"))?;
        } else if asked {
            self.stamps.collect(&self.socket, &mut |_, _| ());
        }
        match error.raw_os_error() {
            _ if sent >= 0 => Ok(true),
            Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(false),
            Some(libc::EMSGSIZE) => Err(EngineError(format!(
                "{}: a frame of {} bytes is above the interface's MTU; raise the MTU or leave this size out",
                self.name,
                frame.len() + 4
            ))),
            _ => Err(EngineError(format!("{}: cannot send: {error}", self.name))),
        }
    }
}

impl Transmit for PacketTransmit {
    fn prepare(&mut self, load: Load) -> Result<()> {
        self.progress = Arc::new(Progress {
            streams: load.tables.iter().map(|_| AtomicU64::new(0)).collect(),
            ..Progress::default()
        });
        for socket in &self.sockets {
            packet_socket::forget_error(&socket.socket);
        }
        self.load = Some(load);
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.progress.clone()
    }

    fn run(&mut self) -> Result<Ended> {
        let mut load = self.load.take().expect("prepared");
        let catch_up_ns = load.departures.catch_up_ns();
        let mut counts: Vec<PortCounts> =
            self.sockets.iter().map(|_| PortCounts::default()).collect();
        let mut offered = vec![0; load.tables.len()];
        let mut waiting = None;
        let mut delayed = Delayed::default();
        let mut frame = Vec::new();
        while let Some(departure) = waiting
            .take()
            .or_else(|| self.next(&mut load.departures, delayed.postponed_ns))
        {
            let stamp_ns = self.wait(departure.due_ns + delayed.postponed_ns);
            let give_up_ns = load.give_up_ns + delayed.interrupted_ns.min(load.patience_ns);
            if stamp_ns > give_up_ns || self.progress.stop.load(Ordering::Relaxed) {
                break;
            }
            let outlet = load.outlets[departure.stream].expect("one of this sender's streams");
            write(&mut frame, &load, departure, stamp_ns)?;
            if !self.sockets[outlet].send(&mut frame, departure.sequence, stamp_ns)? {
                waiting = Some(departure);
                continue;
            }
            let lag_ns = stamp_ns.saturating_sub(departure.due_ns + delayed.postponed_ns);
            counts[outlet].sent(stamp_ns, lag_ns);
            delayed.sent(stamp_ns, lag_ns, catch_up_ns);
            offered[departure.stream] += 1;
            self.progress.offered.fetch_add(1, Ordering::Relaxed);
            self.progress.streams[departure.stream].fetch_add(1, Ordering::Relaxed);
        }
        let sent = counts
            .into_iter()
            .zip(&mut self.sockets)
            .map(|(counts, socket)| Sent {
                driver_delay: Some(socket.driver_delay()),
                ..counts.finish(load.start_ns, &delayed)
            })
            .collect();
        Ok(Ended {
            sent,
            offered,
            speed: self.meter.take(),
        })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC before send() on AF_PACKET"
    }
}

/// By how much the schedule of a sender was shifted, as in `Sent`.
#[derive(Default)]
struct Delayed {
    postponed_ns: u64,
    interrupted_ns: u64,
    interruptions: u64,
    last_ns: u64,
}

impl Delayed {
    fn sent(&mut self, stamp_ns: u64, lag_ns: u64, catch_up_ns: u64) {
        if lag_ns > catch_up_ns {
            self.postponed_ns += lag_ns;
            // A sender that is too slow falls behind frame by frame; one that is stopped, between two frames.
            if stamp_ns - self.last_ns > catch_up_ns {
                self.interrupted_ns += lag_ns;
                self.interruptions += 1;
            }
        }
        self.last_ns = stamp_ns;
    }
}

/// What was sent by one port.
#[derive(Default)]
struct PortCounts {
    offered: u64,
    first_ns: u64,
    last_ns: u64,
    lag_max_ns: u64,
    gaps: Histogram,
}

impl PortCounts {
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

    fn finish(self, start_ns: u64, delayed: &Delayed) -> Sent {
        Sent {
            offered_frames: self.offered,
            first_sent_ns: self.first_ns.saturating_sub(start_ns),
            last_sent_ns: self.last_ns.saturating_sub(start_ns),
            lag_max_ns: self.lag_max_ns,
            postponed_ns: delayed.postponed_ns,
            interrupted_ns: delayed.interrupted_ns,
            interruptions: delayed.interruptions,
            // What the kernel has no room for is sent again.
            refused_frames: Some(0),
            gaps: self.gaps.buckets(),
            driver_delay: None,
        }
    }
}

/// Writes the frame of a departure, with a signature unless its table is sent unchanged.
fn write(frame: &mut Vec<u8>, load: &Load, departure: Departure, sent_ns: u64) -> Result<()> {
    let table = &load.tables[departure.stream];
    frame.clear();
    frame.extend_from_slice(table.frame((departure.sequence % table.len() as u64) as usize));
    if !table.signed {
        return Ok(());
    }
    let stream = load.first_stream.wrapping_add(departure.stream as u16);
    let end = frame.len() - table.room;
    sign(
        &mut frame[..end],
        Signature {
            stream,
            sequence: departure.sequence,
            sent_ns,
        },
    )
}

/// Writes the signature at the end of the frame.
fn sign(frame: &mut [u8], signature: Signature) -> Result<()> {
    let place = frame.last_chunk_mut::<LENGTH>();
    signature.emit(place.ok_or_else(|| EngineError("frame: shorter than a signature".into()))?);
    Ok(())
}

/// Sends `count` frames 1 ms apart that belong to no trial (RFC 2544 §23 b: learning frames).
pub fn send_slowly(place: &Place, template: &[u8], count: u32) -> Result<()> {
    let mut port = Socket::open(place)?;
    let mut frame = template.to_vec();
    for sequence in 0..u64::from(count) {
        let sent_ns = monotonic_ns();
        sign(
            &mut frame,
            Signature {
                stream: LEARNING_STREAM,
                sequence,
                sent_ns,
            },
        )?;
        port.send(&mut frame, sequence, sent_ns)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
