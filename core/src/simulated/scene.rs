//! `Scene`: a trial and all that it meets, for whoever carries it out in virtual time.

use std::sync::Mutex;

use crate::trial::Trial;

use super::bridge::Addresses;
use super::connections::ConnectionTable;
use super::device::Code;
use super::path::Paths;
use super::rewriting::Watching;

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
