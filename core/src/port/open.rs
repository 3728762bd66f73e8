//! Opens a port with the engine that its place names. If that fails, the error says why in one sentence.

use crate::error::Result;
use crate::port::packet_receive::PacketReceive;
use crate::port::packet_transmit::PacketTransmit;
use crate::port::{Engine, Place, Receive, Transmit};

/// One sender for `places`, which have the same engine and namespace and must not be empty.
pub fn open_transmit(places: &[Place]) -> Result<Box<dyn Transmit>> {
    for place in places {
        place.index()?;
    }
    match places[0].engine {
        Engine::Packet => Ok(Box::new(PacketTransmit::open(places)?)),
        #[cfg(bpf)]
        Engine::Xdp => Ok(Box::new(crate::port::xdp_transmit::XdpTransmit::open(
            places,
        )?)),
        #[cfg(not(bpf))]
        Engine::Xdp => Err(places[0].built_without_clang()),
    }
}

pub fn open_receive(place: &Place) -> Result<Box<dyn Receive>> {
    place.index()?;
    match place.engine {
        Engine::Packet => Ok(Box::new(PacketReceive::open(place)?)),
        #[cfg(bpf)]
        Engine::Xdp => Ok(Box::new(crate::port::xdp_receive::XdpReceive::open(place)?)),
        #[cfg(not(bpf))]
        Engine::Xdp => Err(place.built_without_clang()),
    }
}
