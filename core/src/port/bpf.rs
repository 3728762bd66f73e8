//! What the engines that load programs into the kernel share: the programs, their maps, and what is in these.

pub mod layout;
pub mod mapped;
pub mod program;
