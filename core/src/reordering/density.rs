//! Reorder density: the displacement of each frame from its position, early or late (RFC 5236 §3.6, §7.1).
//!
//! Frames in order need no work of their own: arrivals whose displacement is not decided yet are stored as runs of
//! consecutive numbers, and the last run grows implicitly. Whether a missing number is lost is decided as many
//! arrivals later as the threshold says (§6, stay-back method). This file knows no times and not what was sent.

use std::collections::VecDeque;

/// Consecutive arrivals of consecutive numbers; a run ends where the next one begins.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    /// Index of its first frame among the arrivals that were admitted to the window.
    index: u64,
    is_late: bool,
}

pub struct Density {
    threshold: u64,
    /// `window` of §7.1, and frames that may still be in it.
    runs: VecDeque<Run>,
    /// Numbers of the late frames in `runs`, ascending.
    late: Vec<u64>,
    /// `buffer` of §7.1, as ascending ranges `[first, last]`: early frames whose number may still be assigned.
    early: VecDeque<(u64, u64)>,
    receive_index: u64,
    discarded: u64,
    /// Late arrivals that were not admitted.
    kept_out: u64,
    /// By displacement, from 0; and by earliness.
    late_by: Vec<u64>,
    early_by: Vec<u64>,
}

impl Density {
    /// `first` is the number that the stream begins with.
    pub fn new(first: u64, threshold: u64) -> Self {
        Density {
            threshold,
            runs: VecDeque::from([Run {
                first,
                index: 0,
                is_late: false,
            }]),
            late: Vec::new(),
            early: VecDeque::new(),
            receive_index: first,
            discarded: 0,
            kept_out: 0,
            late_by: Vec::new(),
            early_by: Vec::new(),
        }
    }

    /// Numbers are missing before `sequence`, which comes after `arrivals` others.
    pub fn skip(&mut self, sequence: u64, arrivals: u64) {
        let index = self.advance(arrivals);
        self.push(sequence, index, false);
    }

    /// `sequence` comes late, after `arrivals` others; `next` is the number that the stream then goes on with.
    pub fn fill(&mut self, sequence: u64, next: u64, arrivals: u64) {
        let index = self.advance(arrivals);
        if sequence < self.receive_index {
            self.kept_out += 1;
            self.push(next, index, false);
            return;
        }
        self.push(sequence, index, true);
        let place = self.late.partition_point(|other| *other < sequence);
        self.late.insert(place, sequence);
        self.push(next, index + 1, false);
    }

    /// After all `arrivals`: pairs of displacement and frames (§3.5, FD), and the frames beyond the threshold.
    pub fn finish(mut self, arrivals: u64) -> (Vec<(i64, u64)>, u64) {
        let index = arrivals - self.kept_out;
        self.displace(index, index);
        let early = self
            .early_by
            .iter()
            .enumerate()
            .rev()
            .map(|(by, frames)| (-(by as i64), *frames));
        let late = self
            .late_by
            .iter()
            .enumerate()
            .map(|(by, frames)| (by as i64, *frames));
        let found = early
            .chain(late)
            .filter(|(_, frames)| *frames > 0)
            .collect();
        (found, self.discarded + self.kept_out)
    }

    /// Moves out of the window what the frame after `arrivals` others pushes out; returns that frame's index.
    fn advance(&mut self, arrivals: u64) -> u64 {
        let index = arrivals - self.kept_out;
        self.displace(index, index.saturating_sub(self.threshold));
        index
    }

    fn push(&mut self, first: u64, index: u64, is_late: bool) {
        if self.runs.back().is_some_and(|last| last.index == index) {
            self.runs.pop_back();
        }
        self.runs.push_back(Run {
            first,
            index,
            is_late,
        });
    }

    /// Gives every frame up to `until` its displacement; there are `end` in all.
    fn displace(&mut self, end: u64, until: u64) {
        while let Some(run) = self.runs.front().copied()
            && run.index < until
        {
            let run_end = self.runs.get(1).map_or(end, |next| next.index);
            self.seek(run);
            let taken = if run.first == self.receive_index {
                run_end.min(until) - run.index
            } else {
                1
            };
            self.assign(run.first, taken);
            if run.is_late {
                let place = self.late.partition_point(|other| *other < run.first);
                self.late.remove(place);
            }
            if run.index + taken == run_end && self.runs.len() > 1 {
                self.runs.pop_front();
            } else {
                self.runs[0] = Run {
                    first: run.first + taken,
                    index: run.index + taken,
                    ..run
                };
            }
        }
    }

    /// The next receive index: the least number from there on that is in the window or was early.
    fn seek(&mut self, front: Run) {
        let from = self.receive_index;
        let early = self.early.front().map(|(first, _)| *first);
        let late = self.late.partition_point(|number| *number < from);
        let late = self.late.get(late).copied();
        let window_end = front.index + self.threshold;
        let in_order = self
            .runs
            .iter()
            .zip(self.runs.iter().skip(1).map(Some).chain([None]));
        let in_order = in_order
            .filter(|(run, _)| !run.is_late)
            .take_while(|(run, _)| run.index <= window_end)
            .find_map(|(run, next)| {
                let number = run.first.max(from);
                let index = run.index + (number - run.first);
                let inside = index <= window_end && next.is_none_or(|next| index < next.index);
                inside.then_some(number)
            });
        // The front is one of these, or less than all of them.
        let candidates = [early, late, in_order];
        self.receive_index = candidates.into_iter().flatten().min().unwrap_or(from);
    }

    /// `frames` from `sequence` on get the receive indices that come next; more than one only if they agree.
    fn assign(&mut self, sequence: u64, frames: u64) {
        let index = self.receive_index;
        let displacement = index.abs_diff(sequence);
        if displacement > self.threshold {
            self.discarded += frames;
            return;
        }
        if let Some((first, last)) = self.early.front_mut()
            && *first == index
        {
            *first += 1;
            if *first > *last {
                self.early.pop_front();
            }
        }
        if sequence > index {
            count(&mut self.early_by, displacement, frames);
            insert(&mut self.early, sequence);
        } else {
            count(&mut self.late_by, displacement, frames);
        }
        self.receive_index = index + frames;
    }
}

fn count(counts: &mut Vec<u64>, place: u64, frames: u64) {
    let place = place as usize;
    if place >= counts.len() {
        counts.resize(place + 1, 0);
    }
    counts[place] += frames;
}

/// Adds a number to ascending ranges that do not hold it.
pub fn insert(ranges: &mut VecDeque<(u64, u64)>, number: u64) {
    let place = ranges.partition_point(|(_, last)| *last < number);
    let joins_left = place > 0 && ranges[place - 1].1 + 1 == number;
    let joins_right = ranges
        .get(place)
        .is_some_and(|(first, _)| number + 1 == *first);
    match (joins_left, joins_right) {
        (true, true) => {
            ranges[place - 1].1 = ranges[place].1;
            ranges.remove(place);
        }
        (true, false) => ranges[place - 1].1 = number,
        (false, true) => ranges[place].0 = number,
        (false, false) => ranges.insert(place, (number, number)),
    }
}
