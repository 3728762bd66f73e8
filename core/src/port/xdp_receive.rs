//! Receives with an XDP program that stamps and checks each frame and writes a record of it.
//!
//! The program stays attached as long as this value lives, by a link that the kernel removes when the process ends in
//! any way.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray};
use aya::programs::{ProgramError, Xdp, XdpMode};

use crate::capture::{CaptureRing, Direction, bpf_ring};
use crate::clock::monotonic_ns;
use crate::error::{EngineError, Result};
use crate::netns;
use crate::port::expected::VLAN_TAG_BYTES;
use crate::port::in_order::InOrder;
use crate::port::layout::{
    ArrivalRecord, CORRUPT, Claim, INTACT, RECEIVE_OBJECT, RING_RECORDS, Receiver, STREAMS,
};
use crate::port::mapped::Mapped;
use crate::port::xdp_transmit::load;
use crate::port::{Arrival, Expected, Place, Receive};
use crate::signature::{MASK_48, unwrap_48};

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
    stamp: &'static str,
    /// The program is attached as long as this value lives.
    program: Ebpf,
    place: Place,
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
        let stamp = attach(place, &mut object, "receive")?;
        Ok(XdpReceive {
            state,
            ring,
            claims,
            taken,
            next: 0,
            in_order: InOrder::default(),
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
            self.in_order.push(stamp_ns, arrival);
            self.next += 1;
        }
        self.state.store(offset_of!(Receiver, tail), self.next);
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
            CORRUPT => Arrival::Corrupt { stream, sequence },
            _ => Arrival::Foreign,
        };
        Some((received_ns, arrival))
    }
}

/// Why a driver or the kernel refused to attach a program.
pub fn refused(error: ProgramError) -> io::Error {
    match error {
        ProgramError::SyscallError(error) => error.io_error,
        error => io::Error::other(error),
    }
}

/// Attaches the program `name` natively, or generically if the driver refuses. Returns which.
pub fn attach(place: &Place, object: &mut Ebpf, name: &str) -> Result<&'static str> {
    let index = place.index()?;
    netns::within(place.namespace.as_deref(), || {
        let program = object
            .program_mut(name)
            .ok_or_else(|| io::Error::other("no program"))?;
        let program: &mut Xdp = program.try_into().map_err(io::Error::other)?;
        if program.attach_to_if_index(index, XdpMode::Driver).is_ok() {
            return Ok("CLOCK_MONOTONIC in XDP, native");
        }
        match program.attach_to_if_index(index, XdpMode::Skb) {
            Ok(_) => Ok("CLOCK_MONOTONIC in XDP, generic"),
            Err(error) => Err(refused(error)),
        }
    })
    .map_err(|error| place.refusal("attach an XDP program", &error))
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
        let state = self.state.at(0);
        self.state.store(offset_of!(Receiver, watching), 0);
        // SAFETY: inside the mappings; the program reads these only while `watching`.
        unsafe {
            (&raw mut (*state).first_stream).write_volatile(expected.first.into());
            (&raw mut (*state).streams).write_volatile(expected.claims.len() as u32);
            for (index, claim) in expected.claims.iter().enumerate() {
                self.claims.at(index).write_volatile(Claim {
                    least: claim.least,
                    most: claim.most,
                    checked_from: claim.checked_from,
                    cut: if claim.tagged && self.place.removes_tags {
                        VLAN_TAG_BYTES
                    } else {
                        0
                    },
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

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival)) {
        let now_ns = monotonic_ns();
        self.read_all();
        self.in_order.release(now_ns.saturating_sub(DELAY_NS), sink);
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self, sink: &mut dyn FnMut(Arrival)) -> u64 {
        self.state.store(offset_of!(Receiver, watching), 0);
        self.in_order.release(u64::MAX, sink);
        self.state.load(offset_of!(Receiver, dropped))
    }

    fn taken(&self) -> Option<u64> {
        let counts = self.taken.get(&0, 0).ok()?;
        Some(counts.iter().sum())
    }

    fn stamp(&self) -> &str {
        self.stamp
    }
}
