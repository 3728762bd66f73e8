//! Receives through AF_XDP sockets, one for each queue of the interface.
//!
//! A BPF program (`bpf/redirect.c`) stamps each frame and hands it to the socket of its queue; `Expected` classifies it
//! here. What the program counted and no socket delivered was dropped by the tester.

use std::mem::offset_of;
use std::thread;
use std::time::Duration;

use aya::Ebpf;

use crate::capture::bpf_ring;
use crate::capture::ring::CaptureRing;
use crate::capture::source::Direction;
use crate::error::Result;
use crate::frame::view::Fronts;
use crate::host::kernel_clock::monotonic_ns;
use crate::interface::place::Place;
use crate::port::afxdp::socket::Receiving;
use crate::port::arrival::Arrival;
use crate::port::bpf::layout::{Redirector, STAMP_BYTES};
use crate::port::bpf::mapped::Mapped;
use crate::port::expected::{Expected, VLAN_TAG_BYTES};
use crate::port::in_order::InOrder;
use crate::port::receive::Receive;

/// A frame is in its socket's ring at most this long after its stamp: the driver shows the frames of a poll together.
const DELAY_NS: u64 = 1_000_000;
/// Tries, 1 ms apart, to find a frame at the end of a trial that was stamped but is not in a ring yet.
const LAST_LOOKS: u32 = 3;

pub struct AfXdpReceive {
    state: Mapped<Redirector>,
    queues: Vec<Receiving>,
    in_order: InOrder<(Arrival, u64)>,
    fronts: Fronts,
    expected: Expected,
    /// Frames read from the rings, and frames of others handed over, since the trial began.
    read: u64,
    foreign: u64,
    /// Frames that the program handed over and no socket took, in all trials that ended.
    refused: u64,
    stamp: String,
    /// What the sockets could not take before the trial began, and why frames were dropped in the latest one.
    before: Refused,
    reason: Option<String>,
    /// The program is attached as long as this value lives.
    program: Ebpf,
    place: Place,
}

/// The kernel's counts of frames that sockets could not take (XDP_STATISTICS), of all queues.
#[derive(Clone, Copy, Default)]
struct Refused {
    ring_full: u64,
    no_chunk: u64,
    other: u64,
}

impl AfXdpReceive {
    pub fn new(
        state: Mapped<Redirector>,
        sockets: Vec<Receiving>,
        stamp: String,
        program: Ebpf,
        place: &Place,
    ) -> Self {
        AfXdpReceive {
            state,
            queues: sockets,
            in_order: InOrder::default(),
            fronts: Fronts::default(),
            expected: Expected::default(),
            read: 0,
            foreign: 0,
            refused: 0,
            stamp,
            before: Refused::default(),
            reason: None,
            program,
            place: place.clone(),
        }
    }

    /// Reads all rings, and hands over in the order of their stamps what no queue can precede any more.
    fn merge(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
        // Read before the rings: what is stamped later may still be on its way to one.
        let settled_ns = monotonic_ns().saturating_sub(DELAY_NS);
        self.read_rings();
        let mut each = |(arrival, view)| sink(arrival, view);
        self.in_order.release(settled_ns, &mut each);
    }

    /// Classifies what is in the rings.
    fn read_rings(&mut self) {
        let AfXdpReceive {
            queues,
            in_order,
            expected,
            fronts,
            read,
            place,
            ..
        } = self;
        for queue in queues.iter_mut() {
            queue.drain(|bytes| {
                *read += 1;
                if let Some((stamp_ns, found)) =
                    classified(expected, place.removes_tags, fronts, bytes)
                {
                    in_order.push(stamp_ns, found);
                }
            });
        }
    }

    fn refused(&self) -> Refused {
        let mut all = Refused::default();
        for queue in &self.queues {
            let Ok(counts) = queue.socket.statistics() else {
                continue;
            };
            all.ring_full += counts.rx_ring_full;
            all.no_chunk += counts.rx_fill_ring_empty_descs;
            all.other += counts.rx_dropped;
        }
        all
    }
}

/// The stamp in front of a frame, what the frame is, and its view.
#[inline]
fn classified(
    expected: &Expected,
    removes_tags: bool,
    fronts: &mut Fronts,
    bytes: &[u8],
) -> Option<(u64, (Arrival, u64))> {
    let (stamp, frame) = bytes.split_first_chunk::<STAMP_BYTES>()?;
    let stamp_ns = u64::from_ne_bytes(*stamp);
    let seen = match expected.look(frame, stamp_ns, fronts) {
        (Arrival::Corrupt { stream, .. }, _) if removes_tags && expected.is_tagged(stream) => {
            // Ports that remove tags watch no changes, so that there is no view.
            (expected.classify(frame, VLAN_TAG_BYTES.into(), stamp_ns), 0)
        }
        seen => seen,
    };
    Some((stamp_ns, seen))
}

impl Receive for AfXdpReceive {
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        let place = std::slice::from_ref(&self.place);
        bpf_ring::of_program(&mut self.program, place, Direction::Incoming)
    }

    fn begin(&mut self, expected: &Expected) -> Result<()> {
        if expected.views.is_some() {
            self.place.shows_tags()?;
            self.fronts.begin();
        }
        self.state.store(offset_of!(Redirector, watching), 0);
        for queue in &mut self.queues {
            queue.drain(|_| ());
        }
        self.in_order.clear();
        self.expected = expected.clone();
        self.before = self.refused();
        self.reason = None;
        (self.read, self.foreign) = (0, 0);
        let state = self.state.at(0);
        // SAFETY: inside the mapping; the program reads these only while `watching`.
        unsafe {
            (&raw mut (*state).first_stream).write_volatile(expected.first.into());
            (&raw mut (*state).streams).write_volatile(expected.claims.len() as u32);
        }
        self.state.store(offset_of!(Redirector, expected), 0);
        self.state.store(offset_of!(Redirector, foreign), 0);
        self.state.store(offset_of!(Redirector, watching), 1);
        Ok(())
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
        let foreign = self.state.load(offset_of!(Redirector, foreign));
        for _ in self.foreign..foreign {
            sink(Arrival::Foreign, 0);
        }
        self.foreign = foreign;
        match &mut self.queues[..] {
            [only] => {
                let (expected, read) = (&self.expected, &mut self.read);
                let (fronts, removes_tags) = (&mut self.fronts, self.place.removes_tags);
                only.drain(|bytes| {
                    *read += 1;
                    if let Some((_, (arrival, view))) =
                        classified(expected, removes_tags, fronts, bytes)
                    {
                        sink(arrival, view);
                    }
                });
            }
            _ => self.merge(sink),
        }
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64 {
        self.state.store(offset_of!(Redirector, watching), 0);
        let expected = self.state.load(offset_of!(Redirector, expected));
        for _ in 0..LAST_LOOKS {
            self.read_rings();
            if self.read >= expected {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut each = |(arrival, view)| sink(arrival, view);
        self.in_order.release(u64::MAX, &mut each);
        let dropped = expected.saturating_sub(self.read);
        self.refused += dropped;
        if dropped > 0 {
            self.reason = Some(self.refused().since(&self.before));
        }
        dropped
    }

    fn fronts(&self) -> &Fronts {
        &self.fronts
    }

    /// A driver that counts what a program drops counts what a socket refuses, too. What a socket gets is no drop.
    fn taken_frames(&self) -> Option<u64> {
        Some(self.state.load(offset_of!(Redirector, taken)) + self.refused)
    }

    fn drop_reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    fn stamp(&self) -> &str {
        &self.stamp
    }
}

impl Refused {
    /// What happened since `before`, as a clause.
    fn since(&self, before: &Refused) -> String {
        let counts = [
            ("receive ring full", self.ring_full - before.ring_full),
            ("fill ring empty", self.no_chunk - before.no_chunk),
            ("refused by the socket", self.other - before.other),
        ];
        let named: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what}: {count}"))
            .collect();
        match named.is_empty() {
            true => "the kernel says no reason".into(),
            false => named.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_socket_could_not_take_is_named() {
        let before = Refused {
            ring_full: 3,
            ..Refused::default()
        };
        let after = Refused {
            ring_full: 5,
            no_chunk: 1,
            other: 0,
        };
        assert_eq!(
            after.since(&before),
            "receive ring full: 2, fill ring empty: 1"
        );
        assert_eq!(before.since(&before), "the kernel says no reason");
    }
}
