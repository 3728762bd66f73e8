//! What devices and paths of the lab are made of. Nothing in this module sends a test frame.

pub mod faulty;
pub mod serial_link;
pub mod throttle;
pub mod vlan_tags;
