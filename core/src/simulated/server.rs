//! One server, first come first served: a wire, or what empties an output's buffer.
//!
//! Exact by Lindley's recursion: fractions of a picosecond are carried, not rounded. It knows no buffer.

use super::device::Stall;
use super::schedule::to_fixed;

/// How long one frame keeps a server busy.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    ps: u64,
    /// What `ps` leaves out, in 2^-64 ps.
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
    /// The sum of the fractions up to now.
    fraction: u64,
    free_ps: u64,
    stalls: Option<Stalls>,
}

struct Stalls {
    period_ps: u64,
    duration_ps: u64,
    next_ps: u64,
}

impl Server {
    pub fn new(stall: Option<&Stall>) -> Self {
        Server {
            stalls: stall.map(|stall| Stalls {
                period_ps: stall.period_ns * 1000,
                duration_ps: stall.duration_ns * 1000,
                next_ps: stall.period_ns * 1000,
            }),
            ..Server::default()
        }
    }

    /// A frame that is ready at `ready_ps` starts at the time returned. `STALLS` is false where none are modelled.
    #[inline(always)]
    pub fn start<const STALLS: bool>(&mut self, ready_ps: u64, service: Service) -> u64 {
        let mut start_ps = ready_ps.max(self.free_ps);
        if STALLS && let Some(stalls) = &mut self.stalls {
            start_ps = stalls.defer(start_ps);
        }
        let (fraction, carry) = self.fraction.overflowing_add(service.fraction);
        self.fraction = fraction;
        self.free_ps = start_ps + service.ps + u64::from(carry);
        start_ps
    }

    /// What was started is forgotten.
    pub fn forget(&mut self) {
        self.free_ps = 0;
    }

    /// When all that was started is done.
    #[inline(always)]
    pub fn free_ps(&self) -> u64 {
        self.free_ps
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
            period_ns: 10,
            duration_ns: 3,
        };
        let mut server = Server::new(Some(&stall));
        let starts = [9_999, 10_000, 12_999, 13_001, 41_000, 55_000];
        let starts = starts.map(|ready_ps| server.start::<true>(ready_ps, Service::new(1.0)));
        assert_eq!(starts, [9_999, 13_000, 13_001, 13_002, 43_000, 55_000]);
    }
}
