//! The same structures as in `bpf/wire.h`, and the compiled programs.
//!
//! This is plain memory that is shared with the kernel. Names are those of `wire.h`, but for `ArrivalRecord` (`struct
//! record`). There are no methods beyond what reading the memory safely needs.

use aya::include_bytes_aligned;

use crate::frame::view::FREE_WORDS;
use crate::port::transmit::SHIFTS;

pub const LONGEST_FRAME: usize = 4096;
/// Of one lot of frames; a sender holds one or several.
pub const FRAMES_BYTES: usize = 1 << 24;
pub const BUCKETS: usize = 41 << 7;
pub const DEPARTURES: u64 = 1 << 18;
pub const OUTLETS: usize = 32;
pub const BATCHES: usize = 1 << 16;
pub const STREAMS: usize = 4096;
pub const RING_RECORDS: u64 = 1 << 20;
/// Places of views that were met lately (`bpf/view.h`).
pub const MET_VIEWS: u32 = 1 << 17;
pub const QUEUES: u32 = 64;
pub const STAMP_BYTES: usize = 8;

pub const TRANSMIT_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/transmit.o"));
pub const RECEIVE_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/receive.o"));
pub const REDIRECT_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/redirect.o"));
pub const PASS_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/pass.o"));
pub const REFUSED_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/refused.o"));

#[repr(C)]
#[derive(Clone, Copy)]
pub struct BatchTime {
    pub begun_ns: u64,
    pub took_ns: u64,
}

#[repr(C)]
pub struct Transmitter {
    pub give_up_ns: u64,
    pub catch_up_ns: u64,
    pub patience_ns: u64,
    pub stop: u64,
    pub filled: u64,
    pub next: u64,
    pub postponed_ns: u64,
    pub interrupted_ns: u64,
    pub interruptions: u64,
    pub last_ns: u64,
    pub waited_ns: u64,
    pub shifted: u64,
    pub batch_mask: u64,
    pub batch_from: u64,
    pub batch_begun_ns: u64,
    pub batches: u64,
    pub shifts: [Shift; SHIFTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Shift {
    pub sent_ns: u64,
    pub by_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Departure {
    pub due_ns: u64,
    pub stream_and_sequence: u64,
    pub offset: u32,
    pub length: u16,
    pub outlet: u16,
}

/// In `Departure::offset`: the frame is sent without a signature.
pub const UNSIGNED: u32 = 1;
/// In `Departure::offset`: room for an inner FCS follows the signature of the frame.
pub const ROOMY: u32 = 2;

#[repr(C)]
pub struct Outlet {
    pub interface: u64,
    pub skip_below: u64,
    pub skipped_from: u64,
    pub unsent: u64,
    pub offered: u64,
    pub first_sent_ns: u64,
    pub last_sent_ns: u64,
    pub lag_max_ns: u64,
    pub gaps: [u64; BUCKETS],
}

#[repr(C)]
pub struct Frames {
    pub bytes: [u8; FRAMES_BYTES + LONGEST_FRAME],
}

/// A word of the front with bits that do not count.
#[repr(C)]
pub struct FreeWord {
    pub bits: u64,
    pub at: u32,
    pub pad: u32,
}

#[repr(C)]
pub struct Receiver {
    pub watching: u64,
    pub first_stream: u32,
    pub streams: u32,
    pub dropped: u64,
    pub window: u32,
    pub free_words: u32,
    pub free: [FreeWord; FREE_WORDS],
    pub words: [u32; 2],
    pub pad: [u8; 56],
    pub head: u64,
    pub pad1: [u8; 120],
    pub tail: u64,
}

#[repr(C)]
pub struct Redirector {
    pub watching: u64,
    pub first_stream: u32,
    pub streams: u32,
    pub expected: u64,
    pub foreign: u64,
    pub taken: u64,
}

#[repr(C)]
pub struct Claim {
    pub least: u16,
    pub most: u16,
    pub checked_from: u16,
    pub cut: u8,
    pub room: u8,
}

#[repr(C)]
pub struct ArrivalRecord {
    pub received_ns: u64,
    pub stream_and_sequence: u64,
    pub sent_lap_class: u64,
}

pub const INTACT: u64 = 0;
pub const CORRUPT: u64 = 1;
