//! The cost of a single read: the time of each read, between two fenced reads of the counter.
//!
//! The values are stored unchanged with the frequency of each, so that the steps of the counter and the longest read
//! stay visible. The empty bracket is measured in the same way and is never subtracted here.

use std::hint::black_box;

use serde::Serialize;

use super::source::{TimeSource, Visitor};
use super::steps::{Steps, steps};
use super::tally::{Tally, tally};
use super::{cost, counter};

/// The measurement of one time source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceCost {
    pub name: &'static str,
    /// Whether a read returns the counter's ticks and not ns.
    pub ticks: bool,
    /// ns a read of many back to back, at the least.
    pub bulk_ns: f64,
    /// Counter's ticks from before a single read to after it, the bracket with it.
    pub single: Tally,
    pub steps: Steps,
}

/// Measures bulk cost, single reads and steps of each source.
pub struct Measurement {
    pub reads: usize,
    pub found: Vec<SourceCost>,
}

impl Visitor for Measurement {
    fn visit(&mut self, source: TimeSource, read: impl Fn() -> u64) {
        self.found.push(SourceCost {
            name: source.name,
            ticks: source.ticks,
            bulk_ns: cost::cost(&read),
            single: single(self.reads, &read),
            steps: steps(self.reads, &read),
        });
    }
}

/// Ticks of a bracket with nothing in it.
pub fn empty(reads: usize) -> Tally {
    single(reads, || 0)
}

fn single(reads: usize, read: impl Fn() -> u64) -> Tally {
    let mut ticks = vec![0u64; reads];
    for slot in &mut ticks {
        let before = counter::fenced_ticks();
        black_box(read());
        *slot = counter::fenced_ticks().wrapping_sub(before);
    }
    tally(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_this_machine_is_measured() {
        let mut measurement = Measurement {
            reads: 100,
            found: Vec::new(),
        };
        super::super::source::each(&mut measurement);
        let counters = measurement
            .found
            .iter()
            .filter(|source| source.ticks)
            .count();
        assert_eq!(counters, if counter::promised().is_some() { 3 } else { 0 });
        for source in &measurement.found {
            assert_eq!(
                source.single.iter().map(|(_, count)| count).sum::<u64>(),
                100
            );
            assert!(source.steps.reads >= 100, "{}", source.name);
        }
        assert!(
            measurement
                .found
                .iter()
                .any(|source| source.name == "gettimeofday")
        );
    }
}
