//! One simulated trial: chooses who carries it out. The same arguments give the same record.

use crate::account::record::Record;
use crate::account::watch::Watch;
use crate::trial::Stream;
use crate::trial::pacing::Pacing;

use super::outage::Outage;
use super::scene::Scene;
use super::{steady, traffic};

/// Carries out the trial of `scene`.
pub fn run(scene: &Scene, watch: &Watch) -> Record {
    let Scene { trial, paths, .. } = *scene;
    match &trial.streams[..] {
        [only]
            if only.pacing == Pacing::Constant
                && only.frame_bytes.len() == 1
                && only.start_ns == 0
                && only.also.is_empty()
                && only.among.is_empty()
                && !only.timed
                && only.connections.is_none()
                && scene.addresses.is_none()
                && scene.watching.is_none()
                && trial.switches.is_none()
                && trial.events.is_empty()
                && Outage::new(paths[&ports(only)].device(), trial).is_none()
                && paths[&ports(only)].device().host.is_none()
                && paths[&ports(only)].device().queues.is_empty() =>
        {
            let path = &paths[&ports(only)];
            steady::run(path, scene.receive_clock_ppm, trial, watch)
        }
        _ => traffic::run(scene, watch),
    }
}

fn ports(stream: &Stream) -> (usize, usize) {
    (stream.transmit, stream.receive)
}
