//! The engine `xdp`: programs in the kernel that send frames and stamp those that arrive.

mod admission;
mod batch;
mod batch_pace;
mod dead_end;
mod departure_ring;
mod features;
pub mod receive;
mod refusals;
pub mod transmit;
