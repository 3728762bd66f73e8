//! A device under test in virtual time, as a function of plan and seed.
//!
//! `device` holds the settings; `path` is the way from one port to another; `faults` decides what happens to frames
//! at random; `server` is a wire. `run` chooses who carries out a trial: `steady`, with `schedule` and `output`, a
//! single constant stream of one size; `traffic` any other, with a `sender` for each transmitting port, a `transit`
//! for each stream, and an `output_port` with its `shared_output` for each receiving port, or with `queues` for classes
//! of traffic, their `token_bucket`s and `marker`s. `bridge` decides by addresses and, with `snooping`, by groups,
//! `inputs` are queues, `outage` is a reset of the device, `cuts` are what events do to streams, `rewriting` is what it
//! writes into headers, `connections` is the table of a stateful device, `stops` are what the tester's host does to senders. `python` is the interface to Python. Nothing
//! in this module reads a clock; times are integer picoseconds since the first frame was due.

pub mod address_table;
pub mod bridge;
pub mod connections;
pub mod cuts;
pub mod device;
pub mod faults;
pub mod inputs;
pub mod outage;
pub mod output;
pub mod output_port;
pub mod path;
pub mod python;
pub mod queues;
pub mod rewriting;
pub mod run;
pub mod scene;
pub mod schedule;
pub mod sender;
pub mod senders;
pub mod server;
pub mod shared_output;
pub mod snooping;
pub mod steady;
pub mod stops;
pub mod token_bucket;
pub mod traffic;
pub mod transit;

/// Frames between two checks of the watch, which are a few milliseconds apart.
const BATCH: u64 = 1 << 15;
const STAMP: &str = "virtual time, exact";

/// Preamble, start delimiter and inter-frame gap: bytes that each frame occupies on the wire in addition.
pub const WIRE_OVERHEAD_BYTES: u32 = 20;

/// A time as a clock of this resolution shows it, rounded down. A resolution of zero is exact.
#[inline]
pub fn stamped(time_ps: u64, resolution_ps: u64) -> u64 {
    time_ps
        .checked_rem(resolution_ps)
        .map_or(time_ps, |rest| time_ps - rest)
}

/// Picoseconds that a frame occupies a wire of `bits_per_second`.
pub fn wire_ps(frame_bytes: u32, bits_per_second: f64) -> f64 {
    f64::from(frame_bytes + WIRE_OVERHEAD_BYTES) * 8e12 / bits_per_second
}
