//! Load of whole systems by HTTP, UDP and TCP, and what a switch port shows of the client behind it.

pub mod bulk_flow;
pub mod flow_watch;
pub mod http_load;
pub mod udp_load;
