//! Tests of capacity by UDPSTP (RFC 9946), for clients of keisoku and others.
//!
//! What both ends have in common is in Python, too, for the near end (`keisoku/subjects/stream/capacity/`).

mod activation;
mod carry;
mod end;
mod load;
mod pdu;
mod receiving_end;
mod seal;
mod search;
mod sending_end;
mod sending_rate;
pub mod server;
mod setup;
mod status;
