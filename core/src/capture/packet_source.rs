//! Captures by a packet socket with a ring (TPACKET_V3): what enters and leaves an interface's stack.
//!
//! The kernel stamps in software with CLOCK_REALTIME. It never takes a frame away from anybody, and sees
//! none that an XDP program consumes or sends (`bpf_ring.rs` does).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::capture::{Direction, Frame, Source};
use crate::port::{EngineError, Place, packet_socket};

const BLOCK_BYTES: usize = 1 << 20;
/// 64 MiB: half a second of a million small frames a second.
const BLOCKS: usize = 64;
const RING_BYTES: usize = BLOCK_BYTES * BLOCKS;
/// The kernel hands over a block that is not full after this time.
const RETIRE_MS: u32 = 2;

pub struct PacketSource {
    ring: NonNull<u8>,
    socket: OwnedFd,
    port: usize,
    /// False: only what leaves is captured.
    arrivals: bool,
    /// Block that the kernel hands over next.
    block: usize,
    dropped: u64,
}

// SAFETY: the ring belongs to this value alone and follows it to any thread.
unsafe impl Send for PacketSource {}

impl PacketSource {
    /// Captures from now on what leaves and, with `arrivals`, what arrives; `port` is its index in the capture.
    pub fn open(place: &Place, port: usize, arrivals: bool) -> Result<Self, EngineError> {
        let socket = packet_socket::open(place, true, arrange)?;
        // SAFETY: a new mapping of the ring that `arrange` asked for.
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
            return Err(place.refusal("map a capture ring", &io::Error::last_os_error()));
        }
        Ok(PacketSource {
            ring: NonNull::new(ring.cast()).expect("mmap returns no null pointer"),
            socket,
            port,
            arrivals,
            block: 0,
            dropped: 0,
        })
    }

    /// Hands over the frames of one block; `None` if the kernel still fills it.
    fn take_block(
        &mut self,
        sink: &mut dyn FnMut(&Frame) -> io::Result<()>,
    ) -> Option<io::Result<()>> {
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
        let mut outcome = Ok(());
        for _ in 0..frames {
            // SAFETY: the kernel wrote `frames` chained headers, each followed by a link address and its
            // frame, into the block.
            let (header, address, bytes) = unsafe {
                let header = at.cast::<libc::tpacket3_hdr>().read();
                let address = at.add(size_of::<libc::tpacket3_hdr>());
                let bytes = at.add(usize::from(header.tp_mac)).as_ptr();
                (
                    header,
                    address.cast::<libc::sockaddr_ll>().read_unaligned(),
                    std::slice::from_raw_parts(bytes, header.tp_snaplen as usize),
                )
            };
            let frame = self.frame(&header, &address, bytes);
            if self.arrivals || frame.direction == Direction::Outgoing {
                outcome = sink(&frame);
            }
            if outcome.is_err() {
                break;
            }
            // SAFETY: the offset leads to the next header; after the last frame it is not followed.
            at = unsafe { at.add(header.tp_next_offset as usize) };
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % BLOCKS;
        Some(outcome)
    }

    fn frame<'a>(
        &self,
        header: &libc::tpacket3_hdr,
        address: &libc::sockaddr_ll,
        bytes: &'a [u8],
    ) -> Frame<'a> {
        let tagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let protocol = match header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => libc::ETH_P_8021Q as u16,
            _ => header.hv1.tp_vlan_tpid,
        };
        let tag = u32::from(protocol) << 16 | header.hv1.tp_vlan_tci & 0xFFFF;
        Frame {
            port: self.port,
            time_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            direction: if address.sll_pkttype == libc::PACKET_OUTGOING {
                Direction::Outgoing
            } else {
                Direction::Incoming
            },
            length: header.tp_len,
            bytes,
            tag: tagged.then(|| tag.to_be_bytes()),
            end: None,
        }
    }
}

/// Asks for the ring and for stamps that are taken where a frame enters or leaves the stack.
fn arrange(socket: &OwnedFd) -> io::Result<()> {
    let set = |name, value: i32| packet_socket::set(socket, libc::SOL_PACKET, name, value);
    set(
        libc::PACKET_VERSION,
        libc::tpacket_versions::TPACKET_V3 as i32,
    )?;
    set(
        libc::PACKET_TIMESTAMP,
        libc::SOF_TIMESTAMPING_SOFTWARE as i32,
    )?;
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
}

impl Source for PacketSource {
    fn drain(&mut self, sink: &mut dyn FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        for _ in 0..BLOCKS {
            match self.take_block(sink) {
                Some(taken) => taken?,
                None => break,
            }
        }
        Ok(())
    }

    fn dropped(&mut self, port: usize) -> u64 {
        if port != self.port {
            return 0;
        }
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
        self.dropped += u64::from(statistics.tp_drops);
        self.dropped
    }
}

impl Drop for PacketSource {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`, of which no reference is left.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING_BYTES) };
    }
}
