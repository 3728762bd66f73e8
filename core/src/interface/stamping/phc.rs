//! A PTP hardware clock of a port, converted to CLOCK_MONOTONIC.
//!
//! The clock runs at its own rate and other programs may steer it, so it is compared repeatedly while stamps are
//! converted. It is read and never set.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::clock::map::{Map, Reading, Taken};
use crate::host::kernel_clock::{monotonic_ns, read};

/// The narrowest of this many readings counts; each crosses the bus to the network card, which takes 1 to 2 µs.
const READINGS: usize = 5;
/// Shortest time between two comparisons from which a rate is computed.
const FIRST_BASELINE_NS: u64 = 5_000_000;

/// A clock of `clock_gettime` other than CLOCK_MONOTONIC.
pub struct PhcClock {
    clock: libc::clockid_t,
    map: Map,
    steps: u64,
    /// Keeps the clock open; `None` for clocks that the kernel always has.
    _device: Option<File>,
}

impl PhcClock {
    /// Opens /dev/ptpN, which takes about 5 ms.
    pub fn open(index: u32) -> io::Result<Self> {
        let device = File::open(format!("/dev/ptp{index}"))?;
        // FD_TO_CLOCKID of linux/posix-timers.h.
        let clock = (!device.as_raw_fd() << 3) | 3;
        Self::on(clock, Some(device))
    }

    pub(super) fn on(clock: libc::clockid_t, device: Option<File>) -> io::Result<Self> {
        let first = bracket(clock);
        while monotonic_ns() < first.high_ns + FIRST_BASELINE_NS {
            std::hint::spin_loop();
        }
        let map = Map::new(first, bracket(clock));
        let map = map.ok_or_else(|| io::Error::other("the hardware clock stands still"))?;
        Ok(PhcClock {
            clock,
            map,
            steps: 0,
            _device: device,
        })
    }

    /// Compares the clocks again. It must be called every few ms while stamps are converted.
    pub fn track(&mut self) {
        if let Taken::Stepped { .. } = self.map.take(bracket(self.clock)) {
            self.steps += 1;
        }
    }

    pub fn to_monotonic(&self, hardware_ns: u64) -> u64 {
        self.map.monotonic_ns(hardware_ns)
    }

    /// Largest error of a stamp that was taken `ns` from the latest comparison.
    pub fn bound_ns(&self, ns: f64) -> f64 {
        self.map.bound_ns(ns)
    }

    /// How often the clock was set while it was tracked.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

fn bracket(clock: libc::clockid_t) -> Reading {
    let take = || {
        let low_ns = monotonic_ns();
        let source = read(clock);
        let high_ns = monotonic_ns() + 1;
        Reading {
            source,
            low_ns,
            high_ns,
        }
    };
    let narrowest = std::iter::repeat_with(take)
        .take(READINGS)
        .min_by_key(Reading::width_ns);
    narrowest.expect("at least one reading")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Real clocks with another origin, and one with another rate, read like a hardware clock.
    #[test]
    fn a_clock_with_its_own_origin_and_rate_is_brought_within_its_bound() {
        for id in [libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_REALTIME] {
            let mut clock = PhcClock::on(id, None).expect("it runs");
            for _ in 0..100 {
                clock.track();
                let before_ns = monotonic_ns();
                let stamp_ns = read(id);
                let after_ns = monotonic_ns();
                let brought_ns = clock.to_monotonic(stamp_ns);
                let off_ns = clock.bound_ns((after_ns - before_ns) as f64).ceil() as u64 + 1;
                assert!(before_ns <= brought_ns + off_ns && brought_ns <= after_ns + off_ns);
            }
            assert_eq!(clock.steps(), 0);
        }
    }

    #[test]
    fn there_is_no_clock_without_a_device() {
        assert!(PhcClock::open(4_000_000).is_err());
    }
}
