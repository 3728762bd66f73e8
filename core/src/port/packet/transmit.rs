//! Sends with AF_PACKET, which works on every interface, and paces in user space.
//!
//! Each frame is stamped with CLOCK_MONOTONIC (`clock::calibrated`) just before it is handed to the kernel. The thread
//! sleeps until shortly before a frame is due and then spins. A frame that the kernel refuses for lack of a buffer is
//! stamped again and sent again; at a port without a link it is not sent. No sequence number is skipped.

use std::collections::VecDeque;
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
use crate::trial::departures::Departure;

/// How many frames of one port may wait for room while those of others leave: the kernel says that a port has no link
/// only after it has refused frames for some ten ms.
const MOST_WAITING: usize = 1 << 14;
/// Of a socket, for frames that were sent and not freed yet; a small frame takes 768 bytes of it.
const ROOM_BYTES: i32 = 1 << 28;
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

/// What became of a frame.
#[derive(PartialEq, Eq)]
enum Handed {
    Sent,
    /// The kernel had no room, or the port has no link.
    Refused,
    /// The port is down.
    Down,
}

/// A load that is being sent.
struct Sending {
    load: Load,
    counts: Vec<PortCounts>,
    /// Departures of each port that found no room.
    waiting: Vec<VecDeque<Departure>>,
    offered: Vec<u64>,
    delayed: Delayed,
    frame: Vec<u8>,
}

impl Sending {
    fn due_ns(&self, departure: &Departure) -> u64 {
        departure.due_ns + self.delayed.postponed_ns
    }

    /// Whether the load is too late at this time.
    fn gives_up(&self, now_ns: u64) -> bool {
        let put_off_ns = self.delayed.interrupted_ns.min(self.load.patience_ns);
        now_ns > self.load.give_up_ns + put_off_ns
    }

    fn outlet(&self, departure: &Departure) -> usize {
        self.load.outlets[departure.stream].expect("one of this sender's streams")
    }

    fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.is_empty())
    }
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
}

impl Socket {
    fn open(place: &Place) -> Result<Self> {
        let socket = packet_socket::open(place, false, |socket| {
            // Frames that bypass the queueing discipline are not shown to other packet sockets either.
            let bypass = i32::from(place.capture_bytes == 0);
            packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, bypass)?;
            // A frame counts as this socket's until it is freed, also while it waits in a device's queue on this host:
            // without room for all that may wait there, that queue would slow the sender down.
            // Without CAP_NET_ADMIN the room stays as it is, and the trial is invalid where it was full.
            let _ = packet_socket::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, ROOM_BYTES);
            Ok(())
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

    /// Hands over a frame that was stamped at `sent_ns`.
    fn send(&mut self, frame: &mut [u8], sequence: u64, sent_ns: u64) -> Result<Handed> {
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
            _ if sent >= 0 => Ok(Handed::Sent),
            Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(Handed::Refused),
            Some(libc::ENETDOWN) => Ok(Handed::Down),
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
        self.pace.progress = Progress::of(&load, self.sockets.len());
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
        let load = self.load.take().expect("prepared");
        let ports = self.sockets.len();
        let mut sending = Sending {
            counts: (0..ports).map(|_| PortCounts::default()).collect(),
            waiting: (0..ports).map(|_| VecDeque::new()).collect(),
            offered: vec![0; load.tables.len()],
            delayed: Delayed::default(),
            frame: Vec::new(),
            load,
        };
        self.send(&mut sending)?;
        let Sending {
            load,
            counts,
            offered,
            delayed,
            ..
        } = sending;
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
            unsent: self.pace.progress.all_unsent(),
            speed: self.pace.meter.take(),
        })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC before send() on AF_PACKET"
    }
}

impl PacketTransmit {
    /// Sends the load until it is over, stopped or too late.
    fn send(&mut self, sending: &mut Sending) -> Result<()> {
        // The frames of a port by itself wait for it.
        let most = if self.sockets.len() > 1 {
            MOST_WAITING
        } else {
            1
        };
        let mut next = None;
        loop {
            self.send_waiting(sending)?;
            let waits = sending.is_waiting();
            if next.is_none() {
                let postponed_ns = sending.delayed.postponed_ns;
                match self.pace.next(&mut sending.load.departures, postponed_ns) {
                    Next::Send(departure) => next = Some(departure),
                    Next::Wait if waits => continue,
                    Next::Wait => {
                        self.pace.nap();
                        continue;
                    }
                    Next::End if waits => {}
                    Next::End => return Ok(()),
                }
            }
            let due_ns = next.as_ref().map_or(0, |next| sending.due_ns(next));
            let now_ns = match waits {
                true => self.pace.now_ns(),
                false => self.pace.wait(due_ns),
            };
            if sending.gives_up(now_ns) || self.pace.progress.is_stopped() {
                return Ok(());
            }
            if now_ns < due_ns {
                continue;
            }
            if let Some(departure) = next.take() {
                let outlet = sending.outlet(&departure);
                if sending.waiting[outlet].len() < most {
                    sending.waiting[outlet].push_back(departure);
                } else {
                    next = Some(departure);
                }
            }
        }
    }

    /// Sends what waits and is due, in the order of each port, as long as there is room. What waits at a port without a
    /// link is not sent.
    fn send_waiting(&mut self, sending: &mut Sending) -> Result<()> {
        for outlet in 0..self.sockets.len() {
            while let Some(&departure) = sending.waiting[outlet].front() {
                let stream = departure.stream;
                let stamp_ns = self.pace.now_ns();
                let due_ns = sending.due_ns(&departure);
                if stamp_ns < due_ns || sending.gives_up(stamp_ns) {
                    break;
                }
                let sequence = sending.offered[stream];
                let handed = if self.pace.progress.has_no_link(outlet) {
                    Handed::Down
                } else {
                    write(
                        &mut sending.frame,
                        &sending.load,
                        stream,
                        sequence,
                        stamp_ns,
                    )?;
                    self.sockets[outlet].send(&mut sending.frame, sequence, stamp_ns)?
                };
                match handed {
                    Handed::Refused => break,
                    Handed::Down => {
                        sending.counts[outlet].unsent += 1;
                        self.pace.progress.unsent(stream);
                    }
                    Handed::Sent => {
                        let lag_ns = stamp_ns - due_ns;
                        sending.counts[outlet].sent(stamp_ns, lag_ns);
                        let catch_up_ns = sending.load.departures.catch_up_ns();
                        sending.delayed.sent(stamp_ns, lag_ns, catch_up_ns);
                        sending.offered[stream] += 1;
                        self.pace.progress.sent(stream);
                    }
                }
                sending.waiting[outlet].pop_front();
            }
        }
        Ok(())
    }
}

/// Writes the frame of a departure, with a signature unless its table is sent unchanged.
fn write(
    frame: &mut Vec<u8>,
    load: &Load,
    stream: usize,
    sequence: u64,
    sent_ns: u64,
) -> Result<()> {
    let table = &load.tables[stream];
    frame.clear();
    frame.extend_from_slice(table.frame((sequence % table.len() as u64) as usize));
    if !table.signed {
        return Ok(());
    }
    let stream = load.first_stream.wrapping_add(stream as u16);
    let end = frame.len() - table.room;
    sign(
        &mut frame[..end],
        Signature {
            stream,
            sequence,
            sent_ns,
        },
    )
}

/// Sends learning frames from one port, which belong to no trial (RFC 2544 §23 b).
///
/// Its socket stays open from trial to trial: to close one takes the kernel 15 to 20 ms.
pub struct LearningFrames {
    place: Place,
    socket: Option<Socket>,
}

impl LearningFrames {
    /// None has been sent.
    pub fn new(place: &Place) -> Self {
        LearningFrames {
            place: place.clone(),
            socket: None,
        }
    }

    /// Sends `count` frames, 1 ms apart.
    pub fn send(&mut self, template: &[u8], count: u32) -> Result<()> {
        let known = self.socket.as_mut();
        if known.is_some_and(|socket| {
            socket
                .send_slowly(template, count)
                .is_ok_and(|was_up| was_up)
        }) {
            return Ok(());
        }
        // The first ones, or the port was down, or was made anew.
        let socket = self.socket.insert(Socket::open(&self.place)?);
        socket.send_slowly(template, count).map(|_| ())
    }

    /// Closes the socket; the next frames open one.
    pub fn close(&mut self) {
        self.socket = None;
    }
}

impl Socket {
    /// Whether the port was up all the time.
    fn send_slowly(&mut self, template: &[u8], count: u32) -> Result<bool> {
        let mut frame = template.to_vec();
        let mut was_up = true;
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
            was_up &= self.send(&mut frame, sequence, sent_ns)? != Handed::Down;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(was_up)
    }
}
