//! A bitmap over a fixed range of sequence numbers, one bit for each.
//!
//! It stores bits and never interprets them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub struct Bitmap {
    words: Box<[u64]>,
}

impl Bitmap {
    /// A bitmap of `length` numbers, none of them set.
    pub fn new(length: u64) -> Self {
        Bitmap {
            words: vec![0; length.div_ceil(64) as usize].into_boxed_slice(),
        }
    }

    /// Bytes of memory that the bitmap takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Sets `first..=last`.
    pub fn set(&mut self, first: u64, last: u64) {
        for number in first..=last {
            self.words[(number / 64) as usize] |= 1 << (number % 64);
        }
    }

    /// Clears `number`. Returns whether it was set.
    pub fn take(&mut self, number: u64) -> bool {
        let word = &mut self.words[(number / 64) as usize];
        let bit = 1 << (number % 64);
        let was_set = *word & bit != 0;
        *word &= !bit;
        was_set
    }

    /// How many numbers from `first` on are set.
    pub fn count_from(&self, first: u64) -> u64 {
        let skip = (first / 64) as usize;
        let partly = self.words.get(skip).map_or(0, |word| word >> (first % 64));
        let whole = self.words.iter().skip(skip + 1);
        u64::from(partly.count_ones()) + whole.map(|word| u64::from(word.count_ones())).sum::<u64>()
    }

    /// Whole words, least significant byte and bit first.
    pub fn to_base64(&self) -> String {
        let bytes: Vec<u8> = self
            .words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        STANDARD.encode(bytes)
    }
}
