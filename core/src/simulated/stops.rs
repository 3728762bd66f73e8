//! When the host of a simulated tester takes the CPU from a sender: once in each period, at a random moment of it.
//!
//! The trial begins at a random moment of the first period. This file knows times and never holds a frame.

use crate::chance::{Concern, Draws, uniform};

use super::device::Host;

const PS_PER_MS: f64 = 1e9;
/// Bits of an index that count periods; those above are of the port.
const PERIOD_BITS: u32 = 44;

#[derive(Clone, Debug)]
pub struct Stops {
    draws: Draws,
    port: u64,
    stop_ps: u64,
    every_ps: u64,
    /// Time from the beginning of the first period to that of the trial.
    phase_ps: u64,
    /// The stop of the period that was asked for last, and the end of that period.
    begin_ps: u64,
    until_ps: u64,
}

impl Stops {
    /// Those of the sender at `port`: each sender has a CPU of its own, and each CPU its own moments.
    pub fn new(host: &Host, trial_seed: u64, port: usize) -> Self {
        let draws = Draws::new(trial_seed, Concern::Host);
        let port = (port as u64 + 1) << PERIOD_BITS;
        let every_ps = (host.every_ms * PS_PER_MS) as u64;
        Stops {
            draws,
            port,
            stop_ps: (host.stop_ms * PS_PER_MS) as u64,
            every_ps,
            phase_ps: uniform(&draws, port, every_ps - 1),
            begin_ps: 0,
            until_ps: 0,
        }
    }

    /// When a sender that wants to run at `time_ps` does run.
    #[inline]
    pub fn defer(&mut self, time_ps: u64) -> u64 {
        let mut at_ps = time_ps + self.phase_ps;
        loop {
            // Times almost never decrease, so that most are in the period of the one before.
            if !(self.until_ps.saturating_sub(self.every_ps)..self.until_ps).contains(&at_ps) {
                self.find(at_ps);
            }
            if !(self.begin_ps..self.begin_ps + self.stop_ps).contains(&at_ps) {
                return at_ps - self.phase_ps;
            }
            at_ps = self.begin_ps + self.stop_ps;
        }
    }

    #[cold]
    fn find(&mut self, at_ps: u64) {
        let period = at_ps / self.every_ps;
        let room_ps = self.every_ps - self.stop_ps;
        self.begin_ps =
            period * self.every_ps + uniform(&self.draws, self.port + 1 + period, room_ps);
        self.until_ps = (period + 1) * self.every_ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const HOST: Host = Host {
        stop_ms: 5.0,
        every_ms: 100.0,
    };

    /// Begin and end of each stop before `until_ps`, found by asking for every `step_ps`.
    fn found(stops: &mut Stops, until_ps: u64, step_ps: u64) -> Vec<(u64, u64)> {
        let mut all = Vec::<(u64, u64)>::new();
        for time_ps in (0..until_ps).step_by(step_ps as usize) {
            let runs_ps = stops.defer(time_ps);
            if runs_ps > time_ps && all.last().is_none_or(|stop| stop.1 != runs_ps) {
                all.push((time_ps, runs_ps));
            }
        }
        all
    }

    #[test]
    fn each_period_has_one_stop_of_the_length_that_was_asked() {
        let all = found(&mut Stops::new(&HOST, 1, 0), 10_000 * MS, MS / 10);
        assert!((99..=101).contains(&all.len()));
        for stop in &all[1..] {
            assert!((49 * MS / 10..=5 * MS).contains(&(stop.1 - stop.0)));
        }
        let phases: Vec<_> = all.iter().map(|stop| stop.1 % (100 * MS)).collect();
        assert!(phases.iter().max().unwrap() - phases.iter().min().unwrap() > 80 * MS);
    }

    #[test]
    fn they_are_a_function_of_seed_and_port_and_not_of_what_is_asked_for() {
        let stops = |seed, port| Stops::new(&HOST, seed, port);
        let (mut one, mut same) = (stops(1, 0), stops(1, 0));
        let forward = found(&mut one, 1000 * MS, MS);
        assert_eq!(found(&mut one, 1000 * MS, MS), forward);
        for time_ps in (0..1000 * MS).step_by(17 * MS as usize) {
            assert_eq!(same.defer(time_ps), one.defer(time_ps));
        }
        assert_ne!(found(&mut stops(2, 0), 1000 * MS, MS), forward);
        assert_ne!(found(&mut stops(1, 1), 1000 * MS, MS), forward);
    }

    #[test]
    fn a_trial_of_20_ms_meets_a_stop_as_often_as_its_length_says() {
        let met = (0..4000).filter(|&seed| {
            let mut stops = Stops::new(&HOST, seed, 0);
            (0..=20).any(|ms| stops.defer(ms * MS) > ms * MS)
        });
        // (20 ms + 5 ms) of 100 ms, with a standard deviation of 0.7 %.
        let share = met.count() as f64 / 4000.0;
        assert!((share - 0.25).abs() < 0.03, "{share}");
    }
}
