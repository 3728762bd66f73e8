//! One simulated trial: chooses who carries it out. The same arguments give the same record.

use crate::pacing::Pacing;
use crate::record::{Record, Stream, Trial};
use crate::watch::Watch;

use super::bridge::Addresses;
use super::outage::Outage;
use super::path::Paths;
use super::{steady, traffic};

/// Carries out `trial`; `paths` has the path of each of its streams. Without `addresses`, frames go to the ports that
/// they are meant for.
pub fn run(
    paths: &Paths,
    receive_clock_ppm: f64,
    trial: &Trial,
    addresses: Option<&Addresses>,
    watch: &Watch,
) -> Record {
    match &trial.streams[..] {
        [only]
            if only.pacing == Pacing::Constant
                && only.frame_bytes.len() == 1
                && only.start_ns == 0
                && addresses.is_none()
                && trial.switches.is_none()
                && Outage::new(paths[&ports(only)].device(), trial).is_none()
                && paths[&ports(only)].device().host.is_none() =>
        {
            steady::run(&paths[&ports(only)], receive_clock_ppm, trial, watch)
        }
        _ => traffic::run(paths, receive_clock_ppm, trial, addresses, watch),
    }
}

fn ports(stream: &Stream) -> (usize, usize) {
    (stream.transmit, stream.receive)
}
