//! Trains of probes for one client (`keisoku/subjects/path/train/`): packet pairs, and clocks of one path.

pub mod noise;
pub mod probe;
pub mod probe_end;
pub mod session;
