//! `Arrival`: what became of one frame that arrived.

use crate::frame::signature::{MASK_48, unwrap_48};

/// What became of one arrival. Times are CLOCK_MONOTONIC, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    Intact {
        stream: u16,
        sequence: u64,
        sent_ns: u64,
        received_ns: u64,
    },
    Corrupt {
        stream: u16,
        sequence: u64,
        received_ns: u64,
    },
    Foreign,
}

impl Arrival {
    /// The same on the clock of another host that sent the frame; the clock here is ahead of it by so much.
    pub fn as_sent(self, ahead_ns: i64) -> Arrival {
        let there = |time_ns: u64| time_ns.wrapping_add_signed(ahead_ns.wrapping_neg());
        match self {
            Arrival::Intact {
                stream,
                sequence,
                sent_ns,
                received_ns,
            } => Arrival::Intact {
                stream,
                sequence,
                sent_ns: unwrap_48(sent_ns & MASK_48, there(received_ns)),
                received_ns: there(received_ns),
            },
            Arrival::Corrupt {
                stream,
                sequence,
                received_ns,
            } => Arrival::Corrupt {
                stream,
                sequence,
                received_ns: there(received_ns),
            },
            Arrival::Foreign => Arrival::Foreign,
        }
    }
}
