//! Sends with AF_PACKET, which works on every interface, and paces in user space.
//!
//! Each frame is stamped with CLOCK_MONOTONIC (`clock::calibrated`) just before it is handed to the kernel. The thread
//! sleeps until shortly before a frame is due and then spins. A frame that the kernel refuses for lack of a buffer is
//! stamped again and sent again: no sequence number is skipped.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{EngineError, Result};
use crate::frame::signature::Signature;
use crate::host::kernel_clock::monotonic_ns;
use crate::interface::packet_socket;
use crate::interface::place::Place;
use crate::interface::stamping::delay::TransmitDelay;
use crate::interface::stamping::driver::DriverStamps;
use crate::port::pace::{Delayed, Next, Pace, PortCounts, Progress, sign};
use crate::port::transmit::{Control, Ended, Load, Sent, Transmit};
use crate::trial::departures::{Departure, Departures};

/// Learning frames belong to no trial.
const LEARNING_STREAM: u16 = 0xFFFF;

pub struct PacketTransmit {
    sockets: Vec<Socket>,
    pace: Pace,
    load: Option<Load>,
}

/// One port's socket.
struct Socket {
    socket: OwnedFd,
    stamps: DriverStamps,
    name: String,
}

impl PacketTransmit {
    /// One sender for all `places`.
    pub fn open(places: &[Place]) -> Result<Self> {
        Ok(PacketTransmit {
            sockets: places.iter().map(Socket::open).collect::<Result<_>>()?,
            pace: Pace::new(),
            load: None,
        })
    }

    /// The next departure, shortly before it is due where streams are switched.
    fn next(&mut self, departures: &mut Departures, postponed_ns: u64) -> Option<Departure> {
        loop {
            match self.pace.next(departures, postponed_ns) {
                Next::Send(departure) => return Some(departure),
                Next::Wait => self.pace.nap(),
                Next::End => return None,
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
        self.pace.progress = Progress::of(&load);
        for socket in &self.sockets {
            packet_socket::forget_error(&socket.socket);
        }
        self.load = Some(load);
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.pace.progress.clone()
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
            let stamp_ns = self.pace.wait(departure.due_ns + delayed.postponed_ns);
            let give_up_ns = load.give_up_ns + delayed.interrupted_ns.min(load.patience_ns);
            if stamp_ns > give_up_ns || self.pace.progress.is_stopped() {
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
            self.pace.progress.sent(departure.stream);
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
            speed: self.pace.meter.take(),
        })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC before send() on AF_PACKET"
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
