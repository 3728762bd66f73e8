//! What PDUs of UDPSTP (RFC 9946) have in common: their fields as bytes, in the order of the network, and the checksum.

/// The last bytes of a control PDU and of a status (`seal`).
pub const TAIL_BYTES: usize = 41;
/// `action` of load and status.
pub const TESTING: u8 = 0;
pub const STOPPING: u8 = 2;
/// In place of a delay that is not known.
pub const NO_DELAY: u32 = u32::MAX;
/// The response to a request that is granted.
pub const OK: u8 = 1;

/// Takes fields from the front of bytes.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (field, rest) = self.0.split_first_chunk::<LENGTH>()?;
        self.0 = rest;
        Some(*field)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// Passes over so many bytes.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

/// Puts fields behind each other.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// The bytes with an empty tail.
    pub fn with_tail(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.0);
        bytes.resize(bytes.len() + TAIL_BYTES, 0);
        bytes
    }
}

/// Ones' complement of the sum of 16-bit words (RFC 1071); 0 over what holds its own right checksum.
pub fn checksum(data: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut total: u64 = data.chunks(2).map(word).sum();
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !(total as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_holds_its_checksum_has_the_checksum_zero(mut data in prop::collection::vec(any::<u8>(), 2..100)) {
            let even = data.len() / 2 * 2;
            data.truncate(even);
            data[even - 2..].fill(0);
            let found = checksum(&data);
            data[even - 2..].copy_from_slice(&found.to_be_bytes());
            prop_assert_eq!(checksum(&data), 0);
        }
    }
}
