//! `Load`: the header of a datagram of the load; what follows it has no meaning.

use super::pdu::{Reader, STOPPING, checksum};

const LOAD: u16 = 0xBEEF;
pub const LOAD_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub action: u8,
    pub stopped: u8,
    /// 1 for the first.
    pub number: u32,
    /// Of the whole datagram, this header included.
    pub payload_bytes: u16,
    /// Status PDUs that were lost before the last one.
    pub status_errors: u16,
    /// When the last status that came was sent, by its sender.
    pub status_s: u32,
    pub status_ns: u32,
    pub sent_s: u32,
    pub sent_ns: u32,
    /// From that status's arrival to this departure.
    pub held_ms: u16,
}

impl Load {
    /// At the beginning of `room`, without a checksum, which UDP has anyway.
    pub fn write(&self, room: &mut [u8]) {
        let mut put = |at: usize, bytes: &[u8]| room[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &LOAD.to_be_bytes());
        put(2, &[self.action, self.stopped]);
        put(4, &self.number.to_be_bytes());
        put(8, &self.payload_bytes.to_be_bytes());
        put(10, &self.status_errors.to_be_bytes());
        put(12, &self.status_s.to_be_bytes());
        put(16, &self.status_ns.to_be_bytes());
        put(20, &self.sent_s.to_be_bytes());
        put(24, &self.sent_ns.to_be_bytes());
        put(28, &self.held_ms.to_be_bytes());
        put(30, &[0, 0]);
    }

    /// Of what was received.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut fields = Reader(data);
        if fields.u16()? != LOAD {
            return None;
        }
        let found = Load {
            action: fields.u8()?,
            stopped: fields.u8()?,
            number: fields.u32()?,
            payload_bytes: fields.u16()?,
            status_errors: fields.u16()?,
            status_s: fields.u32()?,
            status_ns: fields.u32()?,
            sent_s: fields.u32()?,
            sent_ns: fields.u32()?,
            held_ms: fields.u16()?,
        };
        let has_checksum = fields.u16()? != 0;
        if has_checksum && checksum(&data[..LOAD_BYTES]) != 0 {
            return None;
        }
        let possible = found.action <= STOPPING
            && found.stopped <= 1
            && usize::from(found.payload_bytes) == data.len();
        possible.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_a_load_is_written_as_it_came(mut data in prop::collection::vec(any::<u8>(), 0..100), action in 0u8..4) {
            if data.len() >= LOAD_BYTES {
                data[..4].copy_from_slice(&[0xBE, 0xEF, action, 0]);
                let length = (data.len() as u16).to_be_bytes();
                data[8..10].copy_from_slice(&length);
                data[30..32].fill(0);
            }
            match Load::parse(&data) {
                Some(found) => {
                    let mut room = [0; LOAD_BYTES];
                    found.write(&mut room);
                    prop_assert_eq!(&room[..], &data[..LOAD_BYTES]);
                }
                None => prop_assert!(data.len() < LOAD_BYTES || action > STOPPING),
            }
        }
    }
}
