//! One simulated trial: chooses who carries it out. The same arguments give the same record.

use crate::pacing::Pacing;
use crate::record::{Record, Stream, Trial};
use crate::watch::Watch;

use super::outage::Outage;
use super::path::Paths;
use super::{steady, traffic};

/// Carries out `trial`, of whose every stream `paths` knows the way.
pub fn run(paths: &Paths, receive_clock_ppm: f64, trial: &Trial, watch: &Watch) -> Record {
    match &trial.streams[..] {
        [only]
            if only.pacing == Pacing::Constant
                && only.frame_bytes.len() == 1
                && only.start_ns == 0
                && Outage::new(paths[&way(only)].device(), trial).is_none() =>
        {
            steady::run(&paths[&way(only)], receive_clock_ppm, trial, watch)
        }
        _ => traffic::run(paths, receive_clock_ppm, trial, watch),
    }
}

fn way(stream: &Stream) -> (usize, usize) {
    (stream.transmit, stream.receive)
}
