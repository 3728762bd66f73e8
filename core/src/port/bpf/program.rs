//! Loads the programs of ports into the kernel, and attaches them to interfaces.

use std::io;

use aya::programs::{ProgramError, Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};

use crate::capture::bpf_ring;
use crate::error::Result;
use crate::host::netns;
use crate::interface::place::Place;
use crate::port::bpf::layout::{MET_VIEWS, RING_RECORDS};

/// How many lots of frames the sender of these ports holds.
pub fn lots(places: &[Place]) -> u32 {
    let own = places.iter().map(|place| place.lots);
    own.max().unwrap_or(1).clamp(1, MOST_LOTS)
}

/// Offsets of frames have 32 bits.
const MOST_LOTS: u32 = 255;
/// What waits for the reader of fronts: 15 000 of the shortest headers.
const FRONTS_BYTES: u32 = 1 << 20;

/// Loads an object and the program in it for ports of one namespace, inside that namespace.
pub fn load(places: &[Place], object: &[u8], name: &str) -> Result<Ebpf> {
    let place = &places[0];
    let capture_bytes = bpf_ring::kept_bytes(places);
    let views = u32::from(places.iter().any(|place| place.views));
    netns::within(place.namespace.as_deref(), || {
        let mut loader = EbpfLoader::new();
        bpf_ring::arrange(&mut loader, &capture_bytes);
        loader.map_max_entries("frames", lots(places));
        if views != 0 {
            loader
                .override_global("views", &views, false)
                .map_max_entries("seen", RING_RECORDS as u32)
                .map_max_entries("met", MET_VIEWS)
                .map_max_entries("fronts", FRONTS_BYTES);
        }
        let mut object = loader.load(object).map_err(cause)?;
        let program = object
            .program_mut(name)
            .ok_or_else(|| io::Error::other("no program"))?;
        let program: &mut Xdp = program.try_into().map_err(io::Error::other)?;
        program.load().map_err(|error| match error {
            // A refusal by the verifier has the same error number as a missing privilege, but comes with a log.
            ProgramError::LoadError {
                io_error,
                verifier_log,
            } => match complaint(&verifier_log.to_string()) {
                Some(last) => io::Error::other(format!("the kernel's verifier refuses it: {last}")),
                None => io_error,
            },
            other => io::Error::other(other),
        })?;
        Ok(object)
    })
    .map_err(|error| place.refusal("load a BPF program", &error))
}

/// The line of a verifier's log that gives the reason; its statistics follow it.
pub fn complaint(log: &str) -> Option<&str> {
    let statistics = ["verification time", "stack depth", "processed"];
    log.lines().rfind(|line| {
        !line.trim().is_empty() && !statistics.iter().any(|start| line.starts_with(start))
    })
}

/// The error of the operating system inside an error of aya, if there is one.
pub fn cause(error: aya::EbpfError) -> io::Error {
    let mut inner: Option<&dyn std::error::Error> = Some(&error);
    while let Some(at) = inner {
        if let Some(code) = at
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
        {
            return io::Error::from_raw_os_error(code);
        }
        inner = at.source();
    }
    io::Error::other(error.to_string())
}

/// Why a driver or the kernel refused to attach a program.
pub fn refused(error: ProgramError) -> io::Error {
    match error {
        ProgramError::SyscallError(error) => error.io_error,
        error => io::Error::other(error),
    }
}

/// Attaches the program `name` natively, or generically if the driver refuses. Returns which.
pub fn attach(place: &Place, object: &mut Ebpf, name: &str) -> Result<&'static str> {
    let index = place.index()?;
    netns::within(place.namespace.as_deref(), || {
        let program = object
            .program_mut(name)
            .ok_or_else(|| io::Error::other("no program"))?;
        let program: &mut Xdp = program.try_into().map_err(io::Error::other)?;
        if program.attach_to_if_index(index, XdpMode::Driver).is_ok() {
            return Ok("CLOCK_MONOTONIC in XDP, native");
        }
        match program.attach_to_if_index(index, XdpMode::Skb) {
            Ok(_) => Ok("CLOCK_MONOTONIC in XDP, generic"),
            Err(error) => Err(refused(error)),
        }
    })
    .map_err(|error| place.refusal("attach an XDP program", &error))
}
