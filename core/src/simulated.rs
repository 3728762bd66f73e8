//! A device under test that exists only in virtual time: a function of plan and seed.
//!
//! `device` is what the user described, `path` the way through it from one port to another,
//! `faults` what befalls frames by `chance`, `server` a wire. A trial of one constant stream of one
//! size is for `steady`, with its `schedule` and its `output`; any other is for `traffic`, with a
//! `sender` for each transmitting port, a `transit` for each stream and an `output_port` with its
//! `shared_output` for each receiving one; `bridge` looks at addresses, `inputs` queue, `outage` is when the device
//! is reset. `run` chooses and `python` is the door. Nothing here
//! reads a clock; times are integer picoseconds since the first frame was due.

pub mod address_table;
pub mod bridge;
pub mod classes;
pub mod device;
pub mod faults;
pub mod inputs;
pub mod outage;
pub mod output;
pub mod output_port;
pub mod path;
pub mod python;
pub mod run;
pub mod schedule;
pub mod sender;
pub mod senders;
pub mod server;
pub mod shared_output;
pub mod steady;
pub mod traffic;
pub mod transit;

/// Frames between two looks at the watch: a few milliseconds.
const BATCH: u64 = 1 << 15;
const STAMP: &str = "virtual time, exact";

/// Preamble, start delimiter and inter-frame gap: what a frame costs on the wire beside itself.
pub const WIRE_OVERHEAD_BYTES: u32 = 20;

/// A time as a clock of this resolution shows it: rounded down. A resolution of zero is exact.
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
