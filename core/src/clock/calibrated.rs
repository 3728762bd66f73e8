//! CLOCK_MONOTONIC at the least cost that can be trusted: by the processor's counter, or by the kernel.
//!
//! The counter is brought to CLOCK_MONOTONIC by a line that is anchored anew every few ms while the clock is
//! read, so that NTP's slewing is followed. It never runs backwards, and stands still rather than that.

use serde::Serialize;

use crate::clock::{Map, Reading, Taken, counter, monotonic_ns};

/// From one anchor to the next, once the rate is known well.
const ANCHORED_FOR_NS: f64 = 10_000_000.0;
/// Before that, so much of the rate's baseline: the rate's uncertainty then adds half of a reading's.
const BASELINE_SHARE: f64 = 0.25;
/// The baseline to begin with.
const FIRST_BASELINE_NS: u64 = 1_000_000;
/// The narrowest of so many readings is an anchor: an interrupt between the two reads would widen it.
const READINGS: usize = 3;
const FIRST_READINGS: usize = 16;

/// A counter and CLOCK_MONOTONIC beside it.
pub trait Counter {
    /// Read when all instructions before are done.
    fn ticks(&mut self) -> u64;
    /// Read as soon as the processor can, which may be before instructions that still wait for memory.
    fn unordered_ticks(&mut self) -> u64;
    fn monotonic_ns(&mut self) -> u64;
}

/// Those of this machine.
#[derive(Debug)]
pub struct Host;

impl Counter for Host {
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

/// The clock of one thread's stamps and waits.
#[derive(Debug)]
pub struct Clock<C = Host> {
    counter: C,
    /// `None`: there is no counter to trust, or no more.
    map: Option<Map>,
    anchored_for_ticks: u64,
    last_ns: u64,
    facts: ClockFacts,
}

/// What a clock was and how well it agreed with the kernel's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFacts {
    pub source: &'static str,
    /// Stamps were off CLOCK_MONOTONIC by no more than this while its rate was steady.
    pub bound_ns: f64,
    /// Anchors that found the clock outside their bounds: the kernel had changed the rate.
    pub missed: u64,
    /// How far outside at most.
    pub missed_max_ns: f64,
    pub anchors: u64,
}

impl Clock<Host> {
    /// The cheapest trustworthy clock of this machine. Takes about 1 ms.
    pub fn new() -> Self {
        match counter::trusted() {
            Some(source) => Clock::on(Host, source),
            None => Clock::of_kernel(Host),
        }
    }
}

impl Default for Clock<Host> {
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

    /// On a counter named `source` that runs at one rate.
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
                // A counter that fell behind its anchor gives a huge difference, too.
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

    /// What the clock was since it was made.
    pub fn facts(&self) -> ClockFacts {
        self.facts.clone()
    }

    /// Anchors the line anew and returns the time.
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
            // Nobody steps CLOCK_MONOTONIC: the counter did not run at one rate.
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

/// The narrowest of so many readings.
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
#[path = "calibrated_test.rs"]
mod tests;
