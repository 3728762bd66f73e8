//! A device under test that exists only in virtual time: a function of plan and seed.
//!
//! `device` is what the user described, `path` the way through it that one trial takes,
//! `schedule` the tester's sender, `output` the device's output port, `chance` its seeded
//! faults; `run` puts every frame through them and `python` is the door. Nothing here reads
//! a clock; times are integer picoseconds since the first frame was due.

pub mod chance;
pub mod device;
pub mod output;
pub mod path;
pub mod python;
pub mod run;
pub mod schedule;

/// Preamble, start delimiter and inter-frame gap: what a frame costs on the wire beside itself.
pub const WIRE_OVERHEAD_BYTES: u32 = 20;

/// Picoseconds that a frame occupies a wire of `bits_per_second`.
pub fn wire_ps(frame_bytes: u32, bits_per_second: f64) -> f64 {
    f64::from(frame_bytes + WIRE_OVERHEAD_BYTES) * 8e12 / bits_per_second
}
