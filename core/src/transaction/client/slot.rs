//! `Slot`: one connection of a client, and the transaction that is under way on it.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::super::HEAD_BYTES;

const NO_ROW: usize = usize::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    Connecting,
    /// A request is sent, or its answer waited for.
    Asking,
    /// The answer has come, and the server closes the connection.
    Closing,
}

/// One connection, and the transaction that is under way on it.
pub struct Slot {
    pub socket: Option<OwnedFd>,
    pub state: State,
    pub row: usize,
    pub number: u64,
    pub unsent: usize,
    pub got: usize,
    pub head: [u8; HEAD_BYTES],
    /// Bytes (TCP) or datagrams (UDP) sent since stamps were asked for.
    pub sent_in_all: u32,
    /// The number that the stamp of the request will name.
    pub key: u32,
    pub begun_ns: u64,
    pub deadline_ns: u64,
    /// How long the connection took, until a row has it.
    pub setup_ns: Option<u64>,
}

impl Slot {
    pub fn new() -> Self {
        Slot {
            socket: None,
            state: State::Free,
            row: NO_ROW,
            number: 0,
            unsent: 0,
            got: 0,
            head: [0; HEAD_BYTES],
            sent_in_all: 0,
            key: 0,
            begun_ns: 0,
            deadline_ns: u64::MAX,
            setup_ns: None,
        }
    }

    pub fn descriptor(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}
