//! The departures of a load in memory that the transmit program reads, and the frames that they refer to.
//!
//! Another thread writes departures ahead of the program, so that the program computes nothing. A departure that has
//! not left is never overwritten.

use std::io;
use std::mem::offset_of;
use std::sync::Arc;

use aya::maps::Map;

use crate::error::{EngineError, Result};
use crate::frame::signature::MASK_48;
use crate::frame::table::Table;
use crate::host::kernel_clock::monotonic_ns;
use crate::port::bpf::layout::{DEPARTURES, Departure, FRAMES_BYTES, Frames, ROOMY, UNSIGNED};
use crate::port::bpf::mapped::Mapped;
use crate::port::transmit::Load;

pub struct DepartureRing {
    departures: Arc<Mapped<Departure>>,
    frames: Mapped<Frames>,
    load: Option<(Load, Packed)>,
    /// Departures written since the load began.
    filled: u64,
    /// Frames written of each stream of the trial.
    written: Vec<u64>,
    /// Frames of each stream among the first `counted` departures; only where streams are switched one by one.
    sent: Vec<u64>,
    counted: u64,
}

/// How long before their due times departures are written where streams are switched. It is the delay of a command to
/// a stream, and the longest time for which the writing thread may be interrupted.
const AHEAD_NS: u64 = 100_000_000;

impl DepartureRing {
    /// `lots`: how many times `FRAMES_BYTES` the map of frames has room for.
    pub fn new(departures: Arc<Mapped<Departure>>, frames: &Map, lots: u32) -> io::Result<Self> {
        Ok(DepartureRing {
            departures,
            frames: Mapped::new(frames, lots as usize)?,
            load: None,
            filled: 0,
            written: Vec::new(),
            sent: Vec::new(),
            counted: 0,
        })
    }

    /// Begins a new load; the program must not be running.
    pub fn begin(&mut self, load: Load, packed: Packed) {
        for (table, offsets) in &packed.tables {
            for (frame, offset) in table.frames().zip(offsets) {
                let at = (offset & !(UNSIGNED | ROOMY)) as usize;
                let lot: *mut u8 = self.frames.at(at / FRAMES_BYTES).cast();
                // SAFETY: `Packed::new` has made sure that all frames lie inside the lots, behind each of which there is
                // room for the frame that begins at its last bytes.
                unsafe {
                    let place = lot.add(at % FRAMES_BYTES);
                    place.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
                }
            }
        }
        self.filled = 0;
        self.written = vec![0; load.tables.len()];
        self.sent = vec![0; load.tables.len()];
        self.counted = 0;
        self.load = Some((load, packed));
    }

    /// Writes departures until the ring is full; `next` is the first that has not left, and the program's schedule is
    /// `postponed_ns` late. Returns how many have been written in all.
    pub fn fill(&mut self, next: u64, postponed_ns: u64) -> u64 {
        let Some((load, packed)) = &mut self.load else {
            return self.filled;
        };
        let mut until_ns = u64::MAX;
        if load.departures.switches().is_some() {
            // Departures that have left may now be overwritten.
            for index in self.counted..next {
                let number = (entry(&self.departures, index).stream_and_sequence >> 48) as u16;
                self.sent[usize::from(number.wrapping_sub(load.first_stream))] += 1;
            }
            self.counted = next;
            let now_ns = monotonic_ns();
            load.departures.obey(now_ns.saturating_sub(postponed_ns));
            load.departures.cut(now_ns);
            until_ns = now_ns.saturating_sub(postponed_ns) + AHEAD_NS;
        }
        while self.filled - next < DEPARTURES {
            let Some(departure) = load.departures.next_by(until_ns) else {
                break;
            };
            let stream = departure.stream;
            let (table, offsets) = &packed.tables[packed.of_stream[stream]];
            let variant = match table.len() {
                1 => 0,
                variants => (departure.sequence % variants as u64) as usize,
            };
            let number = load.first_stream.wrapping_add(stream as u16);
            let entry = Departure {
                due_ns: departure.due_ns,
                stream_and_sequence: u64::from(number) << 48 | (departure.sequence & MASK_48),
                offset: offsets[variant],
                length: table.frame(variant).len() as u16,
                outlet: load.outlets[stream].unwrap_or(0) as u16,
            };
            let slot = self.departures.at((self.filled % DEPARTURES) as usize);
            // SAFETY: inside the mapping; the program does not read it before `filled` is told.
            unsafe { slot.write_volatile(entry) };
            self.filled += 1;
            self.written[stream] += 1;
        }
        self.filled
    }

    /// The frames of each stream that had left when the ring was last filled.
    pub fn sent(&self) -> &[u64] {
        &self.sent
    }

    /// The frames of each stream that have left when `next` is the first departure that has not.
    pub fn offered(&self, next: u64) -> Vec<u64> {
        let mut offered = self.written.clone();
        let first = self.load.as_ref().map_or(0, |(load, _)| load.first_stream);
        for left in next..self.filled {
            let number = (entry(&self.departures, left).stream_and_sequence >> 48) as u16;
            offered[usize::from(number.wrapping_sub(first))] -= 1;
        }
        offered
    }
}

/// Departure number `index`, which must have been written and not yet overwritten.
pub fn entry(departures: &Mapped<Departure>, index: u64) -> Departure {
    let slot = departures.at((index % DEPARTURES) as usize);
    // SAFETY: inside the mapping; plain integers.
    unsafe { slot.read_volatile() }
}

/// Where each frame of a load's tables lies in the map.
pub struct Packed {
    /// Each table once, with the `Departure::offset` of each of its frames.
    tables: Vec<(Arc<Table>, Vec<u32>)>,
    /// Which of them each stream of the trial uses.
    of_stream: Vec<usize>,
    pub longest: usize,
}

impl Packed {
    /// Refuses tables that do not fit into so many lots.
    pub fn new(load: &Load, lots: u32) -> Result<Self> {
        assert!(offset_of!(Frames, bytes) == 0);
        let mut packed = Packed {
            tables: Vec::new(),
            of_stream: Vec::new(),
            longest: 0,
        };
        let mut end = 0;
        for (stream, table) in load.tables.iter().enumerate() {
            if load.outlets[stream].is_none() {
                packed.of_stream.push(0);
                continue;
            }
            let known = |(other, _): &(Arc<Table>, Vec<u32>)| Arc::ptr_eq(other, table);
            if let Some(place) = packed.tables.iter().position(known) {
                packed.of_stream.push(place);
                continue;
            }
            let mut offsets = Vec::with_capacity(table.len());
            for frame in table.frames() {
                let unsigned = if table.signed { 0 } else { UNSIGNED };
                let roomy = if table.room > 0 { ROOMY } else { 0 };
                offsets.push(end as u32 | unsigned | roomy);
                end += frame.len().next_multiple_of(8);
                packed.longest = packed.longest.max(frame.len());
            }
            packed.of_stream.push(packed.tables.len());
            packed.tables.push((table.clone(), offsets));
        }
        let room = FRAMES_BYTES * lots as usize;
        if end > room {
            return Err(EngineError(format!(
                "frames: {} bytes of different frames are more than the {} MiB that a sender holds; use fewer variants or smaller frames",
                end,
                room >> 20
            )));
        }
        Ok(packed)
    }
}
