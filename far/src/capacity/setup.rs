//! `Setup`: asks for a test, and answers with the port where it will be; and the null request, which opens the server's firewall
//! for the client.

use super::pdu::{Reader, TAIL_BYTES, Writer};

const SETUP: u16 = 0xACE1;
const NULL: u16 = 0xDEAD;
const BYTES: usize = 15 + TAIL_BYTES;
/// The version of RFC 9946.
pub const VERSION: u16 = 20;
pub const REQUEST: u8 = 1;
pub const RESPONSE: u8 = 2;
/// Modifier: datagrams of up to 1500 byte rather than 1250.
pub const TRADITIONAL_MTU: u8 = 0x02;

/// Responses to a request besides that it is granted.
pub const BAD_VERSION: u8 = 2;
pub const NO_KEY_HERE: u8 = 4;
pub const KEY_NEEDED: u8 = 5;
pub const BAD_MODE: u8 = 6;
pub const BAD_DIGEST: u8 = 7;
pub const BAD_TIME: u8 = 8;
pub const CAPACITY_EXCEEDED: u8 = 10;
pub const BAD_CONNECTIONS: u8 = 12;
pub const NO_CONNECTION: u8 = 13;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub version: u16,
    pub connection: u8,
    pub connections: u8,
    /// The same for all connections of one test of a client.
    pub connections_id: u16,
    pub command: u8,
    pub response: u8,
    max_bandwidth: u16,
    pub port: u16,
    pub modifiers: u8,
}

impl Setup {
    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut fields = Reader(data);
        if data.len() != BYTES || fields.u16()? != SETUP {
            return None;
        }
        let found = Setup {
            version: fields.u16()?,
            connection: fields.u8()?,
            connections: fields.u8()?,
            connections_id: fields.u16()?,
            command: fields.u8()?,
            response: fields.u8()?,
            max_bandwidth: fields.u16()?,
            port: fields.u16()?,
            modifiers: fields.u8()?,
        };
        [REQUEST, RESPONSE]
            .contains(&found.command)
            .then_some(found)
    }

    pub fn pack(&self) -> Vec<u8> {
        let mut fields = Writer::default();
        fields
            .u16(SETUP)
            .u16(self.version)
            .u8(self.connection)
            .u8(self.connections);
        fields
            .u16(self.connections_id)
            .u8(self.command)
            .u8(self.response);
        fields
            .u16(self.max_bandwidth)
            .u16(self.port)
            .u8(self.modifiers)
            .with_tail()
    }
}

pub fn null() -> Vec<u8> {
    Writer::default()
        .u16(NULL)
        .u16(VERSION)
        .u8(1)
        .u8(0)
        .u8(0)
        .with_tail()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_a_setup_is_packed_as_it_came(mut data in prop::collection::vec(any::<u8>(), BYTES..=BYTES), command in 0u8..4) {
            data[..2].copy_from_slice(&SETUP.to_be_bytes());
            data[8] = command;
            match Setup::parse(&data) {
                Some(found) => prop_assert_eq!(&found.pack()[..15], &data[..15]),
                None => prop_assert!(command != REQUEST && command != RESPONSE),
            }
            prop_assert!(Setup::parse(&data[1..]).is_none());
        }
    }
}
