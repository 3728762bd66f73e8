//! The twins of the structures in `bpf/wire.h` and the compiled programs themselves.
//!
//! Plain memory shared with the kernel: no methods beyond what reading it safely needs.

use aya::include_bytes_aligned;

pub const TEMPLATE_LENGTH: usize = 4096;
pub const BUCKETS: usize = 41 << 7;
pub const RING_RECORDS: u64 = 1 << 20;

pub const TRANSMIT_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/transmit.o"));
pub const RECEIVE_OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/receive.o"));

#[repr(C)]
pub struct Transmitter {
    pub frames: u64,
    pub give_up_ns: u64,
    pub period_ns: u64,
    pub period_fraction: u64,
    pub catch_up_ns: u64,
    pub stream_word: u64,
    pub length: u32,
    pub interface: u32,
    pub stop: u64,
    pub sequence: u64,
    pub due_ns: u64,
    pub due_fraction: u64,
    pub first_sent_ns: u64,
    pub last_sent_ns: u64,
    pub lag_max_ns: u64,
    pub postponed_ns: u64,
    pub postponements: u64,
    pub gaps: [u64; BUCKETS],
    pub template: [u8; TEMPLATE_LENGTH],
}

#[repr(C)]
pub struct Receiver {
    pub watching: u64,
    pub stream: u32,
    pub length: u32,
    pub checked_from: u32,
    pub unused: u32,
    pub dropped: u64,
    pub pad0: [u8; 96],
    pub head: u64,
    pub pad1: [u8; 120],
    pub tail: u64,
}

#[repr(C)]
pub struct Record {
    pub received_ns: u64,
    pub stream_and_sequence: u64,
    pub sent_lap_class: u64,
}

pub const INTACT: u64 = 0;
pub const CORRUPT: u64 = 1;
