//! The packets of a train and what was seen of them: their bytes, and rows of stamps as both ends exchange them
//! (`keisoku/subjects/path/train/probe.py`). It sends nothing.

use keisoku::stamped_socket::{Packet, Sent};
use keisoku::stream::send_buffer::SendBuffer;

const MAGIC: &[u8; 4] = b"kpp1";
const HEADER_BYTES: usize = 20;
pub const TOKEN_BYTES: usize = 8;
pub const ROW_BYTES: usize = 40;
/// Train number of packets that only show the address of their sender.
pub const HELLO: u32 = 0xFFFF_FFFF;
/// Of a train.
pub const MOST_PACKETS: usize = 4096;
/// Of a packet, the longest that IP has.
const MOST_IP_BYTES: usize = 65_535;

pub type Token = [u8; TOKEN_BYTES];

/// A train that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    pub number: u32,
    /// Of each packet, with its IP header.
    pub ip_bytes: usize,
    pub count: usize,
}

/// The shortest probe.
pub fn least_ip_bytes(of_ipv6: bool) -> usize {
    (if of_ipv6 { 48 } else { 28 }) + HEADER_BYTES
}

impl Train {
    /// Whether there can be such a train.
    pub fn is_possible(&self, of_ipv6: bool) -> bool {
        (least_ip_bytes(of_ipv6)..=MOST_IP_BYTES).contains(&self.ip_bytes)
            && (1..=MOST_PACKETS).contains(&self.count)
    }

    /// The payload of each packet of a possible train. What follows the header does not compress.
    pub fn payloads(&self, token: &Token, of_ipv6: bool) -> Vec<Vec<u8>> {
        let filler = SendBuffer::new(self.ip_bytes - least_ip_bytes(of_ipv6));
        let payload = |index: usize| {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(token);
            bytes.extend(self.number.to_be_bytes());
            bytes.extend((index as u16).to_be_bytes());
            bytes.extend([0; 2]);
            bytes.extend(filler.bytes());
            bytes
        };
        (0..self.count).map(payload).collect()
    }
}

/// One packet as one end saw it; a stamp that is missing is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub train: u32,
    index: u16,
    /// 0 where it was sent.
    ttl: u16,
    realtime_ns: u64,
    monotonic_ns: u64,
    pub kernel_ns: u64,
    pub hardware_ns: u64,
}

impl Row {
    pub fn sent(train: u32, index: usize, packet: &Sent) -> Self {
        Row {
            train,
            index: index as u16,
            ttl: 0,
            realtime_ns: packet.user.realtime_ns,
            monotonic_ns: packet.user.monotonic_ns,
            kernel_ns: packet.kernel_ns.unwrap_or(0),
            hardware_ns: packet.hardware_ns.unwrap_or(0),
        }
    }

    /// Of a packet that is ours.
    pub fn received(token: &Token, packet: &Packet) -> Option<Self> {
        let (train, index) = parse(token, &packet.data)?;
        Some(Row {
            train,
            index,
            ttl: packet.ttl.unwrap_or(0).into(),
            realtime_ns: packet.user.realtime_ns,
            monotonic_ns: packet.user.monotonic_ns,
            kernel_ns: packet.kernel_ns.unwrap_or(0),
            hardware_ns: packet.hardware_ns.unwrap_or(0),
        })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.train.to_le_bytes());
        bytes.extend(self.index.to_le_bytes());
        bytes.extend(self.ttl.to_le_bytes());
        for time in [
            self.realtime_ns,
            self.monotonic_ns,
            self.kernel_ns,
            self.hardware_ns,
        ] {
            bytes.extend(time.to_le_bytes());
        }
    }
}

/// The rows one after the other, little end first.
pub fn bytes_of(rows: &[Row]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * ROW_BYTES);
    for row in rows {
        row.write(&mut bytes);
    }
    bytes
}

/// Train and index of a probe with this token.
fn parse(token: &Token, data: &[u8]) -> Option<(u32, u16)> {
    let head = data.get(..HEADER_BYTES)?;
    let ours = head.starts_with(MAGIC) && head[4..12] == *token;
    ours.then(|| {
        (
            u32::from_be_bytes([head[12], head[13], head[14], head[15]]),
            u16::from_be_bytes([head[16], head[17]]),
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: Token = *b"8 bytes!";

    #[test]
    fn packets_have_their_length_and_their_place() {
        for of_ipv6 in [false, true] {
            let train = Train {
                number: 7,
                ip_bytes: 1000,
                count: 3,
            };
            let headers = if of_ipv6 { 48 } else { 28 };
            for (index, payload) in train.payloads(&TOKEN, of_ipv6).iter().enumerate() {
                assert_eq!(payload.len(), 1000 - headers);
                assert_eq!(parse(&TOKEN, payload), Some((7, index as u16)));
                assert_eq!(parse(b"another!", payload), None);
            }
            let shortest = Train {
                ip_bytes: least_ip_bytes(of_ipv6),
                ..train
            };
            assert!(shortest.is_possible(of_ipv6));
            let shorter = Train {
                ip_bytes: shortest.ip_bytes - 1,
                ..train
            };
            assert!(!shorter.is_possible(of_ipv6));
        }
    }

    #[test]
    fn a_row_has_its_length_and_its_order() {
        let row = Row {
            train: 1,
            index: 2,
            ttl: 3,
            realtime_ns: 4,
            monotonic_ns: 5,
            kernel_ns: 6,
            hardware_ns: 7,
        };
        let bytes = bytes_of(&[row]);
        assert_eq!(bytes.len(), ROW_BYTES);
        let at = [0, 4, 6, 8, 16, 24, 32].map(|place| bytes[place]);
        assert_eq!(at, [1, 2, 3, 4, 5, 6, 7]);
    }

    proptest! {
        #[test]
        fn any_datagram_is_a_probe_of_ours_or_none(data in prop::collection::vec(any::<u8>(), 0..64)) {
            if parse(&TOKEN, &data).is_some() {
                prop_assert!(data.starts_with(b"kpp18 bytes!"));
            }
        }
    }
}
