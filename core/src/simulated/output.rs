//! An output port: one server, first come first served, and a buffer that drops at its tail.
//!
//! Exact by Lindley's recursion; a frame is refused while as many frames as the buffer holds
//! have not left. It knows neither sequence numbers nor why a frame comes.

use super::device::Stall;
use super::schedule::to_fixed;

pub struct Output {
    service_ps: u64,
    /// What `service_ps` leaves out, in 2^-64 ps, and the sum of it up to now.
    service_fraction: u64,
    fraction: u64,
    /// When the port has sent all that it accepted.
    free_ps: u64,
    /// When each of the last frames that fill the buffer has left, as a ring.
    left_ps: Box<[u64]>,
    oldest: usize,
    stalls: Option<Stalls>,
}

struct Stalls {
    period_ps: u64,
    duration_ps: u64,
    next_ps: u64,
}

impl Output {
    /// `buffer_frames` must not be zero.
    pub fn new(service_ps: f64, buffer_frames: usize, stall: Option<&Stall>) -> Self {
        let service = to_fixed(service_ps);
        Output {
            service_ps: (service >> 64) as u64,
            service_fraction: service as u64,
            fraction: 0,
            free_ps: 0,
            left_ps: vec![0; buffer_frames].into_boxed_slice(),
            oldest: 0,
            stalls: stall.map(|stall| Stalls {
                period_ps: stall.period_ns * 1000,
                duration_ps: stall.duration_ns * 1000,
                next_ps: stall.period_ns * 1000,
            }),
        }
    }

    /// A frame is ready to be sent; returns when its first bit leaves, or nothing if it is dropped.
    /// Frames come in order of `ready_ps`. `STALLS` is false where none are modelled.
    #[inline(always)]
    pub fn send<const STALLS: bool>(&mut self, ready_ps: u64) -> Option<u64> {
        let place = &mut self.left_ps[self.oldest];
        if *place > ready_ps {
            return None;
        }
        let mut start_ps = ready_ps.max(self.free_ps);
        if STALLS && let Some(stalls) = &mut self.stalls {
            start_ps = stalls.defer(start_ps);
        }
        let (fraction, carry) = self.fraction.overflowing_add(self.service_fraction);
        self.fraction = fraction;
        self.free_ps = start_ps + self.service_ps + u64::from(carry);
        *place = self.free_ps;
        self.oldest = if self.oldest + 1 == self.left_ps.len() {
            0
        } else {
            self.oldest + 1
        };
        Some(start_ps)
    }
}

impl Stalls {
    /// When a frame that could start at `start_ps` does; starts never decrease.
    #[inline]
    fn defer(&mut self, start_ps: u64) -> u64 {
        if start_ps < self.next_ps {
            return start_ps;
        }
        let stall_ps = start_ps / self.period_ps * self.period_ps;
        self.next_ps = stall_ps + self.period_ps;
        start_ps.max(stall_ps + self.duration_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lindley's recursion over the whole list of accepted frames, in the plainest words.
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

    #[test]
    fn a_fraction_of_a_picosecond_is_not_forgotten() {
        let mut output = Output::new(1000.25, 100, None);
        let starts: Vec<_> = (0..9).map(|_| output.send::<false>(0).unwrap()).collect();
        assert_eq!(starts[4], 4001);
        assert_eq!(starts[8], 8002);
    }

    #[test]
    fn nothing_begins_in_a_stall() {
        let stall = Stall {
            period_ns: 10,
            duration_ns: 3,
        };
        let mut output = Output::new(1.0, 4, Some(&stall));
        let starts = [9_999, 10_000, 12_999, 13_001, 41_000, 55_000];
        let starts = starts.map(|ready_ps| output.send::<true>(ready_ps).unwrap());
        assert_eq!(starts, [9_999, 13_000, 13_001, 13_002, 43_000, 55_000]);
    }
}
