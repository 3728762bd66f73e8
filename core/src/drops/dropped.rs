//! What was dropped in a trial, and where.

use serde::Serialize;

/// A part of the kernel that is not watched, and why.
pub type Absent = (&'static str, String);

/// A place at which test frames were dropped.
#[derive(Debug, Serialize)]
pub struct Place {
    pub number: u32,
    /// As in `drops.c`.
    pub kind: u32,
    /// The instruction that freed them; 0 if it is not known.
    pub location: u64,
    /// The kernel's name of a reason; the number where it has none or where it is an error or an answer.
    pub reason: String,
    pub namespace: u32,
    pub interface: u32,
    pub name: String,
    pub qdisc: String,
    /// Family, table, chain and handle of the rule of nftables; the handle is 0 for the policy of the chain.
    pub rule: Option<(u32, String, String, u64)>,
    /// The BPF program: its name, and file and line where they are known.
    pub program: Option<(String, Option<String>)>,
    pub frames: u64,
    pub first_ns: u64,
    pub last_ns: u64,
}

/// What was dropped in a trial.
#[derive(Debug, Default, Serialize)]
pub struct Dropped {
    pub places: Vec<Place>,
    pub frames: u64,
    /// Packets that were not looked at or whose end could not be read: nobody knows whether they were test frames.
    pub unread: u64,
    /// Test frames for whose place there was no room.
    pub unplaced: u64,
    pub absent: Vec<Absent>,
}
