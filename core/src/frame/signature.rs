//! The test signature: the last 18 bytes of the payload of every test frame.
//!
//! `docs/signature/` holds the layout, the reasons for it, and the test vectors that the FPGA shares. This file
//! converts the bytes to values and back. It knows no headers, streams or trials and must never allocate.

/// Bytes that a signature occupies.
pub const LENGTH: usize = 18;
/// Zero bytes that may follow the signature: room for the FCS of a frame inside a tunnel.
pub const ROOM: usize = 4;
/// The most bytes that may follow a signature because a device padded the frame: an Ethernet frame without its FCS has
/// at least 60 bytes.
pub const MOST_PADDING: usize = 42;
/// The first two bytes of every signature.
pub const MAGIC: u16 = 0x6B73;
/// Sequence numbers and times are 48 bits wide and wrap.
pub const MASK_48: u64 = (1 << 48) - 1;

mod field {
    use core::ops::Range;
    pub const MAGIC: Range<usize> = 0..2;
    pub const STREAM_AND_SEQUENCE: Range<usize> = 2..10;
    pub const TIME_AND_BALANCE: Range<usize> = 10..18;
}

/// The values that a tester writes into each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Tells trials and streams apart; frames of another stream are foreign.
    pub stream: u16,
    /// Counts from 0 in each stream; 48 bits.
    pub sequence: u64,
    /// Transmit time in ns on the sender's clock, modulo 2^48 (78 hours).
    pub sent_ns: u64,
}

/// The result of reading the bytes at the place of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// There is no magic: the frame is not a test frame.
    Absent,
    /// There is the magic, but the bytes do not sum to zero, so the fields are not certain.
    Broken(Signature),
    Intact(Signature),
}

impl Signature {
    /// Writes the signature; its nine words then sum to zero in ones' complement,
    /// so it leaves every checksum above it as it was over 18 zero bytes.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8; LENGTH]) {
        let word = (u64::from(self.stream) << 48) | (self.sequence & MASK_48);
        let time = self.sent_ns & MASK_48;
        let balance = !sum(word, time << 16);
        bytes[field::MAGIC].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[field::STREAM_AND_SEQUENCE].copy_from_slice(&word.to_be_bytes());
        bytes[field::TIME_AND_BALANCE]
            .copy_from_slice(&((time << 16) | u64::from(balance)).to_be_bytes());
    }

    /// Looks for a signature where a frame without FCS may have one.
    #[inline]
    pub fn find(frame: &[u8]) -> Parsed {
        let at = |end: usize| {
            let before = frame.get(..end)?;
            before.last_chunk().map(Self::parse)
        };
        match at(frame.len()) {
            Some(Parsed::Absent) => at(frame.len().wrapping_sub(ROOM)).unwrap_or(Parsed::Absent),
            found => found.unwrap_or(Parsed::Absent),
        }
    }

    /// Looks for a signature behind which a device may have padded the frame; also returns where it begins.
    #[inline]
    pub fn find_padded(frame: &[u8]) -> Option<(usize, Parsed)> {
        let at = |behind: usize| {
            let place = frame.len().checked_sub(LENGTH + behind)?;
            let parsed = frame[place..].first_chunk().map(Self::parse)?;
            (parsed != Parsed::Absent).then_some((place, parsed))
        };
        let padded = || {
            let found = (1..=MOST_PADDING).find_map(at);
            found.filter(|(_, parsed)| matches!(parsed, Parsed::Intact(_)))
        };
        at(0).or_else(|| at(ROOM)).or_else(padded)
    }

    /// Reads the place of a signature; never panics, whatever the bytes.
    #[inline]
    pub fn parse(bytes: &[u8; LENGTH]) -> Parsed {
        let [m0, m1, rest @ ..] = *bytes;
        let magic = u16::from_be_bytes([m0, m1]);
        if magic != MAGIC {
            return Parsed::Absent;
        }
        let [
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
        ] = rest;
        let word = u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
        let time = u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let signature = Signature {
            stream: (word >> 48) as u16,
            sequence: word & MASK_48,
            sent_ns: time >> 16,
        };
        if sum(word, time) == 0xFFFF {
            Parsed::Intact(signature)
        } else {
            Parsed::Broken(signature)
        }
    }
}

/// Ones' complement sum of all 16-bit words of `bytes`, an odd last byte padded with zero (RFC 1071), with its bytes
/// in the order of the processor.
#[inline(always)]
fn native_sum(bytes: &[u8]) -> u16 {
    // 2^16 ≡ 1 modulo 0xFFFF: words may be summed at any multiple of 16 bits and in any byte order
    // (RFC 1071 §2 B), and folded last. 2^32 halves of eight bytes fit into the sum.
    let (chunks, rest) = bytes.as_chunks::<8>();
    let (pairs, last) = rest.as_chunks::<2>();
    let mut sum = last
        .first()
        .map_or(0, |byte| u64::from(u16::from_ne_bytes([*byte, 0])));
    for pair in pairs {
        sum += u64::from(u16::from_ne_bytes(*pair));
    }
    for chunk in chunks {
        let eight = u64::from_ne_bytes(*chunk);
        sum += (eight >> 32) + (eight & 0xFFFF_FFFF);
    }
    fold(sum)
}

/// True if a checked region (payload and signature) is unchanged since a keisoku sender wrote it: it sums to zero.
#[inline]
pub fn balanced(region: &[u8]) -> bool {
    matches!(native_sum(region), 0 | 0xFFFF)
}

/// Extends a time of 48 bits to the nearest such time to `near`.
pub fn unwrap_48(cut: u64, near: u64) -> u64 {
    let difference = (cut.wrapping_sub(near) << 16) as i64 >> 16;
    near.wrapping_add_signed(difference)
}

/// The nine words of a signature, including the balance, as three numbers with the same remainder.
#[inline]
fn sum(word: u64, time: u64) -> u16 {
    let (sum, carry) = word.overflowing_add(time);
    let (sum, again) = sum.overflowing_add(u64::from(MAGIC) + u64::from(carry));
    fold(sum + u64::from(again))
}

/// The remainder modulo 0xFFFF; it is zero only for zero.
#[inline]
fn fold(sum: u64) -> u16 {
    // A number plus itself with its halves exchanged has in its upper half the sum of both with the carry added.
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(stream: u16, sequence in 0..=MASK_48, sent_ns in 0..=MASK_48) {
            let signature = Signature { stream, sequence, sent_ns };
            let mut bytes = [0; LENGTH];
            signature.emit(&mut bytes);
            prop_assert_eq!(Signature::parse(&bytes), Parsed::Intact(signature));
            prop_assert!(balanced(&bytes));
        }

        #[test]
        fn one_wrong_bit_is_noticed(stream: u16, sequence in 0..=MASK_48, sent_ns in 0..=MASK_48, bit in 0usize..144) {
            let mut bytes = [0; LENGTH];
            Signature { stream, sequence, sent_ns }.emit(&mut bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!matches!(Signature::parse(&bytes), Parsed::Intact(_)));
            prop_assert!(!balanced(&bytes));
        }

        #[test]
        fn it_leaves_a_checksum_over_it_unchanged_at_even_and_odd_offsets(
            before in proptest::collection::vec(any::<u8>(), 0..64),
            stream: u16, sequence in 0..=MASK_48, sent_ns in 0..=MASK_48,
        ) {
            let mut region = before.clone();
            region.extend([0; LENGTH]);
            let zeroed = native_sum(&region);
            let start = before.len();
            let place: &mut [u8; LENGTH] = (&mut region[start..]).try_into().unwrap();
            Signature { stream, sequence, sent_ns }.emit(place);
            let signed = native_sum(&region);
            let zero = |sum| matches!(sum, 0 | 0xFFFF);
            prop_assert!(signed == zeroed || (zero(signed) && zero(zeroed)));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: [u8; LENGTH]) {
            let _ = Signature::parse(&bytes);
        }

        #[test]
        fn a_cut_time_is_put_back(near in (1u64 << 47)..(1 << 62), step in -(1i64 << 46)..(1 << 46)) {
            let time = near.wrapping_add_signed(step);
            prop_assert_eq!(unwrap_48(time & MASK_48, near), time);
        }
    }

    #[test]
    fn the_published_vectors_hold() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/signature/vectors.json")).unwrap();
        for vector in vectors["vectors"].as_array().unwrap() {
            let signature = Signature {
                stream: vector["stream"].as_u64().unwrap() as u16,
                sequence: vector["sequence"].as_u64().unwrap(),
                sent_ns: vector["sent_ns"].as_u64().unwrap(),
            };
            let mut bytes = [0; LENGTH];
            signature.emit(&mut bytes);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, vector["bytes"].as_str().unwrap());
        }
    }
}
