//! Interfaces of the host: which engine drives one, sockets and rings of packets at it, stamps of its driver, its link,
//! and the tester's hosts that are asked for there.

pub mod link_watch;
pub mod neighbour;
pub mod packet_ring;
pub mod packet_socket;
pub mod place;
pub mod stamping;
