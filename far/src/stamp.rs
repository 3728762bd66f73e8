//! STAMP (RFC 8762, RFC 8972): packets as bytes, and the reflector.

pub mod packet;
pub mod reflector;
