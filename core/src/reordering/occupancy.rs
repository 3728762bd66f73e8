//! Reorder buffer-occupancy density: how many frames a receiver would hold to restore the order (RFC 5236 §3.8,
//! §7.2).
//!
//! A missing number is lost once the buffer is full. Frames in order after a gap are processed together. This file
//! knows no times.

use std::collections::VecDeque;

use crate::reordering::density::insert;

pub struct Occupancy {
    /// The buffer threshold BT of §3.9, in frames.
    threshold: u64,
    /// The expected number E of §7.2.
    expected: u64,
    /// The number that the stream goes on with, and the arrivals up to there.
    next: u64,
    seen: u64,
    /// Held frames, as ascending ranges `[first, last]`, and their number.
    held: VecDeque<(u64, u64)>,
    occupancy: u64,
    /// Frequency of each occupancy minus that of the one below, so that a rise by many costs no more than one.
    steps: Vec<i64>,
}

impl Occupancy {
    /// `first` is the number that the stream begins with.
    pub fn new(first: u64, threshold: u64) -> Self {
        Occupancy {
            threshold,
            expected: first,
            next: first,
            seen: 0,
            held: VecDeque::new(),
            occupancy: 0,
            steps: Vec::new(),
        }
    }

    /// Numbers are missing before `sequence`, which comes after `arrivals` others.
    pub fn skip(&mut self, sequence: u64, arrivals: u64) {
        self.advance(arrivals);
        self.next = sequence;
    }

    /// `sequence` comes late, after `arrivals` others.
    pub fn fill(&mut self, sequence: u64, arrivals: u64) {
        self.advance(arrivals);
        self.seen += 1;
        if sequence < self.expected {
            // "Excessively delayed": the number was declared lost before.
            return;
        }
        self.hold(sequence);
        if sequence == self.expected || self.occupancy > self.threshold {
            self.release();
        }
        self.count(self.occupancy, self.occupancy, 1);
    }

    /// After all `arrivals`: pairs of occupancy and arrivals (§3.10, FB).
    pub fn finish(mut self, arrivals: u64) -> Vec<(u64, u64)> {
        self.advance(arrivals);
        let mut frequency = 0;
        let frequencies = self.steps.iter().map(|step| {
            frequency += step;
            frequency as u64
        });
        (0..)
            .zip(frequencies)
            .filter(|(_, arrivals)| *arrivals > 0)
            .collect()
    }

    /// The frames in order since the last call.
    fn advance(&mut self, arrivals: u64) {
        let mut frames = arrivals - self.seen;
        while frames > 0 {
            let room = self.threshold - self.occupancy;
            let taken = if self.next == self.expected {
                // No frame is held: held frames lie above the expected number and below the next one.
                self.count(0, 0, frames as i64);
                self.expected += frames;
                frames
            } else if room > 0 {
                let taken = frames.min(room);
                self.hold_run(taken);
                self.count(self.occupancy + 1, self.occupancy + taken, 1);
                self.occupancy += taken;
                taken
            } else {
                self.hold(self.next);
                self.release();
                self.count(self.occupancy, self.occupancy, 1);
                1
            };
            self.next += taken;
            frames -= taken;
        }
        self.seen = arrivals;
    }

    fn hold_run(&mut self, frames: u64) {
        insert(&mut self.held, self.next);
        if let Some((_, last)) = self.held.back_mut() {
            *last += frames - 1;
        }
    }

    fn hold(&mut self, sequence: u64) {
        insert(&mut self.held, sequence);
        self.occupancy += 1;
    }

    /// The expected frame is here or lost: all frames up to the next missing number leave the buffer.
    fn release(&mut self) {
        if let Some((first, last)) = self.held.pop_front() {
            self.occupancy -= last - first + 1;
            self.expected = last + 1;
        }
    }

    /// Counts each occupancy from `least` to `most` `times` times.
    fn count(&mut self, least: u64, most: u64, times: i64) {
        let (least, end) = (least as usize, most as usize + 1);
        if end >= self.steps.len() {
            self.steps.resize(end + 1, 0);
        }
        self.steps[least] += times;
        self.steps[end] -= times;
    }
}
