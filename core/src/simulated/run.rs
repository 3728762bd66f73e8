//! One simulated trial: chooses who carries it out. The same arguments give the same record.

use std::sync::Mutex;

use crate::pacing::Pacing;
use crate::record::{Record, Stream, Trial};
use crate::watch::Watch;

use super::bridge::Addresses;
use super::connections::ConnectionTable;
use super::device::Code;
use super::outage::Outage;
use super::path::Paths;
use super::rewriting::Watching;
use super::{steady, traffic};

/// A trial, and what it meets.
pub struct Scene<'a> {
    pub trial: &'a Trial,
    /// Of each of its streams.
    pub paths: &'a Paths,
    /// The device's numbers of the tester's ports.
    pub numbers: &'a [u16],
    pub receive_clock_ppm: f64,
    /// Without them, frames go to the ports that they are meant for.
    pub addresses: Option<&'a Addresses>,
    pub watching: Option<&'a Watching>,
    /// Of each stream, where the device reads them.
    pub codes: &'a [Vec<Code>],
    /// What the device knows of connections, from trial to trial.
    pub connections: Option<&'a Mutex<ConnectionTable>>,
}

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
