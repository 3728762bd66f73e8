//! One row for each arrival of a trial, for a reader that writes them to a file.
//!
//! The accounting thread must never wait, so rows are collected in chunks that the reader takes away. If the reader
//! is too slow, rows are lost and counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::account::tracking::Outcome;

/// The most rows that wait for the reader: 1 GiB.
const LIMIT: usize = 1 << 25;

/// One row as `keisoku/subjects/device/record/frames.py` reads it. Times are ns since the first frame was due.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub sequence: u64,
    pub transmit_ns: u64,
    pub receive_ns: u64,
    pub stream: u16,
    pub port: u16,
    pub flags: u32,
}

/// The row is a second or further arrival of its sequence number.
pub const DUPLICATE: u32 = 1;
/// The frame is corrupt: sequence number and stream are not certain, and its time of transmission is zero.
pub const CORRUPT: u32 = 2;
/// The frame was overtaken by a later frame of its stream.
pub const REORDERED: u32 = 4;
/// Where the kind of a change begins (`changes`); it is zero where frames are not compared.
const KIND_BITS: u32 = 8;

impl Entry {
    pub fn intact(
        stream: u16,
        port: usize,
        sequence: u64,
        transmit_ns: u64,
        receive_ns: u64,
        outcome: Outcome,
        kind: u32,
    ) -> Self {
        Entry {
            sequence,
            transmit_ns,
            receive_ns,
            stream,
            port: port as u16,
            flags: match outcome {
                Outcome::Duplicate => DUPLICATE,
                Outcome::Reordered => REORDERED,
                _ => 0,
            } | kind << KIND_BITS,
        }
    }

    pub fn corrupt(stream: u16, port: usize, sequence: u64, receive_ns: u64, kind: u32) -> Self {
        Entry {
            sequence,
            transmit_ns: 0,
            receive_ns,
            stream,
            port: port as u16,
            flags: CORRUPT | kind << KIND_BITS,
        }
    }
}

#[derive(Default)]
pub struct FrameLog {
    /// Only changed frames have rows (`changes`).
    pub changed_only: bool,
    /// The chunks in the order in which they were appended.
    waiting: Mutex<Vec<Vec<Entry>>>,
    entries: AtomicUsize,
    lost: AtomicU64,
}

impl FrameLog {
    pub fn new(changed_only: bool) -> Self {
        FrameLog {
            changed_only,
            ..FrameLog::default()
        }
    }

    /// Hands over a chunk and leaves `entries` empty.
    pub fn append(&self, entries: &mut Vec<Entry>) {
        let count = entries.len();
        if self.entries.load(Ordering::Relaxed) + count > LIMIT {
            self.lost.fetch_add(count as u64, Ordering::Relaxed);
            entries.clear();
        } else if count > 0 {
            self.entries.fetch_add(count, Ordering::Relaxed);
            self.lock().push(std::mem::take(entries));
        }
    }

    /// Returns and removes the rows that wait, as bytes of `Entry`.
    pub fn take(&self) -> Vec<u8> {
        let chunks = std::mem::take(&mut *self.lock());
        let entries = chunks.concat();
        self.entries.fetch_sub(entries.len(), Ordering::Relaxed);
        // SAFETY: `Entry` is plain integers without padding (8 + 8 + 8 + 2 + 2 + 4 bytes).
        let bytes = unsafe {
            std::slice::from_raw_parts(entries.as_ptr().cast::<u8>(), size_of_val(&*entries))
        };
        bytes.to_vec()
    }

    /// Rows that no reader took in time.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<Entry>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_room_are_counted_and_the_others_are_handed_over_in_order() {
        let log = FrameLog::new(false);
        let rows = |sequences: &[u64]| -> Vec<Entry> {
            let row = |sequence: &u64| Entry::intact(3, 1, *sequence, 10, 20, Outcome::InOrder, 0);
            sequences.iter().map(row).collect()
        };
        log.append(&mut rows(&[0, 1]));
        // As if a slow reader had left so many.
        log.entries.store(LIMIT - 1, Ordering::Relaxed);
        let mut refused = rows(&[2, 3]);
        log.append(&mut refused);
        assert!(refused.is_empty());
        log.append(&mut rows(&[4]));
        assert_eq!(log.lost(), 2);
        let bytes = log.take();
        let sequences = bytes.chunks_exact(size_of::<Entry>()).map(|row| row[0]);
        assert_eq!(Vec::from_iter(sequences), [0, 1, 4]);
        assert_eq!(log.entries.load(Ordering::Relaxed), LIMIT - 3);
    }

    #[test]
    fn flags_tell_the_outcome_and_the_kind() {
        use Outcome::{Duplicate, InOrder, Reordered};
        let flags = |outcome| Entry::intact(3, 1, 0, 0, 0, outcome, 5).flags;
        assert_eq!(
            [InOrder, Duplicate, Reordered].map(flags),
            [0x500, 0x501, 0x504]
        );
        assert_eq!(Entry::corrupt(3, 1, 0, 0, 5).flags, 0x502);
    }
}
