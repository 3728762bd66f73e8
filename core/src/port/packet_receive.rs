//! Receives with an AF_PACKET ring (TPACKET_V3), which works on every interface.
//!
//! The kernel or the port's hardware stamps each frame (`stamping::ReceivedStamps`). Frames also reach the stack of
//! the host, as without keisoku.

use std::ops::ControlFlow;

use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::port::packet_ring::{BLOCKS, PacketRing, RingFrame};
use crate::port::{Arrival, Expected, Place, Receive};
use crate::stamping::ReceivedStamps;

/// An ample limit, because the kernel's timer has the resolution of a jiffy.
const DELAY_NS: u64 = 20_000_000;
/// Bytes of a VLAN tag that the kernel removes and keeps beside the frame.
const VLAN_TAG_BYTES: usize = 4;

pub struct PacketReceive {
    ring: PacketRing,
    stamps: ReceivedStamps,
    /// The stamp of the latest trial.
    stamp: String,
    begun_ns: u64,
    expected: Option<Expected>,
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
        })
    }

    /// Hands over the frames of one block; false if the kernel is still filling it.
    fn take_block(&mut self, sink: &mut dyn FnMut(Arrival)) -> bool {
        let PacketReceive {
            ring,
            stamps,
            begun_ns,
            expected,
            ..
        } = self;
        let taken = ring.take_block(|received| {
            if let Some(expected) = expected {
                let received_ns =
                    stamps.to_monotonic(received.header.tp_status, received.stamp_ns());
                if received_ns >= *begun_ns {
                    sink(expected.classify(received.bytes, cut_bytes(&received), received_ns));
                }
            }
            ControlFlow::<()>::Continue(())
        });
        taken.is_some()
    }
}

fn cut_bytes(received: &RingFrame) -> usize {
    if received.is_untagged() {
        VLAN_TAG_BYTES
    } else {
        0
    }
}

impl Receive for PacketReceive {
    fn begin(&mut self, expected: &Expected) -> Result<()> {
        self.expected = None;
        for _ in 0..BLOCKS {
            self.take_block(&mut |_| ());
        }
        self.ring.dropped();
        self.stamps.begin();
        self.begun_ns = monotonic_ns();
        self.expected = Some(expected.clone());
        Ok(())
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival)) {
        self.stamps.track();
        while self.take_block(sink) {}
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self) -> u64 {
        self.expected = None;
        self.stamp = self.stamps.text();
        self.ring.dropped()
    }

    fn stamp(&self) -> &str {
        &self.stamp
    }
}
