//! The ring buffer that `bpf/capture.h` fills: frames that XDP programs consume or send, with the stamps of these
//! programs.
//!
//! The program belongs to a port. This file requests the ring when the program is loaded and reads it afterwards. It
//! never changes the program.

use std::io;
use std::mem::offset_of;

use aya::maps::{HashMap, MapData, RingBuf};
use aya::{Ebpf, EbpfLoader};

use crate::capture::ring::CaptureRing;
use crate::capture::source::{Direction, Frame, FrameSource, PortRing};
use crate::clock::offset::RealtimeOffset;
use crate::error::Result;
use crate::frame::signature;
use crate::interface::place::Place;

/// 64 MiB hold half a second of a million small frames a second. Must be a power of two.
const RING_BYTES: u32 = 1 << 26;
const SMALLEST_RING_BYTES: u32 = 4096;
/// Frames handed over in one call, so that other sources are not delayed.
const TURN: u64 = 1 << 16;

/// The twin of `struct captured` in `bpf/capture.h`; as much of the frame as is kept follows it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    time_ns: u64,
    length: u32,
    interface: u32,
    direction: u16,
    end: [u8; signature::LENGTH],
    unused: u32,
}

/// Makes the program that `loader` loads next keep `bytes` of each frame; with 0 it captures nothing.
pub fn arrange<'a>(loader: &mut EbpfLoader<'a>, bytes: &'a u32) {
    let size = if *bytes == 0 {
        SMALLEST_RING_BYTES
    } else {
        RING_BYTES
    };
    loader
        .override_global("capture_bytes", bytes, true)
        .map_max_entries("captured", size);
}

/// The ring of the program that serves `places`; `None` if the program fills no ring or if its ring was taken
/// already.
pub fn of_program(
    object: &mut Ebpf,
    places: &[Place],
    direction: Direction,
) -> Result<Option<CaptureRing>> {
    if kept_bytes(places) == 0 {
        return Ok(None);
    }
    let ring =
        BpfRing::take(object).map_err(|error| places[0].refusal("read a capture ring", &error))?;
    Ok(ring.map(|ring| CaptureRing::new(Box::new(ring), places.to_vec(), direction)))
}

/// Bytes of each frame that a program of several ports keeps: the largest number that one of the ports asks for.
pub fn kept_bytes(places: &[Place]) -> u32 {
    let wanted = places.iter().map(|place| place.capture_bytes);
    wanted.max().unwrap_or(0)
}

/// What one program captures at all interfaces that it serves.
pub struct BpfRing {
    ring: RingBuf<MapData>,
    uncaptured: HashMap<MapData, u32, u64>,
    /// Index in the capture of each port, by the index of its interface.
    ports: Vec<(u32, usize)>,
    /// What CLOCK_MONOTONIC showed at the epoch, to be subtracted from a stamp. One value is used for a whole
    /// capture, so that differences between stamps are kept.
    epoch_ns: u64,
    /// Frames dropped before this capture began, by index in `ports`.
    before: Vec<u64>,
}

impl BpfRing {
    /// Takes the ring out of a loaded object; `None` if it was taken already.
    pub fn take(object: &mut Ebpf) -> io::Result<Option<Self>> {
        let (Some(ring), Some(uncaptured)) =
            (object.take_map("captured"), object.take_map("uncaptured"))
        else {
            return Ok(None);
        };
        Ok(Some(BpfRing {
            ring: RingBuf::try_from(ring).map_err(io::Error::other)?,
            uncaptured: HashMap::try_from(uncaptured).map_err(io::Error::other)?,
            ports: Vec::new(),
            epoch_ns: 0,
            before: Vec::new(),
        }))
    }

    fn count(&self, interface: u32) -> u64 {
        self.uncaptured.get(&interface, 0).unwrap_or(0)
    }
}

impl PortRing for BpfRing {
    fn begin(&mut self, ports: Vec<(u32, usize)>) {
        while self.ring.next().is_some() {}
        self.epoch_ns = RealtimeOffset::measure().to_monotonic(0);
        self.before = ports
            .iter()
            .map(|(interface, _)| self.count(*interface))
            .collect();
        self.ports = ports;
    }
}

impl FrameSource for BpfRing {
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        let mut frames = 0;
        while frames < TURN
            && let Some(item) = self.ring.next()
        {
            frames += 1;
            let Some((head, bytes)) = item.split_first_chunk::<{ size_of::<Head>() }>() else {
                continue;
            };
            // SAFETY: `head` has the size of a Head, which is integers for which any bits are valid.
            let own = unsafe { head.as_ptr().cast::<Head>().read_unaligned() };
            let Some((_, port)) = self.ports.iter().find(|(index, _)| *index == own.interface)
            else {
                continue;
            };
            let Ok(direction) = Direction::try_from(u32::from(own.direction)) else {
                continue;
            };
            let end = &head[offset_of!(Head, end)..];
            sink(&Frame {
                port: *port,
                time_ns: own.time_ns.wrapping_sub(self.epoch_ns),
                direction,
                length: own.length,
                bytes,
                tag: None,
                end: end.first_chunk(),
            })?;
        }
        Ok(())
    }

    fn dropped(&mut self, port: usize) -> u64 {
        let own = self.ports.iter().zip(&self.before);
        own.filter(|((_, number), _)| *number == port)
            .map(|((interface, _), before)| self.count(*interface) - before)
            .sum()
    }
}
