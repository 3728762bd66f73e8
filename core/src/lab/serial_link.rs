//! Serialising links in user space between TUN devices: the ground truth for all methods that probe paths.
//!
//! A token bucket of the kernel lets a single packet pass at once; these links take 8·L/C for every packet, as a real
//! line does. `stage` and `link_direction` are the model in virtual time; `forwarder` is the thread that carries it
//! out for all links of a bed. This module never chooses addresses and never changes a device that it did not create.

mod bed;
mod carriage;
mod ecn;
mod forwarder;
mod link_direction;
mod links;
mod poll;
pub mod python;
mod rehearsal;
mod stage;
mod traffic_source;
mod tun;

pub use bed::Bed;
pub use links::Links;
