//! Makes the driver of a sending port take XDP frames: many do only while a program is attached to their interface.
//!
//! Which ones is never looked up by name: the kernel says what a driver takes now. The program passes every frame, and
//! the kernel detaches it when this process ends in any way.

use std::io;

use aya::programs::{Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};

use crate::error::{EngineError, Result};
use crate::host::netns;
use crate::interface::place::Place;
use crate::port::bpf::layout::PASS_OBJECT;
use crate::port::bpf::program::{cause, refused};
use crate::port::xdp::features::{self, Features};

/// A program that is attached to an interface as long as this value lives.
pub struct Admission {
    _program: Ebpf,
}

/// Attaches a program if the driver takes no XDP frames without one. Receiving ports must have been opened before,
/// because theirs is enough.
pub fn admit(place: &Place, index: u32) -> Result<Option<Admission>> {
    let asked = || netns::within(place.namespace.as_deref(), || features::of(index));
    match asked() {
        Ok(Features {
            takes_frames: true, ..
        }) => return Ok(None),
        Ok(Features { native: false, .. }) => return Err(without_native(place)),
        Ok(_) | Err(_) => {}
    }
    let attached = attach(place, index);
    match (attached, asked()) {
        (
            Ok(admission),
            Err(_)
            | Ok(Features {
                takes_frames: true, ..
            }),
        ) => Ok(Some(admission)),
        // A kernel that says nothing: the receive program of the same port may be there, or there is no need.
        (Err(_), Err(_)) => Ok(None),
        // A veth whose peer does not poll: nothing that is attached at this end helps. It is refused before a trial.
        (Ok(_), Ok(_)) => Ok(None),
        (Err(error), Ok(_)) => Err(EngineError(format!(
            "{0}: the driver takes XDP frames only while an XDP program is attached, and refuses one ({error}); use `packet:{0}`, or an MTU of 1500",
            place.interface
        ))),
    }
}

/// Refuses a port whose driver never takes XDP frames, or does not now.
pub fn check(place: &Place, index: u32) -> Result<()> {
    match netns::within(place.namespace.as_deref(), || features::of(index)) {
        Ok(Features {
            native: false,
            takes_frames: false,
        }) => Err(without_native(place)),
        Ok(Features {
            takes_frames: false,
            ..
        }) => Err(EngineError(format!(
            "{0}: the driver takes no XDP frames (a veth does only while its peer has an XDP program, or GRO that was set while the peer was up): `keisoku doctor` says how to change that; or use `packet:{0}`",
            place.interface
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn without_native(place: &Place) -> EngineError {
    EngineError(format!(
        "{0}: the driver has no native XDP, so it sends no XDP frames; use `packet:{0}`",
        place.interface
    ))
}

fn attach(place: &Place, index: u32) -> io::Result<Admission> {
    netns::within(place.namespace.as_deref(), || {
        let mut object = EbpfLoader::new().load(PASS_OBJECT).map_err(cause)?;
        let program = object
            .program_mut("pass")
            .ok_or_else(|| io::Error::other("no program"))?;
        let program: &mut Xdp = program.try_into().map_err(io::Error::other)?;
        program.load().map_err(io::Error::other)?;
        program
            .attach_to_if_index(index, XdpMode::Driver)
            .map_err(refused)?;
        Ok(Admission { _program: object })
    })
}
