//! Captures frames with a packet socket and its ring (TPACKET_V3): what enters and leaves the stack of an interface.
//!
//! The kernel stamps in software with CLOCK_REALTIME. The socket never takes a frame away from another receiver. It
//! does not see frames that an XDP program consumes or sends; `bpf_ring.rs` captures those.

use std::io;
use std::ops::ControlFlow;

use crate::capture::source::{Direction, Frame, FrameSource};
use crate::error::Result;
use crate::interface::packet_ring::{BLOCKS, PacketRing, RingFrame};
use crate::interface::place::Place;

pub struct PacketSource {
    ring: PacketRing,
    port: usize,
    /// If false, only frames that leave are captured.
    arrivals: bool,
    dropped: u64,
}

impl PacketSource {
    /// Captures frames that leave from now on and, if `arrivals` is true, frames that arrive. `port` is the index of
    /// the port in the capture.
    pub fn open(place: &Place, port: usize, arrivals: bool) -> Result<Self> {
        let software = libc::SOF_TIMESTAMPING_SOFTWARE as i32;
        Ok(PacketSource {
            ring: PacketRing::open(place, software, false)?,
            port,
            arrivals,
            dropped: 0,
        })
    }
}

fn frame<'a>(received: &RingFrame<'a>, port: usize) -> Frame<'a> {
    let header = &received.header;
    let protocol = match header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => libc::ETH_P_8021Q as u16,
        _ => header.hv1.tp_vlan_tpid,
    };
    let tag = u32::from(protocol) << 16 | header.hv1.tp_vlan_tci & 0xFFFF;
    Frame {
        port,
        time_ns: received.stamp_ns(),
        direction: if received.address.sll_pkttype == libc::PACKET_OUTGOING {
            Direction::Outgoing
        } else {
            Direction::Incoming
        },
        length: header.tp_len,
        bytes: received.bytes,
        tag: received.is_untagged().then(|| tag.to_be_bytes()),
        end: None,
    }
}

impl FrameSource for PacketSource {
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        let (port, arrivals) = (self.port, self.arrivals);
        for _ in 0..BLOCKS {
            let taken = self.ring.take_block(|received| {
                let frame = frame(&received, port);
                if !arrivals && frame.direction != Direction::Outgoing {
                    return ControlFlow::Continue(());
                }
                match sink(&frame) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                }
            });
            match taken {
                Some(ControlFlow::Continue(())) => {}
                Some(ControlFlow::Break(error)) => return Err(error),
                None => break,
            }
        }
        Ok(())
    }

    fn dropped(&mut self, port: usize) -> u64 {
        if port != self.port {
            return 0;
        }
        self.dropped += self.ring.dropped();
        self.dropped
    }
}
