//! An output for frames of one size: a server and a drop-tail buffer.
//!
//! A frame is refused while as many frames as the buffer holds have not left. This file knows no sequence numbers and
//! no reason for which a frame arrives. `shared_output` does the same for frames of any size.

use super::device::Stall;
use super::server::{Server, Service};

pub struct Output {
    server: Server,
    service: Service,
    /// When each of the last frames that fill the buffer has left, as a ring.
    left_ps: Box<[u64]>,
    oldest: usize,
}

impl Output {
    /// `buffer_frames` must not be zero.
    pub fn new(service_ps: f64, buffer_frames: usize, stall: Option<&Stall>) -> Self {
        Output {
            server: Server::new(stall),
            service: Service::new(service_ps),
            left_ps: vec![0; buffer_frames].into_boxed_slice(),
            oldest: 0,
        }
    }

    /// A frame is ready to be sent. Returns when its first bit leaves, or `None` if it is dropped. Frames come in
    /// order of `ready_ps`. `STALLS` is false if no stalls are modelled.
    #[inline(always)]
    pub fn send<const STALLS: bool>(&mut self, ready_ps: u64) -> Option<u64> {
        let place = &mut self.left_ps[self.oldest];
        if *place > ready_ps {
            return None;
        }
        let start_ps = self.server.start::<STALLS>(ready_ps, self.service);
        *place = self.server.free_ps();
        self.oldest = if self.oldest + 1 == self.left_ps.len() {
            0
        } else {
            self.oldest + 1
        };
        Some(start_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lindley's recursion over the whole list of accepted frames, as a reference.
        #[test]
        fn it_agrees_with_the_reference(
            service_ps in 1u64..2000, buffer in 1usize..20,
            steps in proptest::collection::vec(0u64..2000, 1..200),
        ) {
            let mut output = Output::new(service_ps as f64, buffer, None);
            let (mut ready_ps, mut left) = (0, Vec::<u64>::new());
            for step in steps {
                ready_ps += step;
                let inside = left.iter().filter(|&&time| time > ready_ps).count();
                let expected = (inside < buffer).then(|| {
                    let start = ready_ps.max(left.last().copied().unwrap_or(0));
                    left.push(start + service_ps);
                    start
                });
                prop_assert_eq!(output.send::<false>(ready_ps), expected);
            }
        }
    }
}
