//! When the streams of a trial are cut off by what happens to the device: for each stream, times in which it loses
//! every frame, and times from which it leaves by another port.
//!
//! This file knows times and never holds a frame.

use crate::trial::Trial;

use super::device::Device;

/// The times in which one stream is cut off, in order; frames ask in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// First picosecond, and the one after the last; ascending and disjoint.
    times: Vec<(u64, u64)>,
    place: usize,
    /// Picosecond, and the number of the device's port by which the stream leaves from then on; ascending.
    moves: Vec<(u64, u16)>,
    moved: usize,
}

impl Cuts {
    /// Those of stream `number` of the trial.
    pub fn new(device: &Device, trial: &Trial, number: usize) -> Self {
        let number = number as u64;
        let mut times: Vec<(u64, u64)> = Vec::new();
        let mut moves: Vec<(u64, u16)> = Vec::new();
        for event in &trial.events {
            for cut in &device.interruptions {
                let last = cut.last_flow.unwrap_or(u64::MAX);
                let asked = cut.event == event.name && cut.by_undo == event.undo;
                if !asked || !(cut.first_flow..=last).contains(&number) {
                    continue;
                }
                let from_ns = event.after_ns + cut.begin_ns;
                let length_ns = cut.duration_ns + cut.step_ns * (number - cut.first_flow);
                let end_ps = (from_ns + length_ns) * 1000;
                times.push((from_ns * 1000, end_ps));
                moves.extend(cut.to_port.map(|port| (end_ps, port)));
            }
        }
        times.sort_unstable();
        moves.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from_ps, to_ps) in times {
            match joined.last_mut() {
                Some(last) if from_ps <= last.1 => last.1 = last.1.max(to_ps),
                _ => joined.push((from_ps, to_ps)),
            }
        }
        Cuts {
            times: joined,
            place: 0,
            moves,
            moved: 0,
        }
    }

    /// The device's port by which a frame leaves that is sent at this time, if an event has chosen it.
    #[inline]
    pub fn port(&mut self, sent_ps: u64) -> Option<u16> {
        while self
            .moves
            .get(self.moved)
            .is_some_and(|(from_ps, _)| *from_ps <= sent_ps)
        {
            self.moved += 1;
        }
        Some(self.moves.get(self.moved.checked_sub(1)?)?.1)
    }

    /// True if a frame that is sent at this time is lost. Times never decrease.
    #[inline]
    pub fn lose(&mut self, sent_ps: u64) -> bool {
        while let Some((from_ps, to_ps)) = self.times.get(self.place) {
            if sent_ps < *to_ps {
                return sent_ps >= *from_ps;
            }
            self.place += 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_off_from_the_first_to_the_last_picosecond_of_each_time() {
        let mut cuts = Cuts {
            times: vec![(10, 20), (30, 31)],
            ..Cuts::default()
        };
        let lost: Vec<u64> = (0..40).filter(|sent_ps| cuts.lose(*sent_ps)).collect();
        assert_eq!(lost, (10..20).chain([30]).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_leaves_by_the_port_of_the_last_event() {
        let mut cuts = Cuts {
            moves: vec![(20, 3), (31, 2)],
            ..Cuts::default()
        };
        let ports: Vec<_> = [0, 19, 20, 30, 31, 99].map(|at| cuts.port(at)).into();
        assert_eq!(ports, [None, None, Some(3), Some(3), Some(2), Some(2)]);
    }
}
