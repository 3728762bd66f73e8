//! An output that frames of any size from any inputs share: a server, and a drop-tail buffer of bytes.
//!
//! A frame is refused if it does not fit beside the frames that have not left. For frames of one size it does exactly
//! what `output` does.

use std::collections::VecDeque;

use super::device::Stall;
use super::server::{Server, Service};

pub struct SharedOutput {
    server: Server,
    buffer_bytes: u64,
    occupied_bytes: u64,
    /// For each frame in the buffer, when it will have left, and its size.
    inside: VecDeque<(u64, u32)>,
}

impl SharedOutput {
    pub fn new(buffer_bytes: u64, stall: Option<&Stall>) -> Self {
        SharedOutput {
            server: Server::new(stall),
            buffer_bytes,
            occupied_bytes: 0,
            inside: VecDeque::new(),
        }
    }

    /// When a frame that is ready now will fit, if it does not fit yet. The frame must not be larger than the buffer.
    pub fn room_ps(&mut self, ready_ps: u64, frame_bytes: u32) -> Option<u64> {
        self.release(ready_ps);
        let mut occupied_bytes = self.occupied_bytes + u64::from(frame_bytes);
        let mut room_ps = None;
        for (left_ps, bytes) in &self.inside {
            if occupied_bytes <= self.buffer_bytes {
                break;
            }
            occupied_bytes -= u64::from(*bytes);
            room_ps = Some(*left_ps);
        }
        room_ps
    }

    /// A frame is ready to be sent. Returns when its first bit leaves, or `None` if it is dropped. Frames come in
    /// order of `ready_ps`.
    #[inline]
    pub fn send(&mut self, ready_ps: u64, frame_bytes: u32, service: Service) -> Option<u64> {
        self.release(ready_ps);
        let occupied_bytes = self.occupied_bytes + u64::from(frame_bytes);
        if occupied_bytes > self.buffer_bytes {
            return None;
        }
        self.occupied_bytes = occupied_bytes;
        let start_ps = self.server.start::<true>(ready_ps, service);
        self.inside.push_back((self.server.free_ps(), frame_bytes));
        Some(start_ps)
    }

    /// Removes the frames that have left by now.
    #[inline]
    fn release(&mut self, now_ps: u64) {
        while let Some(&(left_ps, bytes)) = self.inside.front()
            && left_ps <= now_ps
        {
            self.occupied_bytes -= u64::from(bytes);
            self.inside.pop_front();
        }
    }

    /// Empties the buffer.
    pub fn empty(&mut self) {
        self.inside.clear();
        self.occupied_bytes = 0;
        self.server.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::output::Output;
    use proptest::prelude::*;

    proptest! {
        /// A reference that keeps all accepted frames and counts them again for each arrival.
        #[test]
        fn it_agrees_with_the_reference(
            ps_per_byte in 1u64..20, buffer in 64u64..1000,
            frames in proptest::collection::vec((0u64..2000, 64u32..300), 1..200),
        ) {
            let mut output = SharedOutput::new(buffer, None);
            let (mut ready_ps, mut left) = (0, Vec::<(u64, u64)>::new());
            for (step, bytes) in frames {
                ready_ps += step;
                let service_ps = ps_per_byte * u64::from(bytes);
                let inside: u64 =
                    left.iter().filter(|&&(time, _)| time > ready_ps).map(|(_, bytes)| bytes).sum();
                let expected = (inside + u64::from(bytes) <= buffer).then(|| {
                    let start = ready_ps.max(left.last().map_or(0, |last| last.0));
                    left.push((start + service_ps, u64::from(bytes)));
                    start
                });
                let service = Service::new(service_ps as f64);
                prop_assert_eq!(output.send(ready_ps, bytes, service), expected);
            }
        }

        #[test]
        fn frames_of_one_size_meet_the_same_fate_as_at_a_port_for_one_size(
            service_ps in 1f64..2000.0, bytes in 64u32..300, buffer in 300u64..5000,
            steps in proptest::collection::vec(0u64..2000, 1..200),
        ) {
            let mut one = Output::new(service_ps, (buffer / u64::from(bytes)) as usize, None);
            let mut any = SharedOutput::new(buffer, None);
            let mut ready_ps = 0;
            for step in steps {
                ready_ps += step;
                prop_assert_eq!(
                    any.send(ready_ps, bytes, Service::new(service_ps)),
                    one.send::<true>(ready_ps)
                );
            }
        }
    }
}
