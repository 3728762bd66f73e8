//! `SendBuffer`: the bytes of one call to send. It starts at a page, and its content cannot be compressed.

const PAGE: usize = 4096;

pub struct SendBuffer {
    room: Vec<u8>,
    start: usize,
    length: usize,
}

impl SendBuffer {
    pub fn new(length: usize) -> Self {
        let mut room = vec![0u8; length + PAGE];
        // xorshift64 (Marsaglia, 2003), which works with any seed but zero.
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        for chunk in room.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
        }
        let start = room.as_ptr().align_offset(PAGE).min(PAGE);
        SendBuffer {
            room,
            start,
            length,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room[self.start..self.start + self.length]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, SendBuffer};

    #[test]
    fn it_begins_at_a_page_and_is_no_pattern() {
        for length in [1, 16, 1000, 77_824] {
            let message = SendBuffer::new(length);
            assert_eq!(message.bytes().len(), length);
            assert_eq!(message.bytes().as_ptr().align_offset(PAGE), 0);
        }
        let message = SendBuffer::new(1 << 16);
        let zeros = message.bytes().iter().filter(|byte| **byte == 0).count();
        assert!((128..512).contains(&zeros), "{zeros}");
    }
}
