//! STAMP test packets as a reflector reads and writes them: RFC 8762 §4, unauthenticated and authenticated, with the TLVs of
//! RFC 8972 §4.
//!
//! TLVs are never interpreted beyond their bounds: they are copied with the flags that RFC 8972 asks for.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const BASE_BYTES: usize = 44;
pub const AUTHENTICATED_BYTES: usize = 112;
const HMAC_BYTES: usize = 16;
const TLV_BYTES: usize = 4;
const UNRECOGNIZED: u8 = 0x80;
const MALFORMED: u8 = 0x40;
const EXTRA_PADDING: u8 = 1;
/// From 1900 to 1970.
const NTP_EPOCH_S: u64 = 2_208_988_800;
const NS: u64 = 1_000_000_000;

/// RFC 4656 §4.1.2 as RFC 8762 §4.2.1 changes it: S, Z, Scale, Multiplier. Timestamps are of NTP's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEstimate {
    pub synchronised: bool,
    pub scale: u8,
    pub multiplier: u8,
}

impl ErrorEstimate {
    /// The smallest estimate that is not below `error_s`, as the multiplier must not be 0.
    pub fn of(error_s: f64, synchronised: bool) -> Self {
        let (mut units, mut scale) = (error_s.max(0.0) * 4_294_967_296.0, 0);
        while units > 255.0 && scale < 63 {
            (units, scale) = (units / 2.0, scale + 1);
        }
        ErrorEstimate {
            synchronised,
            scale,
            multiplier: units.ceil().clamp(1.0, 255.0) as u8,
        }
    }

    pub fn word(self) -> u16 {
        u16::from(self.synchronised) << 15 | u16::from(self.scale) << 8 | u16::from(self.multiplier)
    }
}

/// NTP's format (RFC 5905 §6) of a UNIX time.
pub fn timestamp(unix_ns: u64) -> u64 {
    let (seconds, ns) = (unix_ns / NS, unix_ns % NS);
    let fraction = ((ns << 32) + NS / 2) / NS;
    u64::from((seconds + NTP_EPOCH_S) as u32) << 32 | fraction
}

/// When a packet came, and with which TTL.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub received_ns: u64,
    pub ttl: u8,
}

/// The answer of a stateless reflector (RFC 8762 §4.3): as long as what came, its sequence number repeated. `now_ns` is when
/// it leaves; times are UNIX times. `None` for what is not to be answered.
pub fn reflect(
    data: &[u8],
    came: Arrival,
    now_ns: u64,
    error: ErrorEstimate,
    key: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let base = key.map_or(BASE_BYTES, |_| AUTHENTICATED_BYTES);
    let (packet, tlvs) = data.split_at_checked(base)?;
    if let Some(key) = key {
        let (signed, tag) = packet.split_at(base - HMAC_BYTES);
        mac(key, signed).verify_truncated_left(tag).ok()?;
    }
    let sequence = &packet[..4];
    // In the authenticated form 12 zero bytes follow each sequence number, and each of the fields stands alone.
    let time_at = if key.is_some() { 16 } else { 4 };
    let (sender_time, sender_error) = (
        &packet[time_at..time_at + 8],
        &packet[time_at + 8..time_at + 10],
    );
    let ssid = &packet[time_at + 10..time_at + 12];
    let mut answer = vec![0; base];
    let mut put = |at: usize, bytes: &[u8]| answer[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, sequence);
    put(time_at, &timestamp(now_ns).to_be_bytes());
    put(time_at + 8, &error.word().to_be_bytes());
    put(time_at + 10, ssid);
    let received = timestamp(came.received_ns).to_be_bytes();
    if key.is_none() {
        put(16, &received);
        put(24, sequence);
        put(28, sender_time);
        put(36, sender_error);
        put(40, &[came.ttl]);
    } else {
        put(32, &received);
        put(48, sequence);
        put(64, sender_time);
        put(72, sender_error);
        put(80, &[came.ttl]);
    }
    if let Some(key) = key {
        let tag = mac(key, &answer[..base - HMAC_BYTES])
            .finalize()
            .into_bytes();
        answer[base - HMAC_BYTES..].copy_from_slice(&tag[..HMAC_BYTES]);
    }
    answer.extend(reflected_tlvs(tlvs));
    Some(answer)
}

/// TLVs as a reflector returns them that knows Extra Padding only (RFC 8972 §4): each other one is marked unrecognized. One
/// that does not fit is marked malformed, and all from there on is returned as it came.
fn reflected_tlvs(tlvs: &[u8]) -> Vec<u8> {
    let (mut out, mut place) = (tlvs.to_vec(), 0);
    // Fewer bytes than those of a head are no TLV at all: padding of RFC 8762.
    while let Some(head) = tlvs.get(place..place + TLV_BYTES) {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if place + TLV_BYTES + length > tlvs.len() {
            out[place] |= MALFORMED;
            break;
        }
        out[place] = if head[1] == EXTRA_PADDING {
            head[0] & !UNRECOGNIZED
        } else {
            head[0] | UNRECOGNIZED
        };
        place += TLV_BYTES + length;
    }
    out
}

/// HMAC-SHA-256, of which 128 bits count, over all that stands before it (RFC 8762 §4.4).
fn mac(key: &[u8], signed: &[u8]) -> Hmac<Sha256> {
    let mut made = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    made.update(signed);
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAME: Arrival = Arrival {
        received_ns: 1_700_000_000_250_000_000,
        ttl: 7,
    };
    const NOW: u64 = 1_700_000_000_500_000_000;

    fn error() -> ErrorEstimate {
        ErrorEstimate::of(0.001, true)
    }

    #[test]
    fn the_fields_stand_where_rfc_8762_has_them() {
        let mut asked = vec![0u8; BASE_BYTES];
        asked[..4].copy_from_slice(&9u32.to_be_bytes());
        asked[4..16].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0x81, 2, 0, 5]);
        let answer = reflect(&asked, CAME, NOW, error(), None).unwrap();
        assert_eq!(answer.len(), BASE_BYTES);
        assert_eq!(answer[..4], 9u32.to_be_bytes());
        assert_eq!(answer[4..12], timestamp(NOW).to_be_bytes());
        assert_eq!(answer[12..14], error().word().to_be_bytes());
        assert_eq!(answer[14..16], [0, 5]);
        assert_eq!(answer[16..24], timestamp(CAME.received_ns).to_be_bytes());
        assert_eq!(answer[24..28], 9u32.to_be_bytes());
        assert_eq!(answer[28..38], asked[4..14]);
        assert_eq!(answer[38..], [0, 0, 7, 0, 0, 0]);
    }

    #[test]
    fn half_a_second_is_half_of_the_fraction_and_errors_are_never_understated() {
        assert_eq!(timestamp(500_000_000), NTP_EPOCH_S << 32 | 0x8000_0000);
        for error_s in [0.0, 1e-10, 1e-6, 0.5, 16.0, 1e9] {
            let made = ErrorEstimate::of(error_s, false);
            let stated = f64::from(made.multiplier) * 2f64.powi(i32::from(made.scale) - 32);
            assert!(made.multiplier > 0 && (stated >= error_s || made.scale == 63));
        }
    }

    #[test]
    fn tlvs_are_marked_and_what_does_not_fit_is_malformed() {
        assert_eq!(reflected_tlvs(&[0x80, 1, 0, 1, 9]), [0, 1, 0, 1, 9]);
        assert_eq!(reflected_tlvs(&[0, 7, 0, 0, 1, 2]), [0x80, 7, 0, 0, 1, 2]);
        assert_eq!(reflected_tlvs(&[0, 7, 0, 9, 1]), [0x40, 7, 0, 9, 1]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_answered_with_as_many_bytes_or_not_at_all(
            data in prop::collection::vec(any::<u8>(), 0..300),
            key in prop::option::of(prop::collection::vec(any::<u8>(), 1..100)),
        ) {
            let answer = reflect(&data, CAME, NOW, error(), key.as_deref());
            match (answer, key) {
                (Some(answer), None) => prop_assert_eq!(answer.len(), data.len()),
                (None, None) => prop_assert!(data.len() < BASE_BYTES),
                // Nobody guesses a signature.
                (answer, Some(_)) => prop_assert!(answer.is_none()),
            }
        }

        #[test]
        fn a_signed_packet_is_answered_and_a_changed_one_is_not(
            key in prop::collection::vec(any::<u8>(), 1..100),
            body in prop::array::uniform32(any::<u8>()),
            flipped in 0usize..AUTHENTICATED_BYTES,
        ) {
            let mut data = vec![0u8; AUTHENTICATED_BYTES];
            data[..32].copy_from_slice(&body);
            let tag = mac(&key, &data[..AUTHENTICATED_BYTES - HMAC_BYTES]).finalize().into_bytes();
            data[AUTHENTICATED_BYTES - HMAC_BYTES..].copy_from_slice(&tag[..HMAC_BYTES]);
            let answer = reflect(&data, CAME, NOW, error(), Some(&key)).unwrap();
            let (signed, tag) = answer.split_at(AUTHENTICATED_BYTES - HMAC_BYTES);
            prop_assert!(mac(&key, signed).verify_truncated_left(tag).is_ok());
            data[flipped] ^= 1;
            prop_assert!(reflect(&data, CAME, NOW, error(), Some(&key)).is_none());
        }
    }
}
