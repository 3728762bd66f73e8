//! One server, first come first served: a wire, or what empties the buffer of an output.
//!
//! It is exact by Lindley's recursion: fractions of a picosecond are carried and not rounded. It knows no buffer.

use super::device::Stall;
use super::schedule::to_fixed;

/// The period of an event that happens once: half of the range, so that a time may be added to it.
const ONCE_PS: u64 = u64::MAX / 2;

/// How long one frame keeps a server busy.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    ps: u64,
    /// The rest that is not in `ps`, in 2^-64 ps.
    fraction: u64,
}

impl Service {
    pub fn new(ps: f64) -> Self {
        let fixed = to_fixed(ps);
        Service {
            ps: (fixed >> 64) as u64,
            fraction: fixed as u64,
        }
    }

    pub fn ps(&self) -> u64 {
        self.ps
    }
}

#[derive(Default)]
pub struct Server {
    /// The sum of the fractions so far.
    fraction: u64,
    free_ps: u64,
    stalls: Option<Stalls>,
}

struct Stalls {
    first_ps: u64,
    /// Longer than any trial if there is only one stall.
    period_ps: u64,
    duration_ps: u64,
    next_ps: u64,
}

impl Server {
    pub fn new(stall: Option<&Stall>) -> Self {
        Server {
            stalls: stall.map(|stall| {
                let period_ps = stall
                    .period_ns
                    .map_or(ONCE_PS, |period_ns| period_ns * 1000);
                let first_ps = stall.first_ns.map_or(period_ps, |first_ns| first_ns * 1000);
                Stalls {
                    first_ps,
                    period_ps,
                    duration_ps: stall.duration_ns * 1000,
                    next_ps: first_ps,
                }
            }),
            ..Server::default()
        }
    }

    /// A frame that is ready at `ready_ps` starts at the time returned. `STALLS` is false where none are modelled.
    #[inline(always)]
    pub fn start<const STALLS: bool>(&mut self, ready_ps: u64, service: Service) -> u64 {
        let mut start_ps = ready_ps.max(self.free_ps);
        if STALLS && let Some(stalls) = &mut self.stalls {
            start_ps = stalls.defer(start_ps, self.free_ps);
        }
        let (fraction, carry) = self.fraction.overflowing_add(service.fraction);
        self.fraction = fraction;
        self.free_ps = start_ps + service.ps + u64::from(carry);
        start_ps
    }

    /// No frame starts before `time_ps`.
    pub fn hold(&mut self, time_ps: u64) {
        self.free_ps = self.free_ps.max(time_ps);
    }

    /// Discards the frames that were started.
    pub fn forget(&mut self) {
        self.free_ps = 0;
    }

    /// When all frames that were started are done.
    #[inline(always)]
    pub fn free_ps(&self) -> u64 {
        self.free_ps
    }
}

impl Stalls {
    /// When a frame that could start at `start_ps` does start. Starts never decrease. Earlier frames are done at
    /// `free_ps`, and a stall that falls due meanwhile begins then, so that a stall shorter than a frame is not lost.
    #[inline]
    fn defer(&mut self, start_ps: u64, free_ps: u64) -> u64 {
        if start_ps < self.next_ps {
            return start_ps;
        }
        let since_ps = start_ps - self.first_ps;
        let stall_ps = self.first_ps + since_ps / self.period_ps * self.period_ps;
        self.next_ps = stall_ps + self.period_ps;
        start_ps.max(stall_ps.max(free_ps) + self.duration_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_a_picosecond_is_not_forgotten() {
        let mut server = Server::new(None);
        let service = Service::new(1000.25);
        let starts: Vec<_> = (0..9).map(|_| server.start::<false>(0, service)).collect();
        assert_eq!(starts[4], 4001);
        assert_eq!(starts[8], 8002);
    }

    #[test]
    fn nothing_begins_in_a_stall() {
        let stall = Stall {
            first_ns: None,
            within_ns: None,
            period_ns: Some(10),
            duration_ns: 3,
        };
        let mut server = Server::new(Some(&stall));
        let starts = [9_999, 10_000, 12_999, 13_001, 41_000, 55_000];
        let starts = starts.map(|ready_ps| server.start::<true>(ready_ps, Service::new(1.0)));
        assert_eq!(starts, [9_999, 13_000, 13_001, 13_002, 43_000, 55_000]);
    }

    #[test]
    fn one_stall_is_the_only_one_and_may_come_at_the_very_start() {
        for (first_ns, expected) in [(0, [3_000, 9_000, 22_000]), (20, [0, 9_000, 23_000])] {
            let stall = Stall {
                first_ns: Some(first_ns),
                within_ns: None,
                period_ns: None,
                duration_ns: 3,
            };
            let mut server = Server::new(Some(&stall));
            let starts = [0, 9_000, 22_000];
            let starts = starts.map(|ready_ps| server.start::<true>(ready_ps, Service::new(1.0)));
            assert_eq!(starts, expected);
        }
    }

    #[test]
    fn a_stall_that_comes_while_a_frame_is_sent_begins_after_it() {
        let stall = Stall {
            first_ns: Some(5),
            within_ns: None,
            period_ns: None,
            duration_ns: 1,
        };
        let mut server = Server::new(Some(&stall));
        let starts = [0; 3].map(|ready_ps| server.start::<true>(ready_ps, Service::new(10_000.0)));
        assert_eq!(starts, [0, 11_000, 21_000]);
    }

    #[test]
    fn a_first_stall_shifts_those_that_follow() {
        let stall = Stall {
            first_ns: Some(5),
            within_ns: None,
            period_ns: Some(10),
            duration_ns: 3,
        };
        let mut server = Server::new(Some(&stall));
        let starts = [4_000, 5_000, 14_000, 16_000, 41_000];
        let starts = starts.map(|ready_ps| server.start::<true>(ready_ps, Service::new(1.0)));
        assert_eq!(starts, [4_000, 8_000, 14_000, 18_000, 41_000]);
    }
}
