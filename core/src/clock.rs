//! Clocks of this host, all converted to CLOCK_MONOTONIC, the clock of every stamp.
//!
//! BPF programs stamp with it (`bpf_ktime_get_ns()`), so every other clock that is read must agree with it within a
//! stated bound. Nothing in this module ever sets a clock.

mod bracket;
pub mod calibrated;
pub mod cost;
mod counter;
mod cross_core;
pub mod map;
pub mod offset;
#[cfg(feature = "python")]
pub mod python;
mod single_shot;
mod source;
mod stall;
mod steps;
pub mod tally;
