//! The frames of a stream, made in advance: frame n of the stream is number n modulo their count.
//!
//! Field modifiers and mixes of sizes become such tables in `keisoku/ground/frame`. This file knows no protocols.

use std::sync::Arc;

use crate::error::{EngineError, Result};
use crate::frame::signature::{self, balanced};

/// Frames, the length of each as a native 16-bit integer, where their payload starts, whether they are signed, and
/// how many bytes follow the signature.
pub type TableParts = (Vec<u8>, Vec<u8>, usize, bool, usize);

/// Frames without FCS, concatenated in `bytes`.
pub struct Table {
    bytes: Vec<u8>,
    /// Where each frame starts, and the end of the last.
    bounds: Vec<usize>,
    /// The bytes of a frame from here to its end sum to zero in ones' complement.
    pub checked_from: usize,
    /// If false, frames are sent unchanged (a replay) and no receiver recognises them.
    pub signed: bool,
    /// Zero bytes that follow the signature: none, or `signature::ROOM`.
    pub room: usize,
}

impl Table {
    /// Refuses frames that the tester cannot sign.
    pub fn new(
        bytes: Vec<u8>,
        lengths: &[u16],
        checked_from: usize,
        signed: bool,
        room: usize,
    ) -> Result<Self> {
        let mut bounds = vec![0];
        for length in lengths {
            bounds.push(bounds[bounds.len() - 1] + usize::from(*length));
        }
        let table = Table {
            bytes,
            bounds,
            checked_from,
            signed,
            room,
        };
        table.check()?;
        Ok(table)
    }

    /// From what Python hands over.
    pub fn of((bytes, lengths, checked_from, signed, room): TableParts) -> Result<Arc<Self>> {
        let lengths: Vec<u16> = lengths
            .chunks_exact(2)
            .map(|two| u16::from_ne_bytes([two[0], two[1]]))
            .collect();
        Table::new(bytes, &lengths, checked_from, signed, room).map(Arc::new)
    }

    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn frame(&self, index: usize) -> &[u8] {
        &self.bytes[self.bounds[index]..self.bounds[index + 1]]
    }

    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.frame(index))
    }

    fn check(&self) -> Result<()> {
        let refuse = |problem: String| Err(EngineError(format!("frames: {problem}")));
        if self.is_empty() || self.bounds[self.len()] != self.bytes.len() {
            return refuse("their lengths do not add up to their bytes".into());
        }
        if !self.signed {
            return Ok(());
        }
        if self.room != 0 && self.room != signature::ROOM {
            return refuse(format!("{} bytes cannot follow a signature", self.room));
        }
        let end = signature::LENGTH + self.room;
        for (index, frame) in self.frames().enumerate() {
            if frame.len() < end {
                return refuse(format!("number {index} is shorter than a signature"));
            }
            let place = &frame[frame.len() - end..];
            let region = frame.get(self.checked_from..).unwrap_or_default();
            if place.iter().any(|byte| *byte != 0) || region.len() < end || !balanced(region) {
                return refuse(format!(
                    "the bytes of number {index} from {} on must sum to zero and end in {} zero bytes",
                    self.checked_from, end
                ));
            }
        }
        Ok(())
    }
}
