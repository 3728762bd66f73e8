//! The departures of a load in memory that the transmit program reads, and the frames that they refer to.
//!
//! Another thread writes departures ahead of the program, so that the program computes nothing. A departure that has
//! not left is never overwritten. Frames of a port without a link are not written, and have no sequence number; those
//! that were written before are skipped by the program.

use std::io;
use std::mem::offset_of;
use std::sync::Arc;

use aya::maps::Map;

use crate::error::{EngineError, Result};
use crate::frame::signature::MASK_48;
use crate::frame::table::Table;
use crate::host::kernel_clock::monotonic_ns;
use crate::port::bpf::layout::{
    DEPARTURES, Departure, FRAMES_BYTES, Frames, Outlet, ROOMY, UNSIGNED,
};
use crate::port::bpf::mapped::Mapped;
use crate::port::transmit::Load;

pub struct DepartureRing {
    departures: Arc<Mapped<Departure>>,
    outlets: Arc<Mapped<Outlet>>,
    frames: Mapped<Frames>,
    load: Option<(Load, Packed)>,
    /// Departures written since the load began.
    filled: u64,
    /// Frames written of each stream of the trial, without those that were skipped: the next sequence number.
    written: Vec<u64>,
    /// Frames of each stream among the first `counted` departures; only where `Load::is_near`.
    sent: Vec<u64>,
    counted: u64,
    /// Frames of each stream that were not sent, because their port had no link, and in all.
    unsent: Vec<u64>,
    all_unsent: u64,
    /// Frames of each port among these that were not written.
    pub left_out: Vec<u64>,
    /// Of each port, whether it has a link, and whether its departures are left out. They still are while departures that
    /// were written before are being skipped.
    links: Vec<(bool, bool)>,
}

/// How long before their due times departures are written where streams are switched or links may fail. It is the delay
/// of a command to a stream, and the longest time for which the writing thread may be interrupted.
const AHEAD_NS: u64 = 100_000_000;
/// The same while a port has no link: the frames of this time do not leave when it has one again.
const AHEAD_WITHOUT_LINK_NS: u64 = 20_000_000;

impl DepartureRing {
    /// `lots`: how many times `FRAMES_BYTES` the map of frames has room for.
    pub fn new(
        departures: Arc<Mapped<Departure>>,
        outlets: Arc<Mapped<Outlet>>,
        frames: &Map,
        lots: u32,
    ) -> io::Result<Self> {
        Ok(DepartureRing {
            departures,
            outlets,
            frames: Mapped::new(frames, lots as usize)?,
            load: None,
            filled: 0,
            written: Vec::new(),
            sent: Vec::new(),
            counted: 0,
            unsent: Vec::new(),
            all_unsent: 0,
            left_out: Vec::new(),
            links: Vec::new(),
        })
    }

    /// Begins a new load, at so many ports; the program must not be running.
    pub fn begin(&mut self, load: Load, packed: Packed, ports: usize) {
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
        self.unsent = vec![0; load.tables.len()];
        (self.all_unsent, self.left_out) = (0, vec![0; ports]);
        self.links = vec![(true, false); ports];
        self.load = Some((load, packed));
    }

    /// Whether the ports have a link, from the next call of `fill` on.
    pub fn tell_links(&mut self, up: &[bool]) {
        for (link, up) in self.links.iter_mut().zip(up) {
            link.0 = *up;
        }
    }

    /// Counts the departures before `next`, which have left or were skipped, and may then be overwritten.
    fn settle(&mut self, next: u64) {
        let first = self.load.as_ref().map_or(0, |(load, _)| load.first_stream);
        for index in self.counted..next {
            let departure = entry(&self.departures, index);
            let stream = stream_of(&departure, first);
            let outlet = self.outlets.at(departure.outlet.into());
            // SAFETY: inside the mapping; plain integers.
            let (from, below) = unsafe {
                let from = (&raw const (*outlet).skipped_from).read_volatile();
                (from, (&raw const (*outlet).skip_below).read_volatile())
            };
            if (from..below).contains(&index) {
                self.written[stream] -= 1;
                self.unsent[stream] += 1;
                self.all_unsent += 1;
            } else {
                self.sent[stream] += 1;
            }
        }
        self.counted = next;
    }

    /// Leaves the departures of ports without a link out from here on, and has those skipped that were written.
    fn obey_links(&mut self, next: u64) {
        for (port, (is_up, is_left_out)) in self.links.iter_mut().enumerate() {
            let outlet = self.outlets.at(port);
            // SAFETY: inside the mapping; the program writes the first field only after it has read the second.
            unsafe {
                if !*is_up && !*is_left_out {
                    (&raw mut (*outlet).skipped_from).write_volatile(u64::MAX);
                    (&raw mut (*outlet).skip_below).write_volatile(self.filled);
                    *is_left_out = true;
                } else if *is_up && *is_left_out {
                    *is_left_out = next < (&raw const (*outlet).skip_below).read_volatile();
                }
            }
        }
    }

    /// Writes departures until the ring is full; `next` is the first that has not left, and the program's schedule is
    /// `postponed_ns` late. Returns how many have been written in all.
    pub fn fill(&mut self, next: u64, postponed_ns: u64) -> u64 {
        let is_near = self.load.as_ref().is_some_and(|(load, _)| load.is_near());
        if is_near {
            self.settle(next);
            self.obey_links(next);
        }
        let Some((load, packed)) = &mut self.load else {
            return self.filled;
        };
        let mut until_ns = u64::MAX;
        if is_near {
            let now_ns = monotonic_ns();
            load.departures.obey(now_ns.saturating_sub(postponed_ns));
            load.departures.cut(now_ns);
            let all_up = self.links.iter().all(|link| !link.1);
            let ahead_ns = if all_up {
                AHEAD_NS
            } else {
                AHEAD_WITHOUT_LINK_NS
            };
            until_ns = now_ns.saturating_sub(postponed_ns) + ahead_ns;
        }
        while self.filled - next < DEPARTURES {
            let Some(departure) = load.departures.next_by(until_ns) else {
                break;
            };
            let stream = departure.stream;
            let outlet = load.outlets[stream].unwrap_or(0);
            if self.links[outlet].1 {
                self.unsent[stream] += 1;
                self.all_unsent += 1;
                self.left_out[outlet] += 1;
                continue;
            }
            let (table, offsets) = &packed.tables[packed.of_stream[stream]];
            let sequence = self.written[stream];
            let variant = match table.len() {
                1 => 0,
                variants => (sequence % variants as u64) as usize,
            };
            let number = load.first_stream.wrapping_add(stream as u16);
            let entry = Departure {
                due_ns: departure.due_ns,
                stream_and_sequence: u64::from(number) << 48 | (sequence & MASK_48),
                offset: offsets[variant],
                length: table.frame(variant).len() as u16,
                outlet: outlet as u16,
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

    /// The frames of each stream that were not sent when the ring was last filled.
    pub fn unsent(&self) -> &[u64] {
        &self.unsent
    }

    /// How many departures were skipped.
    pub fn skipped(&self) -> u64 {
        self.all_unsent - self.left_out.iter().sum::<u64>()
    }

    /// The frames of each stream that have left, and those that were not sent, when `next` is the first departure that
    /// has not left.
    pub fn end(&mut self, next: u64) -> (Vec<u64>, Vec<u64>) {
        let first = self.load.as_ref().map_or(0, |(load, _)| load.first_stream);
        if self.load.as_ref().is_some_and(|(load, _)| load.is_near()) {
            self.settle(next);
        }
        let mut offered = self.written.clone();
        for left in next..self.filled {
            offered[stream_of(&entry(&self.departures, left), first)] -= 1;
        }
        (offered, self.unsent.clone())
    }
}

fn stream_of(departure: &Departure, first: u16) -> usize {
    usize::from(((departure.stream_and_sequence >> 48) as u16).wrapping_sub(first))
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
