//! Serialising links in user space between TUN devices: the ground truth of everything that probes paths.
//!
//! A token bucket of the kernel lets a lone packet pass at once; these links take 8·L/C for every packet, as a
//! real line does. `stage` and `link_direction` are the model, in virtual time; `forwarder` is the one thread that obeys it
//! for all links of a bed. Nothing here chooses addresses or touches a device that it has not made.

mod bed;
mod carriage;
mod forwarder;
mod link_direction;
mod links;
mod poll;
pub mod python;
mod rehearsal;
mod stage;
mod traffic_source;
mod tun;

pub use bed::{Bed, Truth};
pub use links::Links;
