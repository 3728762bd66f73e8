//! `Packet`: the content of a packet of either end, always `BYTES` long, in network byte order.

/// Length of each packet; the answer to a packet of an unknown client is shorter.
pub const BYTES: usize = 64;
/// Length of the answer that a packet belongs to no session: never more than what provoked it.
pub const UNKNOWN_BYTES: usize = 32;
const MARK: [u8; 4] = *b"kout";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of a stream.
    Data,
    /// The far end's answer to a packet whose token it does not know, as after a restart.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub kind: Kind,
    pub flow: u16,
    /// Which session it belongs to; the far end drew it at random.
    pub token: u64,
    /// Of the packet in its flow, from 0, whether or not those before were sent.
    pub number: u64,
    /// When it was sent, by the sender's CLOCK_MONOTONIC.
    pub sent_ns: u64,
    /// What the sender has received of this flow: one more than the highest number, and how many packets.
    pub next: u64,
    pub received: u64,
    /// How many packets of this flow the sender has sent before: what is missing beside them was never sent.
    pub sent_before: u64,
}

impl Packet {
    pub fn write(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MARK);
        bytes[4] = match self.kind {
            Kind::Data => 1,
            Kind::Unknown => 2,
        };
        bytes[6..8].copy_from_slice(&self.flow.to_be_bytes());
        let words = [
            self.token,
            self.number,
            self.sent_ns,
            self.next,
            self.received,
            self.sent_before,
        ];
        for (place, word) in words.into_iter().enumerate() {
            bytes[8 + 8 * place..16 + 8 * place].copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// `None` if the bytes are no packet of ours.
    pub fn read(bytes: &[u8]) -> Option<Packet> {
        let kind = match (bytes.get(4)?, bytes.len()) {
            (1, BYTES) => Kind::Data,
            (2, UNKNOWN_BYTES | BYTES) => Kind::Unknown,
            _ => return None,
        };
        let word = |place: usize| {
            let part = bytes.get(8 + 8 * place..16 + 8 * place);
            part.and_then(|part| part.try_into().ok())
                .map_or(0, u64::from_be_bytes)
        };
        (bytes[..4] == MARK).then(|| Packet {
            kind,
            flow: u16::from_be_bytes([bytes[6], bytes[7]]),
            token: word(0),
            number: word(1),
            sent_ns: word(2),
            next: word(3),
            received: word(4),
            sent_before: word(5),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(flow: u16, token: u64, number: u64, sent_ns: u64, next: u64, received: u64, sent_before: u64) {
            let packet = Packet { kind: Kind::Data, flow, token, number, sent_ns, next, received, sent_before };
            prop_assert_eq!(Packet::read(&packet.write()), Some(packet));
            let unknown = Packet { kind: Kind::Unknown, next: 0, received: 0, sent_before: 0, ..packet };
            prop_assert_eq!(Packet::read(&unknown.write()[..UNKNOWN_BYTES]), Some(unknown));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let found = Packet::read(&bytes);
            prop_assert!(found.is_none() || bytes[..4] == MARK);
        }
    }
}
