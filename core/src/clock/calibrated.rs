//! CLOCK_MONOTONIC at the lowest cost that can be trusted: read from the processor's counter where possible, else
//! from the kernel.
//!
//! A line converts the counter to CLOCK_MONOTONIC. It is anchored again every few ms while the clock is read, so that
//! it follows the slewing of NTP. The clock never runs backwards; it stands still instead.

use serde::Serialize;

use crate::host::kernel_clock::monotonic_ns;

use super::counter;
use super::map::{Map, Reading, Taken};

/// Time from one anchor to the next, once the rate is known well.
const ANCHORED_FOR_NS: f64 = 10_000_000.0;
/// Before that, the time between anchors is this share of the baseline of the rate. The uncertainty of the rate then
/// adds half of that of a reading.
const BASELINE_SHARE: f64 = 0.25;
/// The first baseline.
const FIRST_BASELINE_NS: u64 = 1_000_000;
/// The narrowest of this many readings becomes the anchor, because an interrupt between two reads makes a reading
/// wide.
const READINGS: usize = 3;
const FIRST_READINGS: usize = 16;

/// A counter, and CLOCK_MONOTONIC to compare it with.
pub trait Counter {
    /// The counter, read after all earlier instructions have completed.
    fn ticks(&mut self) -> u64;
    /// The counter, read as soon as the processor can, possibly before earlier instructions that wait for memory.
    fn unordered_ticks(&mut self) -> u64;
    fn monotonic_ns(&mut self) -> u64;
}

/// The counter and the clock of this host.
#[derive(Debug)]
pub struct HostCounter;

impl Counter for HostCounter {
    #[inline]
    fn ticks(&mut self) -> u64 {
        counter::ticks()
    }

    #[inline]
    fn unordered_ticks(&mut self) -> u64 {
        counter::unordered_ticks()
    }

    #[inline]
    fn monotonic_ns(&mut self) -> u64 {
        monotonic_ns()
    }
}

/// The clock that one thread uses for stamps and waits.
#[derive(Debug)]
pub struct Clock<C = HostCounter> {
    counter: C,
    /// `None` if no counter can be trusted, or not any more.
    map: Option<Map>,
    anchored_for_ticks: u64,
    last_ns: u64,
    facts: ClockFacts,
}

/// What a clock was read from, and how well it agreed with the kernel's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFacts {
    pub source: &'static str,
    /// Stamps were off CLOCK_MONOTONIC by no more than this while its rate was steady.
    pub bound_ns: f64,
    /// Number of anchors at which the clock was outside its bounds, because the kernel had changed the rate.
    pub missed: u64,
    /// Largest distance from the bounds.
    pub missed_max_ns: f64,
    pub anchors: u64,
}

impl Clock<HostCounter> {
    /// The cheapest trustworthy clock of this machine. Takes about 1 ms.
    pub fn new() -> Self {
        match counter::trusted() {
            Some(source) => Clock::on(HostCounter, source),
            None => Clock::of_kernel(HostCounter),
        }
    }
}

impl Default for Clock<HostCounter> {
    fn default() -> Self {
        Clock::new()
    }
}

impl<C: Counter> Clock<C> {
    /// The kernel's clock, through the vDSO.
    pub fn of_kernel(counter: C) -> Self {
        let facts = ClockFacts {
            source: "clock_gettime",
            bound_ns: 0.0,
            missed: 0,
            missed_max_ns: 0.0,
            anchors: 0,
        };
        Clock {
            counter,
            map: None,
            anchored_for_ticks: 0,
            last_ns: 0,
            facts,
        }
    }

    /// A clock on the counter named `source`, which runs at one rate.
    pub fn on(mut counter: C, source: &'static str) -> Self {
        let first = bracket(&mut counter, FIRST_READINGS);
        while counter.monotonic_ns() < first.high_ns + FIRST_BASELINE_NS {
            std::hint::spin_loop();
        }
        let map = Map::new(first, bracket(&mut counter, FIRST_READINGS));
        let mut clock = Clock::of_kernel(counter);
        if map.is_some() {
            clock.map = map;
            clock.facts.source = source;
            clock.anchored();
        }
        clock
    }

    /// CLOCK_MONOTONIC in ns; never less than it returned before.
    ///
    /// The counter is not read in order, which would cost as much as the kernel's clock: where instructions before it
    /// wait for memory, the time may be that access early (about 100 ns). In a loop that waits there are none.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let now_ns = match &self.map {
            None => self.counter.monotonic_ns(),
            Some(map) => {
                let ticks = self.counter.unordered_ticks();
                // A counter that is behind its anchor also gives a very large difference.
                if map.units_since(ticks) < self.anchored_for_ticks {
                    map.monotonic_ns(ticks)
                } else {
                    self.anchor()
                }
            }
        };
        self.last_ns = self.last_ns.max(now_ns);
        self.last_ns
    }

    /// Facts about the clock since it was created.
    pub fn facts(&self) -> ClockFacts {
        self.facts.clone()
    }

    /// Anchors the line again and returns the time.
    #[cold]
    fn anchor(&mut self) -> u64 {
        let reading = bracket(&mut self.counter, READINGS);
        let taken = self.map.as_mut().map(|map| map.take(reading));
        match taken {
            Some(Taken::Agreed) => {}
            Some(Taken::Missed { by_ns }) => {
                self.facts.missed += 1;
                self.facts.missed_max_ns = self.facts.missed_max_ns.max(by_ns);
            }
            // CLOCK_MONOTONIC is never stepped, so the counter did not run at one rate.
            Some(Taken::Stepped { by_ns }) => {
                self.facts.missed += 1;
                self.facts.missed_max_ns = self.facts.missed_max_ns.max(by_ns);
                self.facts.source = "clock_gettime, after the counter proved unsteady";
                self.map = None;
            }
            None => {}
        }
        self.anchored();
        let ticks = self.counter.ticks();
        match &self.map {
            Some(map) => map.monotonic_ns(ticks),
            None => self.counter.monotonic_ns(),
        }
    }

    fn anchored(&mut self) {
        let Some(map) = &self.map else { return };
        let for_ns = ANCHORED_FOR_NS.min(map.baseline_ns() as f64 * BASELINE_SHARE);
        self.anchored_for_ticks = map.units(for_ns);
        self.facts.anchors += 1;
        self.facts.bound_ns = self.facts.bound_ns.max(map.bound_ns(for_ns));
    }
}

/// The narrowest of `readings` readings.
fn bracket(counter: &mut impl Counter, readings: usize) -> Reading {
    let mut read = || {
        let low_ns = counter.monotonic_ns();
        let source = counter.ticks();
        // CLOCK_MONOTONIC is rounded down to whole ns.
        let high_ns = counter.monotonic_ns() + 1;
        Reading {
            source,
            low_ns,
            high_ns,
        }
    };
    let mut best = read();
    for _ in 1..readings {
        let reading = read();
        if reading.width_ns() <= best.width_ns() {
            best = reading;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    //! The calibrated clock on a simulated host whose counter and whose time are known.

    use proptest::prelude::*;

    use super::*;

    /// Time passes with each read only, so that every test is deterministic.
    struct Fake {
        /// Time since the host started, in whole ps: sums of floats would drift by tens of ppm over as many reads as
        /// a calibration takes.
        elapsed_ps: u64,
        monotonic_ps: u64,
        ticks_per_ns: f64,
        /// The relative change of the rate by NTP.
        slew: f64,
        read_ns: Box<dyn FnMut() -> f64>,
        skipped_ticks: u64,
    }

    impl Fake {
        fn new(ticks_per_ns: f64, read_ns: impl FnMut() -> f64 + 'static) -> Self {
            Fake {
                elapsed_ps: 0,
                monotonic_ps: 4_000_000_000_000_000,
                ticks_per_ns,
                slew: 0.0,
                read_ns: Box::new(read_ns),
                skipped_ticks: 0,
            }
        }

        fn pass(&mut self, ns: f64) {
            let ps = (ns * 1000.0) as u64;
            self.elapsed_ps += ps;
            self.monotonic_ps =
                (self.monotonic_ps + ps).saturating_add_signed((ps as f64 * self.slew) as i64);
        }

        fn true_ns(&self) -> f64 {
            self.monotonic_ps as f64 / 1000.0
        }
    }

    impl Counter for Fake {
        fn ticks(&mut self) -> u64 {
            let half_ns = (self.read_ns)() / 2.0;
            self.pass(half_ns);
            let ticks = (self.elapsed_ps as f64 / 1000.0 * self.ticks_per_ns) as u64;
            self.pass(half_ns);
            (1_000_000_000_000_000 + ticks).wrapping_add(self.skipped_ticks)
        }

        fn unordered_ticks(&mut self) -> u64 {
            self.ticks()
        }

        fn monotonic_ns(&mut self) -> u64 {
            let half_ns = (self.read_ns)() / 2.0;
            self.pass(half_ns);
            let now_ns = self.monotonic_ps / 1000;
            self.pass(half_ns);
            now_ns
        }
    }

    /// The distance of a stamp from the interval in which it was read.
    fn error_ns(clock: &mut Clock<Fake>) -> f64 {
        let before_ns = clock.counter.true_ns();
        let now_ns = clock.now_ns() as f64;
        let after_ns = clock.counter.true_ns();
        (before_ns - now_ns).max(now_ns - after_ns).max(0.0)
    }

    #[test]
    fn the_clock_agrees_within_its_bound_and_anchors_every_ten_ms() {
        let mut clock = Clock::on(Fake::new(2.9, || 25.0), "fake");
        assert_eq!(clock.facts().source, "fake");
        let mut worst_ns = 0.0f64;
        for _ in 0..400_000 {
            clock.counter.pass(7_000.0);
            worst_ns = worst_ns.max(error_ns(&mut clock));
        }
        let facts = clock.facts();
        assert!(worst_ns <= facts.bound_ns, "{worst_ns} ns off, {facts:?}");
        assert!(facts.bound_ns < 45.0, "{facts:?}");
        assert_eq!(facts.missed, 0);
        assert!((280..300).contains(&facts.anchors), "{facts:?}");
    }

    proptest! {
        #[test]
        fn any_rate_and_any_jitter_of_the_reads_stay_within_the_bound(
            ticks_per_ns in prop_oneof![Just(0.024), Just(1.0), 0.5f64..5.0],
            reads in proptest::collection::vec(5.0f64..400.0, 1..40),
            passes in proptest::collection::vec(1.0f64..3e7, 1..200),
        ) {
            let mut turn = 0;
            let read_ns = move || { turn += 1; reads[turn % reads.len()] };
            let mut clock = Clock::on(Fake::new(ticks_per_ns, read_ns), "fake");
            let mut last_ns = 0;
            for ns in passes {
                clock.counter.pass(ns);
                let error_ns = error_ns(&mut clock);
                let bound_ns = clock.facts().bound_ns + 1.0;
                prop_assert!(error_ns <= bound_ns, "{} ns off, bound {}", error_ns, bound_ns);
                let now_ns = clock.now_ns();
                prop_assert!(now_ns >= last_ns);
                last_ns = now_ns;
            }
            prop_assert_eq!(clock.facts().missed, 0);
        }

        #[test]
        fn it_never_runs_backwards_whatever_ntp_does(slews in proptest::collection::vec(-5e-4f64..5e-4, 1..20)) {
            let mut clock = Clock::on(Fake::new(3.0, || 20.0), "fake");
            let mut last_ns = 0;
            for slew in slews {
                clock.counter.slew = slew;
                for _ in 0..500 {
                    clock.counter.pass(100_000.0);
                    let now_ns = clock.now_ns();
                    prop_assert!(now_ns >= last_ns);
                    last_ns = now_ns;
                }
            }
            prop_assert_eq!(clock.facts().source, "fake");
        }
    }

    #[test]
    fn a_slew_is_followed_and_reported() {
        let mut clock = Clock::on(Fake::new(3.0, || 20.0), "fake");
        for _ in 0..100_000 {
            clock.counter.pass(10_000.0);
            clock.now_ns();
        }
        clock.counter.slew = 100e-6;
        let mut worst_ns = 0.0f64;
        for _ in 0..100_000 {
            clock.counter.pass(10_000.0);
            worst_ns = worst_ns.max(error_ns(&mut clock));
        }
        let facts = clock.facts();
        assert!(facts.missed >= 1, "{facts:?}");
        // 100 ppm of the 10 ms between two anchors, and no more.
        assert!(worst_ns < 1000.0 + facts.bound_ns, "{worst_ns} ns off");
        assert!(facts.missed_max_ns < 1000.0, "{facts:?}");
        assert!(error_ns(&mut clock) <= facts.bound_ns);
    }

    #[test]
    fn a_counter_that_jumps_is_given_up() {
        for (jump, back) in [(40_000_000_u64, false), (40_000_000, true)] {
            let mut clock = Clock::on(Fake::new(3.0, || 20.0), "fake");
            clock.counter.skipped_ticks = if back { jump.wrapping_neg() } else { jump };
            let before_ns = clock.now_ns();
            clock.counter.pass(50_000_000.0);
            let now_ns = clock.now_ns();
            assert!(now_ns >= before_ns);
            assert!(
                clock.facts().source.contains("unsteady"),
                "{:?}",
                clock.facts()
            );
            clock.counter.pass(1e6);
            assert_eq!(error_ns(&mut clock), 0.0, "the kernel's time from now on");
        }
    }

    #[test]
    fn a_host_without_a_trusted_counter_reads_the_kernels_clock() {
        let mut clock = Clock::of_kernel(Fake::new(3.0, || 20.0));
        assert!((clock.now_ns() as f64 - 4.0e12).abs() < 20.0);
        assert_eq!(clock.facts().source, "clock_gettime");
        assert_eq!(clock.facts().bound_ns, 0.0);
    }

    #[test]
    fn this_hosts_clock_lies_between_two_readings_of_the_kernels() {
        let mut clock = Clock::new();
        for _ in 0..1000 {
            let before_ns = monotonic_ns();
            let now_ns = clock.now_ns();
            let after_ns = monotonic_ns();
            // The counter may be read before the kernel's clock has been: by a memory access.
            let off_ns = (clock.facts().bound_ns + clock.facts().missed_max_ns).ceil() as u64 + 100;
            assert!(before_ns <= now_ns + off_ns && now_ns <= after_ns + off_ns);
        }
    }
}
