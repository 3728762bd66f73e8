//! A view: a number that stands for the front of a frame (its headers) and its length, so that a frame that a device
//! changed is told from one that it left alone without keeping either.
//!
//! The sum of products of NH (UMAC, RFC 4418 §5.2) with 64-bit accumulation: two different fronts of one length have
//! the same view with a probability of 2^-32. `bpf/view.h` computes the same; both must be changed together.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::chance::{GOLDEN, mix};
use crate::error::{EngineError, Result};

/// The most bytes of a frame that a view covers.
pub const LONGEST: usize = 255;
/// The most different fronts that are kept of one trial.
pub const FRONTS: usize = 1 << 13;
/// Places of views that were met lately.
const PLACES: usize = 1 << 17;
const LENGTH_KEY: u64 = GOLDEN;
/// Words of a front are taken in pieces of so many, each only if the front has room for it, with keys from there on.
const PIECES: [(usize, usize); 5] = [(16, 0), (8, 16), (4, 24), (2, 28), (1, 30)];
const TAIL: usize = 31;

/// The key of half a word (splitmix64 of its number).
const fn key(number: u64) -> u32 {
    mix((number + 1).wrapping_mul(GOLDEN)) as u32
}

const KEYS: [[u32; 2]; TAIL + 1] = {
    let mut keys = [[0; 2]; TAIL + 1];
    let mut word = 0;
    while word <= TAIL {
        keys[word] = [key(2 * word as u64), key(2 * word as u64 + 1)];
        word += 1;
    }
    keys
};

/// The view of a frame of `length` bytes that begins with `front`, of which at most `LONGEST` bytes count.
///
/// Never a call, because its caller has a dozen values to keep meanwhile.
#[inline(always)]
pub fn view(front: &[u8], length: usize) -> u64 {
    let front = &front[..front.len().min(LONGEST)];
    let (words, rest) = front.as_chunks::<8>();
    let mut sum = (length as u64).wrapping_mul(LENGTH_KEY);
    let mut left = words;
    for (count, keys) in PIECES {
        // There are fewer words than twice the greatest piece, so each is taken once at most.
        if let Some((piece, others)) = left.split_at_checked(count) {
            left = others;
            for (word, keys) in piece.iter().zip(&KEYS[keys..]) {
                sum = sum.wrapping_add(product(word, keys));
            }
        }
    }
    if !rest.is_empty()
        && let Some(tail) = front.last_chunk::<8>()
    {
        sum = sum.wrapping_add(product(tail, &KEYS[TAIL]));
    }
    sum
}

#[inline]
fn product(word: &[u8; 8], [low, high]: &[u32; 2]) -> u64 {
    let word = u64::from_ne_bytes(*word);
    let (first, second) = (word as u32, (word >> 32) as u32);
    u64::from(first.wrapping_add(*low)) * u64::from(second.wrapping_add(*high))
}

/// The most words of a front in which bits are free.
pub const FREE_WORDS: usize = 6;

/// Bits of a front that are free to change: a view is of the front in which they are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Where each word of 8 bytes begins, and its free bits, in the order of its bytes in memory.
    words: Vec<(u16, u64)>,
}

/// Bits of the fronts of frames that a device may set as it likes.
pub fn free_bits(bytes: &[(u16, u8)]) -> Result<Free> {
    let refusal = || EngineError("expect: fields that may change are in too many places".into());
    Free::new(bytes).ok_or_else(refusal)
}

impl Free {
    /// From bytes of a front, each with its free bits. Nothing if they are in more words than a port can take, or not
    /// all in a front.
    pub fn new(bytes: &[(u16, u8)]) -> Option<Self> {
        let mut words: BTreeMap<u16, [u8; 8]> = BTreeMap::new();
        for (place, bits) in bytes {
            if usize::from(*place) >= LONGEST / 8 * 8 {
                return None;
            }
            let word = words.entry(place / 8 * 8).or_default();
            word[usize::from(place % 8)] |= bits;
        }
        let words: Vec<_> = words
            .into_iter()
            .map(|(place, bits)| (place, u64::from_ne_bytes(bits)))
            .collect();
        (words.len() <= FREE_WORDS).then_some(Free { words })
    }

    pub fn words(&self) -> &[(u16, u64)] {
        &self.words
    }

    /// The view of a front without its free bits.
    #[inline]
    pub fn view(&self, front: &[u8], length: usize) -> u64 {
        if self.words.is_empty() {
            view(front, length)
        } else {
            self.view_without(front, length)
        }
    }

    #[inline(never)]
    fn view_without(&self, front: &[u8], length: usize) -> u64 {
        let mut copy = [0; LONGEST];
        let copy = &mut copy[..front.len().min(LONGEST)];
        copy.copy_from_slice(&front[..front.len().min(LONGEST)]);
        for (place, bits) in &self.words {
            let own = copy.iter_mut().skip(usize::from(*place));
            for (byte, bits) in own.zip(bits.to_ne_bytes()) {
                *byte &= !bits;
            }
        }
        view(copy, length)
    }
}

/// How many bytes of a frame its view covers: `window` bytes and by how much the headers have `grown`, but never the
/// signature, which begins at `signature`.
#[inline]
pub fn covered(window: usize, grown: usize, signature: usize) -> usize {
    (window + grown).min(signature).min(LONGEST)
}

/// What receivers must know where changes are watched.
#[derive(Clone, Debug, Default)]
pub struct Views {
    /// Bytes of the headers of every stream's frames as they were sent, at least.
    pub window: u8,
    /// Views of frames that are as expected; their fronts need not be kept.
    pub known: HashSet<u64>,
    pub free: Free,
}

impl Views {
    /// The view of a frame, whose front is kept if it is new and not `expected` nor otherwise known.
    #[inline(always)]
    pub fn met(&self, expected: u64, front: &[u8], length: usize, fronts: &mut Fronts) -> u64 {
        let view = self.free.view(front, length);
        // Most streams have frames that are all alike, which need no look at a table that no cache holds for long.
        if view != expected {
            fronts.meet(view, front, length, &self.known);
        }
        view
    }
}

/// The fronts of frames that are not as expected, each once.
#[derive(Default)]
pub struct Fronts {
    /// The view that was met last in each place, so that a front is looked up once and not with each frame.
    met: Vec<u64>,
    kept: HashMap<u64, Front>,
}

/// The beginning of a frame and its length without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    pub length: u32,
    pub bytes: Vec<u8>,
}

impl Fronts {
    pub fn begin(&mut self) {
        self.kept.clear();
        self.met.clear();
        self.met.resize(PLACES, 0);
    }

    /// Keeps the front of a frame if its view is new and not `known`.
    #[inline]
    pub fn meet(&mut self, view: u64, front: &[u8], length: usize, known: &HashSet<u64>) {
        if let Some(met) = self.met.get_mut(view as usize % PLACES)
            && *met != view
        {
            *met = view;
            self.keep(view, front, length, known);
        }
    }

    #[cold]
    pub fn keep(&mut self, view: u64, front: &[u8], length: usize, known: &HashSet<u64>) {
        if self.kept.len() < FRONTS && !known.contains(&view) {
            self.kept.entry(view).or_insert_with(|| Front {
                length: length as u32,
                bytes: front[..front.len().min(LONGEST)].to_vec(),
            });
        }
    }

    pub fn of(&self, view: u64) -> Option<&Front> {
        self.kept.get(&view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_changed_byte_and_any_other_length_changes_the_view(
            front in proptest::collection::vec(any::<u8>(), 8..=LONGEST),
            place: prop::sample::Index,
            flip in 1u8..,
            longer in 1usize..2000,
        ) {
            let seen = view(&front, 1000);
            let mut changed = front.clone();
            changed[place.index(front.len())] ^= flip;
            prop_assert_ne!(view(&changed, 1000), seen);
            prop_assert_ne!(view(&front, 1000 + longer), seen);
        }

        #[test]
        fn addresses_that_changed_places_change_the_view(front in proptest::collection::vec(any::<u8>(), 42..=LONGEST)) {
            let mut changed = front.clone();
            changed[26..30].copy_from_slice(&front[30..34]);
            changed[30..34].copy_from_slice(&front[26..30]);
            prop_assert_eq!(view(&changed, 60) == view(&front, 60), changed == front);
        }
    }

    #[test]
    fn free_bits_do_not_change_the_view_and_all_others_do() {
        let free = Free::new(&[(18, 0xff), (19, 0xff), (15, 0x03), (41, 0xff)]);
        let free = free.expect("they are in few words");
        for length in [42, 48] {
            let front: Vec<u8> = (0..length).collect();
            let seen = free.view(&front, 60);
            for place in 0..usize::from(length) {
                for bit in 0..8 {
                    let mut changed = front.clone();
                    changed[place] ^= 1 << bit;
                    let is_free = matches!((place, bit), (18 | 19 | 41, _) | (15, 0 | 1));
                    assert_eq!(free.view(&changed, 60) == seen, is_free, "{place} {bit}");
                }
            }
        }
        let many: Vec<_> = (0..7).map(|word| (8 * word, 1)).collect();
        assert_eq!(Free::new(&many), None);
        assert_eq!(Free::new(&[(255, 1)]), None);
    }

    #[test]
    fn a_front_is_kept_once_and_not_if_it_is_known() {
        let mut fronts = Fronts::default();
        fronts.begin();
        let known = HashSet::from([5]);
        fronts.meet(5, b"expected", 60, &known);
        fronts.meet(6, b"changed", 60, &known);
        fronts.meet(6, b"ignored", 60, &known);
        assert_eq!(fronts.of(5), None);
        assert_eq!(
            fronts.of(6).map(|front| &front.bytes[..]),
            Some(&b"changed"[..])
        );
    }
}
