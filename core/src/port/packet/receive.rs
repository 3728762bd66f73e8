//! Receives with an AF_PACKET ring (TPACKET_V3), which works on every interface.
//!
//! The kernel or the port's hardware stamps each frame (`stamping::received`). Frames also reach the stack of
//! the host, as without keisoku.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::frame::view::Fronts;
use crate::host::kernel_clock::monotonic_ns;
use crate::interface::packet_ring::{BLOCKS, PacketRing, RingFrame};
use crate::interface::place::Place;
use crate::interface::stamping::received::{ReceivedStamps, Stamped};
use crate::port::arrival::Arrival;
use crate::port::expected::{Expected, VLAN_TAG_BYTES};
use crate::port::in_order::InOrder;
use crate::port::receive::Receive;

/// An ample limit, because the kernel's timer has the resolution of a jiffy.
const DELAY_NS: u64 = 20_000_000;

pub struct PacketReceive {
    ring: PacketRing,
    stamps: ReceivedStamps,
    /// The stamp of the latest trial.
    stamp: String,
    begun_ns: u64,
    expected: Option<Expected>,
    in_order: InOrder<(Arrival, u64)>,
    fronts: Fronts,
}

impl PacketReceive {
    pub fn open(place: &Place) -> Result<Self> {
        let stamps = ReceivedStamps::open(place);
        Ok(PacketReceive {
            ring: PacketRing::open(place, stamps.flags(), true)?,
            stamp: stamps.text(),
            stamps,
            begun_ns: 0,
            expected: None,
            in_order: InOrder::default(),
            fronts: Fronts::default(),
        })
    }

    /// Takes the frames of one block; false if the kernel is still filling it.
    fn take_block(&mut self) -> bool {
        let PacketReceive {
            ring,
            stamps,
            begun_ns,
            expected,
            in_order,
            fronts,
            ..
        } = self;
        let taken = ring.take_block(|received| {
            if let Some(expected) = expected {
                let received_ns =
                    stamps.to_monotonic(received.header.tp_status, received.stamp_ns());
                if received_ns >= *begun_ns {
                    let found = if expected.views.is_none() && expected.words.is_none() {
                        let cut = cut_bytes(&received);
                        (expected.classify(received.bytes, cut, received_ns), 0)
                    } else if let Some(tag) = received.tag() {
                        let (macs, rest) = received.bytes.split_at(received.bytes.len().min(12));
                        let whole = [macs, &tag, rest].concat();
                        expected.look(&whole, received_ns, fronts)
                    } else {
                        expected.look(received.bytes, received_ns, fronts)
                    };
                    in_order.push(received_ns, found);
                }
            }
            ControlFlow::<()>::Continue(())
        });
        taken.is_some()
    }
}

/// Of a tag that the kernel keeps beside the frame.
fn cut_bytes(received: &RingFrame) -> usize {
    if received.is_untagged() {
        usize::from(VLAN_TAG_BYTES)
    } else {
        0
    }
}

impl Receive for PacketReceive {
    fn begin(&mut self, expected: &Expected) -> Result<()> {
        self.expected = None;
        for _ in 0..BLOCKS {
            self.take_block();
        }
        self.in_order.clear();
        self.ring.dropped();
        self.stamps.begin();
        if expected.views.is_some() {
            self.fronts.begin();
        }
        self.begun_ns = monotonic_ns();
        self.expected = Some(expected.clone());
        Ok(())
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
        self.stamps.track();
        let now_ns = monotonic_ns();
        while self.take_block() {}
        let mut each = |(arrival, view)| sink(arrival, view);
        self.in_order
            .release(now_ns.saturating_sub(DELAY_NS), &mut each);
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64 {
        self.expected = None;
        let mut each = |(arrival, view)| sink(arrival, view);
        self.in_order.release(u64::MAX, &mut each);
        self.stamp = self.stamps.text();
        self.ring.dropped()
    }

    fn fronts(&self) -> &Fronts {
        &self.fronts
    }

    fn stamped(&self) -> Option<Stamped> {
        self.stamps.stamped()
    }

    fn stamp(&self) -> &str {
        &self.stamp
    }
}
