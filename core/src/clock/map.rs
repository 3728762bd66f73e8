//! The line that converts readings of another clock to CLOCK_MONOTONIC, and its uncertainty.
//!
//! A reading says: the source showed `source` while CLOCK_MONOTONIC was between `low_ns` and `high_ns`. A source
//! shows whole units, rounded down, and a unit may be 42 ns long (24 MHz). Only such bounds are stored. They are
//! extrapolated with the bounds of the rate and intersected with each new reading. This file never reads a clock.

/// A source's value between two readings of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub source: u64,
    pub low_ns: u64,
    pub high_ns: u64,
}

impl Reading {
    pub fn width_ns(&self) -> u64 {
        self.high_ns - self.low_ns
    }
}

/// The result of a further reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    Agreed,
    /// The rate changed (NTP slews CLOCK_MONOTONIC). The value is the distance of the line from the bounds of the
    /// reading.
    Missed {
        by_ns: f64,
    },
    /// Slewing cannot explain the difference: one of the clocks was stepped, or the source cannot be trusted.
    Stepped {
        by_ns: f64,
    },
}

/// The rate is measured between readings that are at least this far apart, as soon as there are such readings, and
/// rarely more than twice as far.
const BASELINE_NS: u64 = 500_000_000;
/// Largest relative change of the rate between two readings that is not reported.
const WANDER: f64 = 1e-7;
/// The kernel slews by at most 500 ppm. A larger change, after an allowance of some ns for the scheduler, is a step.
const SLEW: f64 = 1e-3;
const STEP_NS: f64 = 1000.0;
/// 2^32: fractions of a ns in a ns.
const FRACTIONS: f64 = 4_294_967_296.0;

/// monotonic = base + (source - anchor) * rate, each with its bounds.
#[derive(Clone, Debug)]
pub struct Map {
    /// The reading at the far end of the baseline, and the reading that will replace it.
    first: Reading,
    next: Reading,
    /// The latest reading, at the time at which its unit began. Its bounds are intersected with those extrapolated
    /// from earlier readings.
    anchor: Reading,
    /// Bounds of the rate in ns per unit of the source: least, most.
    rate: (f64, f64),
    base_ns: u64,
    /// 2^-32 ns per unit.
    step: u64,
}

impl Map {
    /// A line through two readings, the second of which is later. `None` if they are too close together to give a
    /// rate.
    pub fn new(first: Reading, second: Reading) -> Option<Self> {
        if second.source <= first.source || second.low_ns <= first.high_ns {
            return None;
        }
        let rate = rate(&first, &second);
        let mut map = Map {
            first,
            next: second,
            anchor: began(second, rate),
            rate,
            base_ns: 0,
            step: 0,
        };
        map.draw();
        Some(map)
    }

    /// Takes a later reading and anchors the line there. A reading of the same unit is ignored.
    pub fn take(&mut self, reading: Reading) -> Taken {
        if reading.source == self.anchor.source {
            return Taken::Agreed;
        }
        if reading.source < self.anchor.source {
            let by_ns = (self.anchor.source - reading.source) as f64 * self.rate.1;
            (self.first, self.next) = (reading, reading);
            self.anchor = began(reading, self.rate);
            self.draw();
            return Taken::Stepped { by_ns };
        }
        let units = (reading.source - self.anchor.source) as f64;
        let origin = self.anchor.low_ns;
        let wander_ns = units * self.rate.1 * WANDER;
        let low_ns = units * self.rate.0 - wander_ns;
        let high_ns = self.anchor.width_ns() as f64 + units * self.rate.1 + wander_ns;
        // Times are relative to the old anchor, because an f64 cannot hold absolute ns of a host that has run for 100
        // days.
        let read_high_ns = reading.high_ns as f64 - origin as f64;
        let read_low_ns = read_high_ns - reading.width_ns() as f64 - self.rate.1;
        let by_ns = (low_ns - read_high_ns).max(read_low_ns - high_ns);
        let taken = if by_ns <= 0.0 {
            let low_ns = low_ns.max(read_low_ns).floor() as i64;
            let high_ns = high_ns.min(read_high_ns).ceil() as i64;
            self.anchor = Reading {
                source: reading.source,
                low_ns: origin.saturating_add_signed(low_ns),
                high_ns: origin.saturating_add_signed(high_ns),
            };
            self.lengthen(reading);
            Taken::Agreed
        } else if by_ns > STEP_NS + SLEW * units * self.rate.1 {
            (self.first, self.next) = (reading, reading);
            self.anchor = began(reading, self.rate);
            Taken::Stepped { by_ns }
        } else {
            // The old rate does not hold any more; the new one follows from the time since the last anchor only.
            let before = self.anchor;
            self.rate = rate(&before, &reading);
            (self.first, self.next) = (before, reading);
            self.anchor = began(reading, self.rate);
            Taken::Missed { by_ns }
        };
        self.draw();
        taken
    }

    /// The source's value as CLOCK_MONOTONIC, after the latest reading or before it.
    #[inline]
    pub fn monotonic_ns(&self, source: u64) -> u64 {
        let units = source.wrapping_sub(self.anchor.source) as i64;
        let ns = (i128::from(units) * i128::from(self.step)) >> 32;
        self.base_ns.saturating_add_signed(ns as i64)
    }

    /// Units of the source since the latest reading; many for a value before it.
    #[inline]
    pub fn units_since(&self, source: u64) -> u64 {
        source.wrapping_sub(self.anchor.source)
    }

    /// Units of the source that pass in `ns`.
    pub fn units(&self, ns: f64) -> u64 {
        (ns / self.rate.1) as u64
    }

    /// Length of the baseline of the rate.
    pub fn baseline_ns(&self) -> u64 {
        self.anchor.low_ns.saturating_sub(self.first.high_ns)
    }

    /// Largest error of the line, `ns` after the latest reading, if the rate has not changed since.
    pub fn bound_ns(&self, ns: f64) -> f64 {
        let relative = (self.rate.1 - self.rate.0) / (self.rate.1 + self.rate.0);
        self.anchor.width_ns() as f64 / 2.0 + self.rate.1 + ns * (relative + WANDER)
    }

    fn lengthen(&mut self, reading: Reading) {
        if reading.low_ns > self.first.high_ns {
            self.rate = rate(&self.first, &reading);
        }
        if reading.low_ns.saturating_sub(self.next.low_ns) >= BASELINE_NS {
            (self.first, self.next) = (self.next, reading);
        } else if self.next.low_ns.saturating_sub(self.first.low_ns) < BASELINE_NS {
            self.next = reading;
        }
    }

    fn draw(&mut self) {
        self.base_ns = self.anchor.low_ns.midpoint(self.anchor.high_ns);
        self.step = (self.rate.0.midpoint(self.rate.1) * FRACTIONS).round() as u64;
    }
}

/// Extends a reading: the unit that it found may have begun up to its whole length earlier.
fn began(reading: Reading, rate: (f64, f64)) -> Reading {
    Reading {
        low_ns: reading.low_ns.saturating_sub(rate.1.ceil() as u64),
        ..reading
    }
}

fn rate(first: &Reading, second: &Reading) -> (f64, f64) {
    let units = (second.source - first.source) as f64;
    let least_ns = second.low_ns.saturating_sub(first.high_ns) as f64;
    let most_ns = (second.high_ns - first.low_ns) as f64;
    (least_ns / (units + 1.0), most_ns / (units - 1.0).max(1.0))
}
