//! Streams, transactions and file transfers for one client (`keisoku/subjects/stream/`), and what looks at its NAT.

pub mod chunks;
pub mod file;
pub mod flows;
pub mod iperf3;
pub mod nat;
pub mod responder;
pub mod session;
pub mod transactions;
pub mod trial;
