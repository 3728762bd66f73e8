//! The receive ring of a packet socket (TPACKET_V3): blocks of frames that the kernel hands over.
//!
//! It never interprets, stamps or stores a frame.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::interface::packet_socket;
use crate::interface::place::Place;

const BLOCK_BYTES: usize = 1 << 17;
/// 64 MiB: half a second of a million small frames a second. Of few frames it is a second: each block is then handed over
/// almost empty.
pub const BLOCKS: usize = 512;
const RING_BYTES: usize = BLOCK_BYTES * BLOCKS;
/// The kernel hands over a block that is not full after this time.
const RETIRE_MS: u32 = 2;
// At 1000 frames/s a reader that stood still for 122 ms lost 34 frames: 64 blocks were handed over in 128 ms.
const _: () = assert!(BLOCKS as u32 * RETIRE_MS >= 500);

pub struct PacketRing {
    ring: NonNull<u8>,
    socket: OwnedFd,
    /// The block that the kernel hands over next.
    block: usize,
}

// SAFETY: the ring belongs to this value alone and follows it to any thread.
unsafe impl Send for PacketRing {}

/// A frame in the ring, and what the kernel reports about it.
pub struct RingFrame<'a> {
    pub header: libc::tpacket3_hdr,
    pub address: libc::sockaddr_ll,
    pub bytes: &'a [u8],
}

impl RingFrame<'_> {
    /// The kernel's stamp, by whichever clock it was asked to use.
    pub fn stamp_ns(&self) -> u64 {
        u64::from(self.header.tp_sec) * 1_000_000_000 + u64::from(self.header.tp_nsec)
    }

    /// The tag that the kernel removed, as it was in the frame.
    pub fn tag(&self) -> Option<[u8; 4]> {
        let status = self.header.tp_status;
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => 0x8100,
            _ => self.header.hv1.tp_vlan_tpid,
        };
        let [p0, p1] = protocol.to_be_bytes();
        let [t0, t1] = (self.header.hv1.tp_vlan_tci as u16).to_be_bytes();
        Some([p0, p1, t0, t1])
    }

    /// True if the kernel removed a VLAN tag and keeps it beside the frame.
    pub fn is_untagged(&self) -> bool {
        self.header.tp_status & libc::TP_STATUS_VLAN_VALID != 0
    }
}

impl PacketRing {
    /// A ring of all frames at `place`, stamped where a frame enters or leaves the stack, by the clocks that `stamps`
    /// (PACKET_TIMESTAMP) names. With `arrivals_only` it omits what the host sends.
    pub fn open(place: &Place, stamps: i32, arrivals_only: bool) -> Result<Self> {
        let socket = packet_socket::open(place, true, |socket| {
            let set = |name, value: i32| packet_socket::set(socket, libc::SOL_PACKET, name, value);
            set(
                libc::PACKET_VERSION,
                libc::tpacket_versions::TPACKET_V3 as i32,
            )?;
            set(libc::PACKET_IGNORE_OUTGOING, arrivals_only.into())?;
            set(libc::PACKET_TIMESTAMP, stamps)?;
            // Without this option stamps are taken where the ring is filled.
            packet_socket::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
            let request = libc::tpacket_req3 {
                tp_block_size: BLOCK_BYTES as u32,
                tp_block_nr: BLOCKS as u32,
                tp_frame_size: 2048,
                tp_frame_nr: (RING_BYTES / 2048) as u32,
                tp_retire_blk_tov: RETIRE_MS,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)
        })?;
        // SAFETY: a new mapping of the ring that was just asked for.
        let ring = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                RING_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(place.refusal("map a packet socket's ring", &io::Error::last_os_error()));
        }
        Ok(PacketRing {
            ring: NonNull::new(ring.cast()).expect("mmap returns no null pointer"),
            socket,
            block: 0,
        })
    }

    /// Hands over the frames of one block until `sink` breaks; `None` if the kernel is still filling it.
    #[inline]
    pub fn take_block<B>(
        &mut self,
        mut sink: impl FnMut(RingFrame) -> ControlFlow<B>,
    ) -> Option<ControlFlow<B>> {
        // SAFETY: `block` is below BLOCKS, so the descriptor is inside the ring and aligned.
        let start = unsafe { self.ring.add(self.block * BLOCK_BYTES) };
        let descriptor = start.cast::<libc::tpacket_block_desc>().as_ptr();
        // SAFETY: the status is an aligned u32 that the kernel changes atomically.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*descriptor).hdr.bh1.block_status) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: until the status is given back the kernel leaves the block alone.
        let (frames, mut at) = unsafe {
            let header = &(*descriptor).hdr.bh1;
            (
                header.num_pkts,
                start.add(header.offset_to_first_pkt as usize),
            )
        };
        let mut flow = ControlFlow::Continue(());
        for _ in 0..frames {
            // SAFETY: the kernel wrote `frames` chained headers, each followed by a link address and its
            // frame, into the block.
            let received = unsafe {
                let header = at.cast::<libc::tpacket3_hdr>().read();
                let address = at.add(size_of::<libc::tpacket3_hdr>());
                let bytes = at.add(usize::from(header.tp_mac)).as_ptr();
                RingFrame {
                    header,
                    address: address.cast::<libc::sockaddr_ll>().read_unaligned(),
                    bytes: std::slice::from_raw_parts(bytes, header.tp_snaplen as usize),
                }
            };
            let next = received.header.tp_next_offset as usize;
            flow = sink(received);
            if flow.is_break() {
                break;
            }
            // SAFETY: the offset leads to the next header; after the last frame it is not followed.
            at = unsafe { at.add(next) };
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % BLOCKS;
        Some(flow)
    }

    /// Frames that found the ring full since the last call.
    pub fn dropped(&self) -> u64 {
        let mut statistics = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut size = size_of_val(&statistics) as u32;
        // SAFETY: the kernel writes at most the size given, and sets its own counts to zero.
        unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &mut size,
            )
        };
        u64::from(statistics.tp_drops)
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`, of which no reference is left.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING_BYTES) };
    }
}
