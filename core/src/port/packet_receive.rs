//! Receives by an AF_PACKET ring (TPACKET_V3): works on every interface.
//!
//! The kernel stamps each frame in software with CLOCK_REALTIME when it enters the stack; the
//! stamps are brought to CLOCK_MONOTONIC. Frames go on to the host's stack as usual.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::port::open::Place;
use crate::port::{Arrival, Expected, Receive, Result, packet_socket};

const BLOCK_BYTES: usize = 1 << 20;
const BLOCKS: usize = 64;
const RING_BYTES: usize = BLOCK_BYTES * BLOCKS;
/// The kernel hands over a block that is not full after this time.
const RETIRE_MS: u32 = 2;
/// Generous: the kernel's timer has the granularity of a jiffy.
const DELAY_NS: u64 = 20_000_000;
/// A tag that the kernel took off and keeps beside the frame.
const VLAN_TAG_BYTES: usize = 4;

pub struct PacketReceive {
    ring: NonNull<u8>,
    socket: OwnedFd,
    /// Block that the kernel hands over next.
    block: usize,
    offset: RealtimeOffset,
    begun_ns: u64,
    expected: Option<Expected>,
}

// SAFETY: the ring belongs to this value alone and follows it to any thread.
unsafe impl Send for PacketReceive {}

impl PacketReceive {
    pub fn open(place: &Place) -> Result<Self> {
        let socket = packet_socket::open(place, true, |socket| {
            let set = |name, value: i32| packet_socket::set(socket, libc::SOL_PACKET, name, value);
            set(
                libc::PACKET_VERSION,
                libc::tpacket_versions::TPACKET_V3 as i32,
            )?;
            set(libc::PACKET_IGNORE_OUTGOING, 1)?;
            set(
                libc::PACKET_TIMESTAMP,
                libc::SOF_TIMESTAMPING_SOFTWARE as i32,
            )?;
            // Stamps then are taken where the frame enters the stack, not where the ring is filled.
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
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
            libc::mmap(
                std::ptr::null_mut(),
                RING_BYTES,
                access,
                flags,
                socket.as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(place.refusal("map a receive ring", &io::Error::last_os_error()));
        }
        let ring = NonNull::new(ring.cast()).expect("mmap returns no null pointer");
        let offset = RealtimeOffset::measure();
        Ok(PacketReceive {
            ring,
            socket,
            block: 0,
            offset,
            begun_ns: 0,
            expected: None,
        })
    }

    /// Frames that found the ring full since the last call.
    fn dropped(&self) -> u64 {
        let mut statistics = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut size = size_of_val(&statistics) as u32;
        // SAFETY: the kernel writes at most the size given.
        unsafe {
            let value = (&raw mut statistics).cast();
            let socket = self.socket.as_raw_fd();
            libc::getsockopt(
                socket,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                value,
                &mut size,
            )
        };
        u64::from(statistics.tp_drops)
    }

    /// Hands over the frames of one block; false if the kernel still fills it.
    fn take_block(&mut self, sink: &mut dyn FnMut(Arrival)) -> bool {
        // SAFETY: `block` is below BLOCKS, so the descriptor is inside the ring and aligned.
        let start = unsafe { self.ring.add(self.block * BLOCK_BYTES) };
        let descriptor = start.cast::<libc::tpacket_block_desc>().as_ptr();
        // SAFETY: the status is an aligned u32 that the kernel changes atomically.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*descriptor).hdr.bh1.block_status) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: until the status is given back the kernel leaves the block alone.
        let (frames, mut at) = unsafe {
            let header = &(*descriptor).hdr.bh1;
            (
                header.num_pkts,
                start.add(header.offset_to_first_pkt as usize),
            )
        };
        for _ in 0..frames {
            // SAFETY: the kernel wrote `frames` chained headers, each with its frame, into the block.
            let (header, frame) = unsafe {
                let header = at.cast::<libc::tpacket3_hdr>().read();
                let bytes = at.add(usize::from(header.tp_mac));
                (
                    header,
                    std::slice::from_raw_parts(bytes.as_ptr(), header.tp_snaplen as usize),
                )
            };
            self.take(&header, frame, sink);
            // SAFETY: the offset leads to the next header; after the last frame it is not followed.
            at = unsafe { at.add(header.tp_next_offset as usize) };
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % BLOCKS;
        true
    }

    #[inline]
    fn take(&self, header: &libc::tpacket3_hdr, frame: &[u8], sink: &mut dyn FnMut(Arrival)) {
        let Some(expected) = &self.expected else {
            return;
        };
        let realtime_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        let received_ns = self.offset.to_monotonic(realtime_ns);
        if received_ns < self.begun_ns {
            return;
        }
        let untagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let cut = if untagged { VLAN_TAG_BYTES } else { 0 };
        sink(expected.classify(frame, cut, received_ns));
    }
}

impl Receive for PacketReceive {
    fn begin(&mut self, expected: &Expected) -> Result<()> {
        self.expected = None;
        for _ in 0..BLOCKS {
            self.take_block(&mut |_| ());
        }
        self.dropped();
        self.offset = RealtimeOffset::measure();
        self.begun_ns = monotonic_ns();
        self.expected = Some(expected.clone());
        Ok(())
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Arrival)) {
        self.offset.track();
        while self.take_block(sink) {}
    }

    fn delay_ns(&self) -> u64 {
        DELAY_NS
    }

    fn end(&mut self) -> u64 {
        self.expected = None;
        self.dropped()
    }

    fn stamp(&self) -> &str {
        "CLOCK_REALTIME of the kernel at entry to its stack (AF_PACKET), brought to CLOCK_MONOTONIC"
    }
}

impl Drop for PacketReceive {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`, of which no reference is left.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING_BYTES) };
    }
}
