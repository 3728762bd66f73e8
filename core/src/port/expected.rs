//! Classifies an arriving frame: ours and intact, ours and corrupt, or foreign.
//!
//! The receive program (`bpf/receive.c`) makes the same checks in the same order; both must be changed together.

use crate::frame::signature::{self, Parsed, Signature};
use crate::frame::view::{Fronts, Views, covered};
use crate::port::arrival::Arrival;

/// Bytes of a VLAN tag, which a port may remove before anything else sees the frame.
pub const VLAN_TAG_BYTES: u16 = 4;

/// What a receive port expects of one stream's frames. Lengths are without FCS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim {
    pub least: u16,
    pub most: u16,
    /// The bytes from here to the end sum to zero in ones' complement.
    pub checked_from: u16,
    /// The frames have a VLAN tag.
    pub tagged: bool,
    /// Zero bytes that follow the signature.
    pub room: u8,
    /// The view of the first of the frames as it is to arrive, where changes are watched.
    pub view: u64,
}

/// The streams of a trial, at whatever port their frames arrive. A claim with `most` = 0 means that the stream is not
/// signed.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Number of the first claim's stream; the others follow it.
    pub first: u16,
    pub claims: Vec<Claim>,
    /// Present where changes are watched.
    pub views: Option<Views>,
    /// Where the words are that are kept of each frame, in place of a view.
    pub words: Option<[u16; 2]>,
}

/// The words of a frame that begin at two of its bytes, the first one in the low half; zero if it is too short.
fn words(frame: &[u8], [first, second]: [u16; 2]) -> u64 {
    let word = |at: u16| {
        let bytes = frame.get(usize::from(at)..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_ne_bytes(*bytes)))
    };
    word(first)
        .zip(word(second))
        .map_or(0, |(first, second)| second << 32 | first)
}

impl Expected {
    /// Whether frames of a stream have a VLAN tag.
    pub fn is_tagged(&self, stream: u16) -> bool {
        let index = usize::from(stream.wrapping_sub(self.first));
        self.claims.get(index).is_some_and(|claim| claim.tagged)
    }

    /// Classifies `frame`, from whose front `cut` bytes are missing (a VLAN tag that the kernel removed).
    pub fn classify(&self, frame: &[u8], cut: usize, received_ns: u64) -> Arrival {
        let Some((signature, intact, claim)) = self.claimed(Signature::find(frame)) else {
            return Arrival::Foreign;
        };
        let checked_from = usize::from(claim.checked_from).saturating_sub(cut);
        let region = frame.get(checked_from..);
        let length = frame.len() + cut;
        let whole = usize::from(claim.least) <= length && length <= usize::from(claim.most);
        let intact = intact && whole && region.is_some_and(signature::balanced);
        arrival(&signature, intact, received_ns)
    }

    /// Classifies a whole frame where changes are watched, and returns its view. A frame is intact if its payload is,
    /// whatever became of its headers and its length.
    pub fn look(&self, frame: &[u8], received_ns: u64, fronts: &mut Fronts) -> (Arrival, u64) {
        let Some(views) = &self.views else {
            let seen = self.words.map_or(0, |at| words(frame, at));
            return (self.classify(frame, 0, received_ns), seen);
        };
        // As nearly all frames are: as long as they are to be, with an intact signature at their end. What needs no
        // thought for these is done without any, since it is done for every frame.
        if let Some(Parsed::Intact(signature)) = frame.last_chunk().map(Signature::parse)
            && let Some(claim) = self.claim(signature.stream)
            && frame.len() == usize::from(claim.most)
        {
            let place = frame.len() - signature::LENGTH;
            let front = &frame[..usize::from(views.window).min(place)];
            let view = views.met(claim.view, front, frame.len(), fronts);
            let region = frame.get(usize::from(claim.checked_from)..);
            let intact = region.is_some_and(signature::balanced);
            return (arrival(&signature, intact, received_ns), view);
        }
        self.look_closely(views, frame, received_ns, fronts)
    }

    /// The same for any frame.
    #[inline(never)]
    fn look_closely(
        &self,
        views: &Views,
        frame: &[u8],
        received_ns: u64,
        fronts: &mut Fronts,
    ) -> (Arrival, u64) {
        let Some((place, parsed)) = Signature::find_padded(frame) else {
            return (Arrival::Foreign, 0);
        };
        let Some((signature, intact, claim)) = self.claimed(parsed) else {
            return (Arrival::Foreign, 0);
        };
        let end = (place + signature::LENGTH + usize::from(claim.room)).min(frame.len());
        let grown = end as i64 - i64::from(claim.most);
        let window = usize::from(views.window);
        let front = &frame[..covered(window, grown.max(0) as usize, place)];
        let view = views.met(claim.view, front, frame.len(), fronts);
        let from = usize::try_from(i64::from(claim.checked_from) + grown);
        let region = from.ok().and_then(|from| frame.get(from..));
        let intact = intact && region.is_some_and(signature::balanced);
        (arrival(&signature, intact, received_ns), view)
    }

    /// A signature that was found, whether it is intact, and what is expected of its stream; nothing of others' frames.
    #[inline]
    fn claimed(&self, parsed: Parsed) -> Option<(Signature, bool, &Claim)> {
        let (signature, intact) = match parsed {
            Parsed::Absent => return None,
            Parsed::Broken(signature) => (signature, false),
            Parsed::Intact(signature) => (signature, true),
        };
        Some((signature, intact, self.claim(signature.stream)?))
    }

    #[inline]
    fn claim(&self, stream: u16) -> Option<&Claim> {
        let index = usize::from(stream.wrapping_sub(self.first));
        self.claims.get(index).filter(|claim| claim.most > 0)
    }
}

#[inline]
fn arrival(signature: &Signature, intact: bool, received_ns: u64) -> Arrival {
    let (stream, sequence) = (signature.stream, signature.sequence);
    if intact {
        Arrival::Intact {
            stream,
            sequence,
            sent_ns: signature::unwrap_48(signature.sent_ns, received_ns),
            received_ns,
        }
    } else {
        Arrival::Corrupt {
            stream,
            sequence,
            received_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_with_other_headers_is_intact_where_changes_are_watched() {
        let watching = Expected {
            views: Some(Views {
                window: 48,
                ..Views::default()
            }),
            ..expected(42)
        };
        let mut fronts = Fronts::default();
        fronts.begin();
        let plain = frame(7, 60);
        let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
        let untagged = [&plain[..8], &plain[12..]].concat();
        let padded = [&untagged[..], &[0; 7]].concat();
        let mut views = Vec::new();
        for bytes in [&plain, &tagged, &untagged, &padded] {
            let (arrival, view) = watching.look(bytes, 1500, &mut fronts);
            assert!(matches!(arrival, Arrival::Intact { sequence: 9, .. }));
            assert!(!views.contains(&view));
            assert_eq!(
                fronts.of(view).map(|front| front.length as usize),
                Some(bytes.len())
            );
            views.push(view);
        }
        let mut damaged = plain.clone();
        damaged[50] ^= 1;
        let (arrival, _) = watching.look(&damaged, 1500, &mut fronts);
        assert!(matches!(arrival, Arrival::Corrupt { .. }));
    }

    /// Longer than any frame of a trial.
    const LONGEST: usize = 9216;

    fn expected(checked_from: u16) -> Expected {
        let claim = Claim {
            least: 60,
            most: 60,
            checked_from,
            tagged: false,
            room: 0,
            view: 0,
        };
        Expected {
            first: 6,
            claims: vec![Claim::default(), claim],
            views: None,
            words: None,
        }
    }

    fn frame(stream: u16, length: usize) -> Vec<u8> {
        let mut frame = vec![0; length];
        let place = frame.last_chunk_mut().unwrap();
        Signature {
            stream,
            sequence: 9,
            sent_ns: 1000,
        }
        .emit(place);
        frame
    }

    #[test]
    fn a_frame_of_ours_is_intact() {
        let intact = Arrival::Intact {
            stream: 7,
            sequence: 9,
            sent_ns: 1000,
            received_ns: 1500,
        };
        assert_eq!(expected(42).classify(&frame(7, 60), 0, 1500), intact);
        assert_eq!(expected(42).classify(&frame(7, 60)[4..], 4, 1500), intact);
    }

    #[test]
    fn words_of_a_frame_are_told_beside_what_it_is() {
        let asking = Expected {
            words: Some([26, 34]),
            ..expected(42)
        };
        let mut bytes = frame(7, 60);
        bytes[26..30].copy_from_slice(&[198, 18, 0, 1]);
        bytes[34..38].copy_from_slice(&[4, 0, 0, 7]);
        let (arrival, seen) = asking.look(&bytes, 1500, &mut Fronts::default());
        assert!(matches!(arrival, Arrival::Intact { sequence: 9, .. }));
        assert_eq!(seen.to_ne_bytes(), [198, 18, 0, 1, 4, 0, 0, 7]);
        assert_eq!(words(&bytes[..37], [26, 34]), 0);
    }

    #[test]
    fn room_for_an_inner_fcs_may_follow_the_signature() {
        let mut roomy = frame(7, 56);
        roomy.extend([0; signature::ROOM]);
        let found = expected(38).classify(&roomy, 0, 1500);
        assert!(matches!(found, Arrival::Intact { sequence: 9, .. }));
        roomy[58] = 1;
        let found = expected(38).classify(&roomy, 0, 1500);
        assert!(matches!(found, Arrival::Corrupt { sequence: 9, .. }));
    }

    #[test]
    fn a_front_as_its_stream_has_it_is_not_kept() {
        let mut watching = expected(42);
        watching.views = Some(Views {
            window: 48,
            ..Views::default()
        });
        let mut fronts = Fronts::default();
        fronts.begin();
        let usual = frame(7, 60);
        let mut other = usual.clone();
        other[20] = 1;
        watching.claims[1].view = watching.look(&usual, 1500, &mut Fronts::default()).1;
        for (bytes, is_kept) in [(&usual, false), (&other, true), (&usual, false)] {
            let (_, view) = watching.look(bytes, 1500, &mut fronts);
            assert_eq!(fronts.of(view).is_some(), is_kept);
        }
    }

    #[test]
    fn other_streams_short_frames_and_frames_without_signature_are_foreign() {
        for frame in [frame(8, 60), frame(6, 60), vec![0; 60], vec![0; 17], vec![]] {
            assert_eq!(expected(42).classify(&frame, 0, 0), Arrival::Foreign);
        }
    }

    #[test]
    fn a_wrong_byte_or_length_makes_it_corrupt() {
        let mut wrong_byte = frame(7, 60);
        wrong_byte[57] ^= 1;
        let mut wrong_payload = frame(7, 60);
        wrong_payload[41] = 1;
        for frame in [wrong_byte, wrong_payload, frame(7, 61)] {
            assert_eq!(
                expected(40).classify(&frame, 0, 0),
                Arrival::Corrupt {
                    stream: 7,
                    sequence: 9,
                    received_ns: 0
                }
            );
        }
    }

    /// A signed frame of any length that is then cut, lengthened or has flipped bits, or a frame of another sender.
    fn wire() -> impl Strategy<Value = (Expected, Vec<u8>)> {
        let flips = proptest::collection::vec((any::<prop::sample::Index>(), 0u32..8), 0..4);
        let ours = (
            18..=LONGEST,
            any::<u16>(),
            any::<u64>(),
            flips,
            0..=LONGEST,
            any::<bool>(),
        );
        let ours = ours.prop_map(|(length, stream, sequence, flips, end, cut)| {
            let mut bytes = vec![0; length];
            let place = bytes.last_chunk_mut().unwrap();
            Signature {
                stream,
                sequence,
                sent_ns: sequence,
            }
            .emit(place);
            for (place, bit) in flips {
                bytes[place.index(length)] ^= 1 << bit;
            }
            if cut {
                bytes.resize(end, 0x6B);
            }
            let claim = Claim {
                least: length as u16,
                most: length as u16,
                checked_from: length.saturating_sub(18 + sequence as usize % 64) as u16,
                tagged: false,
                room: 0,
                view: 0,
            };
            let expected = Expected {
                first: stream,
                claims: vec![claim],
                views: None,
                words: None,
            };
            (expected, bytes)
        });
        let anything = proptest::collection::vec(any::<u8>(), 0..=LONGEST);
        prop_oneof![ours, anything.prop_map(|bytes| (expected(42), bytes))]
    }

    /// Classifying never panics, and a frame is intact only if it is complete, balanced and of an expected stream.
    fn fuzz((expected, bytes): &(Expected, Vec<u8>), cut: usize, received_ns: u64) {
        let claim = expected.claims[expected.claims.len() - 1];
        let whole = bytes.len().wrapping_add(cut) == usize::from(claim.most);
        let region = bytes.get(usize::from(claim.checked_from).saturating_sub(cut)..);
        match expected.classify(bytes, cut, received_ns) {
            Arrival::Intact { sequence, .. } => {
                assert!(whole && region.is_some_and(signature::balanced));
                assert!(sequence <= signature::MASK_48);
            }
            Arrival::Corrupt { sequence, .. } => assert!(sequence <= signature::MASK_48),
            Arrival::Foreign => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_bytes_are_classified_without_a_panic(wire in wire(), cut in prop_oneof![Just(0usize), Just(4), any::<usize>().prop_map(|cut| cut >> 1)], received_ns: u64) {
            fuzz(&wire, cut, received_ns);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_usual_frame_is_looked_at_as_any_other(wire in wire(), window: u8, received_ns: u64) {
            let (mut expected, bytes) = wire;
            let views = Views { window, ..Views::default() };
            expected.views = Some(views.clone());
            let found = [Fronts::default(), Fronts::default()].map(|mut fronts| {
                fronts.begin();
                fronts
            });
            let [mut quickly, mut closely] = found;
            let (usual, view) = expected.look(&bytes, received_ns, &mut quickly);
            prop_assert_eq!((usual, view), expected.look_closely(&views, &bytes, received_ns, &mut closely));
            prop_assert_eq!(quickly.of(view), closely.of(view));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500_000))]
        #[test]
        #[ignore = "minutes: part of the soak"]
        fn half_a_million_frames_are_classified_without_a_panic(wire in wire(), cut in 0usize..8, received_ns: u64) {
            fuzz(&wire, cut, received_ns);
        }
    }
}
