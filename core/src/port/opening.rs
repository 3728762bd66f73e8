//! Opens a port with the engine that its place names. If that fails, the error says why in one sentence.

use crate::error::Result;
use crate::interface::place::{Engine, Place};
#[cfg(bpf)]
use crate::port::afxdp::interface::Sockets;
use crate::port::packet::receive::PacketReceive;
use crate::port::packet::transmit::PacketTransmit;
use crate::port::receive::Receive;
use crate::port::transmit::Transmit;

/// The opening of all ports of one wire. Both directions of an afxdp port share its sockets.
pub struct Opening {
    #[cfg(bpf)]
    sockets: Sockets,
}

impl Opening {
    /// Of a wire that receives at these places.
    #[cfg_attr(not(bpf), expect(unused_variables))]
    pub fn new<'a>(receiving: impl Iterator<Item = &'a Place>) -> Self {
        Opening {
            #[cfg(bpf)]
            sockets: Sockets::new(receiving),
        }
    }

    /// One sender for `places`, which have the same engine and namespace and must not be empty.
    pub fn transmit(&mut self, places: &[Place]) -> Result<Box<dyn Transmit>> {
        for place in places {
            place.index()?;
        }
        match places[0].engine {
            Engine::Packet => Ok(Box::new(PacketTransmit::open(places)?)),
            #[cfg(bpf)]
            Engine::Xdp => Ok(Box::new(crate::port::xdp::transmit::XdpTransmit::open(
                places,
            )?)),
            #[cfg(bpf)]
            Engine::Afxdp => self.sockets.transmit(places),
            #[cfg(not(bpf))]
            Engine::Xdp | Engine::Afxdp => Err(places[0].built_without_clang()),
        }
    }

    pub fn receive(&mut self, place: &Place) -> Result<Box<dyn Receive>> {
        place.index()?;
        match place.engine {
            Engine::Packet => Ok(Box::new(PacketReceive::open(place)?)),
            #[cfg(bpf)]
            Engine::Xdp => Ok(Box::new(crate::port::xdp::receive::XdpReceive::open(
                place,
            )?)),
            #[cfg(bpf)]
            Engine::Afxdp => self.sockets.receive(place),
            #[cfg(not(bpf))]
            Engine::Xdp | Engine::Afxdp => Err(place.built_without_clang()),
        }
    }
}
