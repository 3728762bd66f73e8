//! The calibrated clock against a machine whose counter and whose time are known.

use proptest::prelude::*;

use super::*;

/// Time passes by reads alone, so every test is exact.
struct Fake {
    /// Since the machine started. Whole ps: sums of floats drift by tens of ppm over as many reads as a calibration takes.
    elapsed_ps: u64,
    monotonic_ps: u64,
    ticks_per_ns: f64,
    /// What NTP makes of the counter's rate.
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

/// How far a stamp is outside the time that its read took.
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
