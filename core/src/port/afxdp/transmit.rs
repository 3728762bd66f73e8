//! Sends through AF_XDP sockets and paces in user space.
//!
//! Each frame is stamped and signed in its chunk just before its descriptor is submitted. Frames that are due together,
//! because the sender is behind its schedule, go to the kernel in one call; a frame that is due alone goes alone.
//!
//! In copy mode the kernel reads descriptors only inside the call. So the frames that it did not take, and the one that
//! the interface dropped, can be stamped again and stay in order: no sequence number is skipped. Before Linux 6.17 the
//! kernel does not say which frame was dropped, so there each frame has a call of its own.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use aya::Ebpf;

use crate::capture::ring::CaptureRing;
use crate::capture::sent_ring::{self, SentFrames};
use crate::capture::source::Direction;
use crate::error::{EngineError, Result};
use crate::frame::signature::Signature;
use crate::interface::place::Place;
use crate::port::afxdp::socket::Sending;
use crate::port::pace::{Delayed, Next, Pace, PortCounts, Progress, sign};
use crate::port::transmit::{Control, Ended, Load, Sent, Transmit};
use crate::trial::departures::Departure;

/// A descriptor whose address lies behind all memory: the kernel discards it.
const NOWHERE: libc::xdp_desc = libc::xdp_desc {
    addr: u64::MAX >> 16,
    len: 64,
    options: 0,
};
/// How often frames that zero copy has submitted are looked for at the end of a load.
const LAST_LOOKS: u32 = 1_000_000;

/// How an interface's sender uses it.
pub struct Outlet {
    pub sending: Sending,
    pub place: Place,
    pub interface: u32,
    pub mtu: u32,
    /// With zero copy some drivers send only while a program is attached, which lives as long as this value.
    pub _program: Option<Ebpf>,
}

impl Outlet {
    /// The longest frame that can be sent.
    pub fn longest(&self) -> usize {
        self.sending.longest().min(self.mtu as usize + 14 + 8)
    }

    /// Whether a higher MTU would let longer frames be sent.
    pub fn limited_by_mtu(&self) -> bool {
        self.longest() < self.sending.longest()
    }

    pub fn failure(&self, error: &io::Error) -> EngineError {
        self.place.refusal("send on an AF_XDP socket", error)
    }
}

pub struct AfXdpTransmit {
    outlets: Vec<Line>,
    pace: Pace,
    load: Option<Load>,
    stamp: String,
    captured: Option<Arc<SentFrames>>,
}

/// What one port is sending.
struct Line {
    outlet: Outlet,
    /// Frames that were written and not yet taken by the kernel, in order.
    waiting: VecDeque<Frame>,
    /// Index of the first descriptor that the kernel has not read. After an error its own index may be one behind.
    taken: u32,
    counts: PortCounts,
}

/// A frame in its chunk.
#[derive(Clone, Copy)]
struct Frame {
    address: u64,
    length: u32,
    /// Where the signature ends; zero if the frame is not signed.
    signed: u32,
    stream: usize,
    sequence: u64,
    /// With the delay of the schedule.
    due_ns: u64,
    sent_ns: u64,
}

impl AfXdpTransmit {
    pub fn new(outlets: Vec<Outlet>, places: &[Place]) -> Self {
        let zero_copy = outlets.iter().all(|outlet| outlet.sending.socket.zero_copy);
        let mode = if zero_copy { "zero-copy" } else { "copy" };
        let line = |outlet: Outlet| Line {
            taken: outlet.sending.ring.next(),
            outlet,
            waiting: VecDeque::new(),
            counts: PortCounts::default(),
        };
        AfXdpTransmit {
            outlets: outlets.into_iter().map(line).collect(),
            pace: Pace::new(),
            load: None,
            stamp: format!("CLOCK_MONOTONIC before a descriptor is submitted to AF_XDP, {mode}"),
            captured: sent_ring::wanted(places),
        }
    }

    /// Sends the load until it is over, stopped or too late.
    fn send(&mut self, load: &mut Load, offered: &mut [u64], delayed: &mut Delayed) -> Result<()> {
        let catch_up_ns = load.departures.catch_up_ns();
        loop {
            let departure = match self.pace.next(&mut load.departures, delayed.postponed_ns) {
                Next::Send(departure) => departure,
                Next::Wait => {
                    self.flush(load, offered, delayed)?;
                    self.pace.nap();
                    continue;
                }
                Next::End => return self.flush(load, offered, delayed),
            };
            let due_ns = departure.due_ns + delayed.postponed_ns;
            let mut now_ns = self.pace.now_ns();
            if now_ns < due_ns {
                self.flush(load, offered, delayed)?;
                now_ns = self.pace.wait(due_ns);
            }
            if now_ns > give_up_ns(load, delayed) || self.pace.progress.is_stopped() {
                return self.flush(load, offered, delayed);
            }
            let place = load.outlets[departure.stream].expect("one of this sender's streams");
            while !self.write(load, place, departure, due_ns, now_ns)? {
                // All chunks are on their way: the interface is slower than the load.
                self.flush(load, offered, delayed)?;
                now_ns = self.pace.now_ns();
                if now_ns > give_up_ns(load, delayed) || self.pace.progress.is_stopped() {
                    return Ok(());
                }
            }
            delayed.sent(now_ns, now_ns.saturating_sub(due_ns), catch_up_ns);
            if self.outlets[place].is_full() {
                self.flush(load, offered, delayed)?;
            }
        }
    }

    /// Writes, stamps and signs a frame into a chunk. Returns false if there is no chunk.
    #[inline]
    fn write(
        &mut self,
        load: &Load,
        place: usize,
        departure: Departure,
        due_ns: u64,
        now_ns: u64,
    ) -> Result<bool> {
        let table = &load.tables[departure.stream];
        let variant = match table.len() {
            1 => 0,
            variants => (departure.sequence % variants as u64) as usize,
        };
        let bytes = table.frame(variant);
        let line = &mut self.outlets[place];
        let Some((address, memory)) = line.outlet.sending.chunk(bytes.len()) else {
            return Ok(false);
        };
        // SAFETY: the chunk is this sender's until it is submitted, and as long as the frame.
        let chunk = unsafe {
            memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            std::slice::from_raw_parts_mut(memory, bytes.len())
        };
        let frame = Frame {
            address,
            length: bytes.len() as u32,
            signed: if table.signed {
                (bytes.len() - table.room) as u32
            } else {
                0
            },
            stream: departure.stream,
            sequence: departure.sequence,
            due_ns,
            sent_ns: now_ns,
        };
        stamp(&frame, chunk, load.first_stream)?;
        line.waiting.push_back(frame);
        Ok(true)
    }

    /// Hands all frames that were written to the kernel, and counts those that it took. Frames are left only if the
    /// load is too late or stopped; they are then withdrawn.
    fn flush(&mut self, load: &Load, offered: &mut [u64], delayed: &Delayed) -> Result<()> {
        let give_up_ns = give_up_ns(load, delayed);
        for line in &mut self.outlets {
            while !line.waiting.is_empty() {
                let sent = line
                    .hand_over()
                    .map_err(|error| line.outlet.failure(&error))?;
                for frame in line.waiting.drain(..sent) {
                    let lag_ns = frame.sent_ns.saturating_sub(frame.due_ns);
                    line.counts.sent(frame.sent_ns, lag_ns);
                    offered[frame.stream] += 1;
                    self.pace.progress.sent(frame.stream);
                    if let Some(captured) = &self.captured {
                        let length = frame.length as usize;
                        let memory = line.outlet.sending.memory(frame.address, length);
                        // SAFETY: the chunk is not used again before `reap`; the kernel only reads it.
                        let bytes = unsafe { std::slice::from_raw_parts(memory, length) };
                        captured.push(line.outlet.interface, frame.sent_ns, bytes);
                    }
                }
                if line.waiting.is_empty() {
                    break;
                }
                let now_ns = self.pace.now_ns();
                if now_ns > give_up_ns || self.pace.progress.is_stopped() {
                    line.withdraw();
                    break;
                }
                line.stamp_again(now_ns, load.first_stream)?;
            }
            line.outlet.sending.reap();
        }
        Ok(())
    }
}

fn give_up_ns(load: &Load, delayed: &Delayed) -> u64 {
    load.give_up_ns + delayed.interrupted_ns.min(load.patience_ns)
}

/// True if the kernel only wants to be called again.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR)
    )
}

/// Writes the signature of a frame.
#[inline]
fn stamp(frame: &Frame, chunk: &mut [u8], first_stream: u16) -> Result<()> {
    if frame.signed == 0 {
        return Ok(());
    }
    sign(
        &mut chunk[..frame.signed as usize],
        Signature {
            stream: first_stream.wrapping_add(frame.stream as u16),
            sequence: frame.sequence,
            sent_ns: frame.sent_ns,
        },
    )
}

impl Line {
    /// True if one call takes no more frames.
    #[inline]
    fn is_full(&self) -> bool {
        self.waiting.len() >= self.outlet.sending.socket.most_a_call
    }

    /// Submits the frames that wait and calls the kernel once. Returns how many of them it took and sent.
    fn hand_over(&mut self) -> io::Result<usize> {
        let sending = &mut self.outlet.sending;
        if sending.socket.zero_copy {
            return Self::submit_all(sending, &self.waiting);
        }
        let mut index = self.taken;
        for frame in &self.waiting {
            if index == sending.ring.next() {
                sending.ring.push(frame.descriptor());
            } else {
                sending.ring.rewrite(index, frame.descriptor());
            }
            index = index.wrapping_add(1);
        }
        sending.ring.submit();
        let result = sending.kick();
        let read = sending.ring.taken().wrapping_sub(self.taken) as i32;
        let sent = read.max(0) as usize;
        let (read, sent) = match result {
            Ok(()) => (sent, sent),
            // The interface dropped the frame that was read last; it is sent again. If it was the first of the call,
            // the kernel does not show that it was read.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                (sent.max(1), sent.max(1) - 1)
            }
            Err(error) if is_passing(&error) => (sent, sent),
            Err(error) => return Err(error),
        };
        self.taken = self.taken.wrapping_add(read as u32);
        if read > sent {
            let dropped = &mut self.waiting[sent];
            // The kernel has finished with its chunk, so there is one.
            let (address, memory) = sending
                .chunk(dropped.length as usize)
                .ok_or_else(|| io::Error::other("all frames are on their way"))?;
            let before = sending.memory(dropped.address, dropped.length as usize);
            // SAFETY: two chunks, each as long as the frame, or one.
            unsafe { memory.copy_from(before, dropped.length as usize) };
            dropped.address = address;
        }
        Ok(sent)
    }

    /// With zero copy the driver takes descriptors whenever it likes, so a submitted frame is out of reach.
    fn submit_all(sending: &mut Sending, waiting: &VecDeque<Frame>) -> io::Result<usize> {
        let room = sending.ring.room() as usize;
        let sent = waiting.len().min(room);
        for frame in waiting.iter().take(sent) {
            sending.ring.push(frame.descriptor());
        }
        sending.ring.submit();
        if sending.ring.needs_waking() {
            sending.kick().or_else(|error| match is_passing(&error) {
                true => Ok(()),
                false => Err(error),
            })?;
        }
        Ok(sent)
    }

    /// Stamps and signs the frames that wait once more.
    fn stamp_again(&mut self, now_ns: u64, first_stream: u16) -> Result<()> {
        for frame in &mut self.waiting {
            frame.sent_ns = now_ns;
            let length = frame.length as usize;
            let memory = self.outlet.sending.memory(frame.address, length);
            // SAFETY: the kernel has not taken this frame and does not look at it now.
            let chunk = unsafe { std::slice::from_raw_parts_mut(memory, length) };
            stamp(frame, chunk, first_stream)?;
        }
        Ok(())
    }

    /// Makes the kernel discard the frames that it has not taken.
    fn withdraw(&mut self) {
        let sending = &mut self.outlet.sending;
        if !sending.socket.zero_copy {
            while self.taken != sending.ring.next() {
                sending.ring.rewrite(self.taken, NOWHERE);
                self.taken = self.taken.wrapping_add(1);
            }
            // Whatever it answers, it has then looked at them, or will before the next frame.
            let _ = sending.kick();
        }
        for frame in self.waiting.drain(..) {
            sending.withdraw(frame.address);
        }
    }

    /// Waits for the driver to take what was submitted with zero copy.
    fn settle(&mut self) {
        let sending = &mut self.outlet.sending;
        for _ in 0..LAST_LOOKS {
            if sending.ring.taken() == sending.ring.next() {
                return;
            }
            let _ = sending.kick();
        }
    }
}

impl Frame {
    fn descriptor(&self) -> libc::xdp_desc {
        libc::xdp_desc {
            addr: self.address,
            len: self.length,
            options: 0,
        }
    }
}

impl Transmit for AfXdpTransmit {
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        let places = self.outlets.iter().map(|line| line.outlet.place.clone());
        Ok(self
            .captured
            .as_ref()
            .map(|kept| CaptureRing::new(kept.ring(), places.collect(), Direction::Outgoing)))
    }

    fn prepare(&mut self, load: Load) -> Result<()> {
        for (place, line) in self.outlets.iter().enumerate() {
            let longest = (load.tables.iter().zip(&load.outlets))
                .filter(|(_, outlet)| **outlet == Some(place))
                .flat_map(|(table, _)| table.frames().map(<[u8]>::len));
            let most = line.outlet.longest();
            if let Some(longest) = longest.max()
                && longest > most
            {
                let also = if line.outlet.limited_by_mtu() {
                    "raise the MTU, or "
                } else {
                    ""
                };
                return Err(EngineError(format!(
                    "{0}: a frame of {1} bytes is above the {2} that the afxdp engine sends here; {also}use `packet:{0}`",
                    line.outlet.place.interface,
                    longest + 4,
                    most + 4,
                )));
            }
        }
        self.pace.progress = Progress::of(&load, self.outlets.len());
        self.load = Some(load);
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.pace.progress.clone()
    }

    fn run(&mut self) -> Result<Ended> {
        let mut load = self.load.take().expect("prepared");
        let mut offered = vec![0; load.tables.len()];
        let mut delayed = Delayed::default();
        let result = self.send(&mut load, &mut offered, &mut delayed);
        let ended = |line: &mut Line| -> Sent {
            line.settle();
            std::mem::take(&mut line.counts).finish(load.start_ns, &delayed)
        };
        let sent = self.outlets.iter_mut().map(ended).collect();
        result.map(|()| Ended {
            sent,
            offered,
            unsent: Vec::new(),
            speed: self.pace.meter.take(),
        })
    }

    fn stamp(&self) -> &str {
        &self.stamp
    }
}
