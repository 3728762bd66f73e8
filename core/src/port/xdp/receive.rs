//! Receives with an XDP program that stamps and checks each frame and writes a record of it.
//!
//! The program stays attached as long as this value lives, by a link that the kernel removes when the process ends in
//! any way.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray, RingBuf};

use crate::capture::bpf_ring;
use crate::capture::ring::CaptureRing;
use crate::capture::source::Direction;
use crate::error::{EngineError, Result};
use crate::frame::signature::{MASK_48, unwrap_48};
use crate::frame::view::{Fronts, Views};
use crate::host::kernel_clock::monotonic_ns;
use crate::interface::place::Place;
use crate::port::arrival::Arrival;
use crate::port::bpf::layout::{
    ArrivalRecord, CORRUPT, Claim, FreeWord, INTACT, MET_VIEWS, RECEIVE_OBJECT, RING_RECORDS,
    Receiver, STREAMS,
};
use crate::port::bpf::mapped::Mapped;
use crate::port::bpf::program::{attach, load};
use crate::port::expected::{Expected, VLAN_TAG_BYTES};
use crate::port::in_order::InOrder;
use crate::port::receive::Receive;

/// A frame has its record at most this long after its stamp.
const DELAY_NS: u64 = 1_000_000;

pub struct XdpReceive {
    state: Mapped<Receiver>,
    ring: Mapped<ArrivalRecord>,
    claims: Mapped<Claim>,
    /// Frames that the program took out, by CPU.
    taken: PerCpuArray<MapData, u64>,
    /// Next record to read.
    next: u64,
    in_order: InOrder,
    /// Present if the program computes views.
    views: Option<Seen>,
    fronts: Fronts,
    /// Of the trial; `None` where it does not watch changes.
    watched: Option<Views>,
    /// The trial keeps words of frames, which the program tells in place of views.
    keeps_words: bool,
    stamp: &'static str,
    /// The program is attached as long as this value lives.
    program: Ebpf,
    place: Place,
}

/// What the program says of the frames beside their records.
struct Seen {
    /// By the place of a record in the ring.
    views: Mapped<u64>,
    met: Mapped<u64>,
    fronts: RingBuf<MapData>,
    in_order: InOrder<(Arrival, u64)>,
}

/// The twin of `struct front` in `bpf/view.h`; the bytes of the front follow it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    view: u64,
    length: u32,
    kept: u32,
}

impl XdpReceive {
    pub fn open(place: &Place) -> Result<Self> {
        let mut object = load(std::slice::from_ref(place), RECEIVE_OBJECT, "receive")?;
        let map = |name| {
            object
                .map(name)
                .ok_or_else(|| io::Error::other("no such map"))
        };
        let state = map("receiver").and_then(|map| Mapped::new(map, 1));
        let state = state.map_err(|error| place.refusal("map the receiver's state", &error))?;
        let ring = map("ring").and_then(|map| Mapped::new(map, RING_RECORDS as usize));
        let ring = ring.map_err(|error| place.refusal("map the receiver's ring", &error))?;
        let claims = map("claims").and_then(|map| Mapped::new(map, STREAMS));
        let claims = claims.map_err(|error| place.refusal("map the expected streams", &error))?;
        let taken = object
            .take_map("taken")
            .ok_or_else(|| io::Error::other("no such map"));
        let taken = taken.and_then(|map| PerCpuArray::try_from(map).map_err(io::Error::other));
        let taken = taken.map_err(|error| place.refusal("read the receiver's count", &error))?;
        let views = match place.views {
            true => Some(Seen::take(&mut object)),
            false => None,
        };
        let views = views.transpose();
        let views = views.map_err(|error| place.refusal("map the views of frames", &error))?;
        let stamp = attach(place, &mut object, "receive")?;
        Ok(XdpReceive {
            state,
            ring,
            claims,
            taken,
            next: 0,
            in_order: InOrder::default(),
            views,
            fronts: Fronts::default(),
            watched: None,
            keeps_words: false,
            stamp,
            program: object,
            place: place.clone(),
        })
    }

    /// Takes all records that are complete.
    fn read_all(&mut self) {
        let head = self.state.load(offset_of!(Receiver, head));
        while self.next != head {
            let Some((stamp_ns, arrival)) = self.read(self.next) else {
                break;
            };
            match &mut self.views {
                Some(seen) if self.watched.is_some() || self.keeps_words => {
                    let place = seen.views.at((self.next % RING_RECORDS) as usize);
                    // SAFETY: inside the mapping; written before the lap of the record, which was read before.
                    let view = unsafe { place.read_volatile() };
                    seen.in_order.push(stamp_ns, (arrival, view));
                }
                _ => self.in_order.push(stamp_ns, arrival),
            }
            self.next += 1;
        }
        self.state.store(offset_of!(Receiver, tail), self.next);
    }

    /// Keeps the fronts that the program handed over.
    fn read_fronts(&mut self) {
        let (Some(seen), Some(watched)) = (&mut self.views, &self.watched) else {
            return;
        };
        while let Some(item) = seen.fronts.next() {
            let Some((head, front)) = item.split_at_checked(size_of::<Head>()) else {
                continue;
            };
            // SAFETY: `head` has the size of a `Head`, whose fields are plain integers.
            let head = unsafe { head.as_ptr().cast::<Head>().read_unaligned() };
            let kept = front.len().min(head.kept as usize);
            let length = head.length as usize;
            self.fronts
                .keep(head.view, &front[..kept], length, &watched.known);
        }
    }

    fn release(&mut self, until_ns: u64, sink: &mut dyn FnMut(Arrival, u64)) {
        match &mut self.views {
            Some(seen) if self.watched.is_some() || self.keeps_words => {
                let mut each = |(arrival, view)| sink(arrival, view);
                seen.in_order.release(until_ns, &mut each);
            }
            _ => self
                .in_order
                .release(until_ns, &mut |arrival| sink(arrival, 0)),
        }
    }

    fn read(&self, index: u64) -> Option<(u64, Arrival)> {
        let record = self.ring.at((index % RING_RECORDS) as usize);
        let lap = (index / RING_RECORDS + 1) & 0xFFF;
        // SAFETY: `record` is inside the mapping and aligned.
        let last = unsafe { AtomicU64::from_ptr(&raw mut (*record).sent_lap_class) };
        let last = last.load(Ordering::Acquire);
        if last >> 4 & 0xFFF != lap {
            return None;
        }
        // SAFETY: the lap was written after these, and the slot is not reused before `tail` moves on.
        let (received_ns, word) = unsafe { ((*record).received_ns, (*record).stream_and_sequence) };
        let (stream, sequence) = ((word >> 48) as u16, word & MASK_48);
        let arrival = match last & 0xF {
            INTACT => {
                let sent_ns = unwrap_48(last >> 16, received_ns);
                Arrival::Intact {
                    stream,
                    sequence,
                    sent_ns,
                    received_ns,
                }
            }
            CORRUPT => Arrival::Corrupt {
                stream,
                sequence,
                received_ns,
            },
            _ => Arrival::Foreign,
        };
        Some((received_ns, arrival))
    }
}

impl Seen {
    fn take(object: &mut Ebpf) -> io::Result<Self> {
        let missing = || io::Error::other("no such map");
        let mapped = |name, count| Mapped::new(object.map(name).ok_or_else(missing)?, count);
        let views = mapped("seen", RING_RECORDS as usize)?;
        let met = mapped("met", MET_VIEWS as usize)?;
        let fronts = object.take_map("fronts").ok_or_else(missing)?;
        Ok(Seen {
            views,
            met,
            fronts: RingBuf::try_from(fronts).map_err(io::Error::other)?,
            in_order: InOrder::default(),
        })
    }

    /// Forgets what was met in an earlier trial.
    fn begin(&mut self) {
        while self.fronts.next().is_some() {}
        self.in_order.clear();
        for place in 0..MET_VIEWS as usize {
            // SAFETY: inside the mapping; the program may write there at any time.
            unsafe { self.met.at(place).write_volatile(0) };
        }
    }
}

impl Receive for XdpReceive {
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        let place = std::slice::from_ref(&self.place);
        bpf_ring::of_program(&mut self.program, place, Direction::Incoming)
    }

    fn begin(&mut self, expected: &Expected) -> Result<()> {
        if expected.claims.len() > STREAMS {
            return Err(EngineError(format!(
                "streams: {} are more than the {STREAMS} that an xdp port tells apart",
                expected.claims.len()
            )));
        }
        if expected.views.is_some() || expected.words.is_some() {
            self.place.shows_tags()?;
            if self.views.is_none() {
                return Err(EngineError(format!(
                    "{}: the port was not opened to watch changes",
                    self.place.interface
                )));
            }
        }
        let state = self.state.at(0);
        self.state.store(offset_of!(Receiver, watching), 0);
        self.watched = expected.views.clone();
        self.keeps_words = expected.words.is_some();
        if let Some(seen) = &mut self.views {
            seen.in_order.clear();
        }
        if let (Some(seen), Some(_)) = (&mut self.views, &self.watched) {
            seen.begin();
            self.fronts.begin();
        }
        // SAFETY: inside the mappings; the program reads these only while `watching`.
        unsafe {
            (&raw mut (*state).first_stream).write_volatile(expected.first.into());
            (&raw mut (*state).streams).write_volatile(expected.claims.len() as u32);
            let window = expected.views.as_ref().map_or(0, |views| views.window);
            (&raw mut (*state).window).write_volatile(window.into());
            let words = expected.words.unwrap_or_default().map(u32::from);
            (&raw mut (*state).words).write_volatile(words);
            let views = expected.views.as_ref();
            let free = views.map_or(&[][..], |views| views.free.words());
            (&raw mut (*state).free_words).write_volatile(free.len() as u32);
            for (number, (at, bits)) in free.iter().enumerate() {
                (&raw mut (*state).free[number]).write_volatile(FreeWord {
                    bits: *bits,
                    at: (*at).into(),
                    pad: 0,
                });
            }
            for (index, claim) in expected.claims.iter().enumerate() {
                self.claims.at(index).write_volatile(Claim {
                    least: claim.least,
                    most: claim.most,
                    checked_from: claim.checked_from,
                    cut: if claim.tagged && self.place.removes_tags {
                        VLAN_TAG_BYTES as u8
                    } else {
                        0
                    },
                    room: claim.room,
                });
            }
        }
        self.in_order.clear();
        self.next = self.state.load(offset_of!(Receiver, head));
        self.state.store(offset_of!(Receiver, tail), self.next);
        self.state.store(offset_of!(Receiver, dropped), 0);
        self.state.store(offset_of!(Receiver, watching), 1);
        Ok(())
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
        let now_ns = monotonic_ns();
        self.read_all();
        self.read_fronts();
        self.release(now_ns.saturating_sub(DELAY_NS), sink);
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64 {
        self.state.store(offset_of!(Receiver, watching), 0);
        self.read_fronts();
        self.release(u64::MAX, sink);
        self.state.load(offset_of!(Receiver, dropped))
    }

    fn fronts(&self) -> &Fronts {
        &self.fronts
    }

    fn taken_frames(&self) -> Option<u64> {
        let counts = self.taken.get(&0, 0).ok()?;
        Some(counts.iter().sum())
    }

    fn stamp(&self) -> &str {
        self.stamp
    }
}
