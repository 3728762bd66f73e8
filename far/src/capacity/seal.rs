//! The tail of a control PDU of UDPSTP (RFC 9946): authentication with a shared key, and the checksum.
//!
//! Keys of a test are made of the shared key and the time of the client's first request by the counter mode of NIST SP 800-108 with
//! HMAC-SHA-256, one for each end, so that no key serves twice.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::pdu::{TAIL_BYTES, checksum};

/// Modes: without authentication, and with signed control PDUs.
pub const OPEN: u8 = 0;
pub const SIGNED: u8 = 1;
/// By which the clocks of both ends may differ.
const WINDOW_S: u32 = 5;
const DIGEST_BYTES: usize = 32;

pub enum SealError {
    /// The digest is wrong.
    Digest,
    /// It was signed too long ago, or in the future: an old PDU sent again, or clocks that differ.
    Time,
}

/// Of one test: what the client signs with, and the server.
#[derive(Clone)]
pub struct Keys {
    pub client: [u8; DIGEST_BYTES],
    pub server: [u8; DIGEST_BYTES],
}

impl Keys {
    /// `unix_s`: the time in the client's set-up request.
    pub fn of(shared: &[u8], unix_s: u32) -> Self {
        let bits = (2 * DIGEST_BYTES as u32 * 8).to_be_bytes();
        let context = unix_s.to_string();
        let key = |number: u32| {
            let parts = [
                &number.to_be_bytes()[..],
                b"UDPSTP\0",
                context.as_bytes(),
                &bits,
            ];
            mac(shared, &parts.concat()).finalize().into_bytes().into()
        };
        Keys {
            client: key(1),
            server: key(2),
        }
    }
}

/// What a PDU says of its authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub mode: u8,
    pub unix_s: u32,
    pub key_id: u8,
}

impl Tail {
    /// `None` if the checksum is wrong; 0 means that there is none.
    pub fn of(data: &[u8]) -> Option<Self> {
        let tail: &[u8; TAIL_BYTES] = data.last_chunk()?;
        let has_checksum = tail[TAIL_BYTES - 2..] != [0, 0];
        if has_checksum && checksum(data) != 0 {
            return None;
        }
        Some(Tail {
            mode: tail[0],
            unix_s: u32::from_be_bytes([tail[1], tail[2], tail[3], tail[4]]),
            key_id: tail[5 + DIGEST_BYTES],
        })
    }
}

/// Fills in the tail of a PDU, signed if there is a key.
pub fn sealed(mut data: Vec<u8>, key: Option<&[u8]>, key_id: u8) -> Vec<u8> {
    let at = data.len() - TAIL_BYTES;
    data[at..].fill(0);
    if let Some(key) = key {
        data[at] = SIGNED;
        data[at + 1..at + 5].copy_from_slice(&now_s().to_be_bytes());
        data[at + 5 + DIGEST_BYTES] = key_id;
        let digest = mac(key, &data).finalize().into_bytes();
        data[at + 5..at + 5 + DIGEST_BYTES].copy_from_slice(&digest);
    }
    let found = checksum(&data).to_be_bytes();
    let end = data.len() - 2;
    data[end..].copy_from_slice(&found);
    data
}

/// Whether a PDU was signed with the key just now.
pub fn verify(data: &[u8], key: &[u8]) -> Result<(), SealError> {
    let tail = Tail::of(data).ok_or(SealError::Digest)?;
    let at = data.len() - TAIL_BYTES;
    let digest_at = at + 5;
    let mut blank = data.to_vec();
    blank[digest_at..digest_at + DIGEST_BYTES].fill(0);
    let end = blank.len() - 2;
    blank[end..].fill(0);
    let right = mac(key, &blank).verify_slice(&data[digest_at..digest_at + DIGEST_BYTES]);
    if tail.mode != SIGNED || right.is_err() {
        return Err(SealError::Digest);
    }
    match tail.unix_s.abs_diff(now_s()) {
        ..=WINDOW_S => Ok(()),
        _ => Err(SealError::Time),
    }
}

fn mac(key: &[u8], data: &[u8]) -> Hmac<Sha256> {
    let mut made = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    made.update(data);
    made
}

fn now_s() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_sealed_is_verified_and_what_is_changed_is_not(
            body in prop::collection::vec(any::<u8>(), 2..80), key in prop::collection::vec(any::<u8>(), 1..40), place in any::<prop::sample::Index>(),
        ) {
            let mut data = body;
            data.resize(data.len() / 2 * 2 + 1 + TAIL_BYTES, 0);
            let mut signed = sealed(data.clone(), Some(&key), 3);
            prop_assert!(verify(&signed, &key).is_ok());
            prop_assert_eq!(Tail::of(&signed).map(|tail| (tail.mode, tail.key_id)), Some((SIGNED, 3)));
            let open = sealed(data, None, 0);
            prop_assert_eq!(Tail::of(&open).map(|tail| tail.mode), Some(OPEN));
            prop_assert!(verify(&open, &key).is_err());
            let at = place.index(signed.len());
            signed[at] ^= 1;
            prop_assert!(verify(&signed, &key).is_err());
        }

        #[test]
        fn any_bytes_have_a_tail_or_none(data in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(Tail::of(&data).is_none() || data.len() >= TAIL_BYTES);
            let _ = data.len() < TAIL_BYTES || verify(&data, b"key").is_ok();
        }
    }
}
