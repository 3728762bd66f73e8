//! The AF_XDP sockets of interfaces: one socket on each queue serves both directions, so they are opened together and
//! handed to the sender and to the receiver of the port.

use std::collections::HashMap;
use std::io;

use aya::maps::XskMap;

use crate::error::{EngineError, Result};
use crate::host::netns;
use crate::interface::place::Place;
use crate::port::afxdp::nic::queues_and_mtu;
use crate::port::afxdp::receive::AfXdpReceive;
use crate::port::afxdp::socket::{self, Receiving, Room, Sending};
use crate::port::afxdp::transmit::{AfXdpTransmit, Outlet};
use crate::port::bpf::layout::{QUEUES, REDIRECT_OBJECT};
use crate::port::bpf::mapped::Mapped;
use crate::port::bpf::program::{attach, load};
use crate::port::receive::Receive;
use crate::port::transmit::Transmit;

/// Memory for received frames of a port, for all queues together: a tenth of a second of a million small frames a
/// second, which a reader that looks every 5 ms may miss.
const RECEIVING_BYTES: u32 = 1 << 27;
/// What a port that only sends has: with zero copy the host's own frames arrive here, too.
const SPARE_CHUNKS: u32 = 1024;
/// Frames that can be on their way. The kernel holds those that it has copied until the device has taken them.
const SENDING_CHUNKS: u32 = 2048;
/// The smallest ring of a queue by which nothing is sent.
const IDLE_CHUNKS: u32 = 64;
const SMALL_CHUNK_BYTES: u32 = 2048;
const LARGE_CHUNK_BYTES: u32 = 4096;
/// What the kernel keeps free in front of a received frame (XDP_PACKET_HEADROOM).
const HEADROOM_BYTES: u32 = 256;
/// Ethernet header, two VLAN tags and the stamp of the program.
const BESIDE_MTU_BYTES: u32 = 14 + 8 + 8;

type Name = (Option<String>, String);

/// The interfaces that one wire has opened, with the halves that nobody has taken yet.
pub struct Sockets {
    receiving: Vec<Name>,
    outlets: HashMap<Name, Outlet>,
    receivers: HashMap<Name, AfXdpReceive>,
}

impl Sockets {
    /// Of a wire that receives at these places.
    pub fn new<'a>(receiving: impl Iterator<Item = &'a Place>) -> Self {
        Sockets {
            receiving: receiving.map(name).collect(),
            outlets: HashMap::new(),
            receivers: HashMap::new(),
        }
    }

    pub fn transmit(&mut self, places: &[Place]) -> Result<Box<dyn Transmit>> {
        let mut outlets = Vec::new();
        for place in places {
            if !self.outlets.contains_key(&name(place)) {
                self.open(place)?;
            }
            outlets.extend(self.outlets.remove(&name(place)));
        }
        Ok(Box::new(AfXdpTransmit::new(outlets, places)))
    }

    pub fn receive(&mut self, place: &Place) -> Result<Box<dyn Receive>> {
        if !self.receivers.contains_key(&name(place)) {
            self.open(place)?;
        }
        let receiver = self.receivers.remove(&name(place));
        let taken = || EngineError(format!("{}: it receives already", place.interface));
        receiver
            .map(|receiver| Box::new(receiver) as Box<dyn Receive>)
            .ok_or_else(taken)
    }

    fn open(&mut self, place: &Place) -> Result<()> {
        let index = place.index()?;
        let receives = self.receiving.contains(&name(place));
        let asked = netns::within(place.namespace.as_deref(), || {
            queues_and_mtu(&place.interface)
        });
        let (queues, mtu) = asked.map_err(|error| place.refusal("read its queues", &error))?;
        if queues > QUEUES {
            return Err(EngineError(format!(
                "{0}: its {queues} receive queues are more than the {QUEUES} that the afxdp engine reads; set fewer with `ethtool -L {0}`, or use `packet:{0}`",
                place.interface
            )));
        }
        let queues = if receives { queues } else { 1 };
        let opened = netns::within(place.namespace.as_deref(), || {
            (0..queues)
                .map(|queue| socket::open(index, queue, room(queue, queues, mtu, receives)))
                .collect::<io::Result<Vec<_>>>()
        });
        let opened = opened.map_err(|error| refusal(place, &error))?;
        let (mut sending, receiving): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let zero_copy = sending.iter().all(|half: &Sending| half.socket.zero_copy);
        let mut program = None;
        if receives {
            self.receivers
                .insert(name(place), receiver(place, receiving, zero_copy)?);
        } else if zero_copy {
            let mut object = load(std::slice::from_ref(place), REDIRECT_OBJECT, "redirect")?;
            attach(place, &mut object, "redirect")?;
            program = Some(object);
        }
        // Frames of one stream must not overtake each other on two queues.
        let outlet = Outlet {
            sending: sending.swap_remove(0),
            place: place.clone(),
            interface: index,
            mtu,
            _program: program,
        };
        self.outlets.insert(name(place), outlet);
        Ok(())
    }
}

fn name(place: &Place) -> Name {
    (place.namespace.clone(), place.interface.clone())
}

/// The receive half: its program hands the frames of each queue to the socket of the queue.
fn receiver(place: &Place, sockets: Vec<Receiving>, zero_copy: bool) -> Result<AfXdpReceive> {
    let mut object = load(std::slice::from_ref(place), REDIRECT_OBJECT, "redirect")?;
    let absent = || io::Error::other("no such map");
    let state = object.map("redirector").ok_or_else(absent);
    let state = state
        .and_then(|map| Mapped::new(map, 1))
        .map_err(|error| place.refusal("map the redirector's state", &error))?;
    let mut fill = || {
        let map = object.map_mut("sockets").ok_or_else(absent)?;
        let mut map = XskMap::try_from(map).map_err(io::Error::other)?;
        for (queue, half) in sockets.iter().enumerate() {
            map.set(queue as u32, half.socket.clone(), 0)
                .map_err(io::Error::other)?;
        }
        Ok(())
    };
    fill().map_err(|error: io::Error| place.refusal("give AF_XDP sockets to a program", &error))?;
    let point = attach(place, &mut object, "redirect")?;
    let mode = if zero_copy { "zero-copy" } else { "copy" };
    let stamp = format!("{point}, before AF_XDP, {mode}");
    Ok(AfXdpReceive::new(state, sockets, stamp, object, place))
}

/// The memory of one of `queues` sockets; only the first one sends.
fn room(queue: u32, queues: u32, mtu: u32, receives: bool) -> Room {
    let chunk_bytes = match mtu + BESIDE_MTU_BYTES + HEADROOM_BYTES {
        ..=SMALL_CHUNK_BYTES => SMALL_CHUNK_BYTES,
        _ => LARGE_CHUNK_BYTES,
    };
    let chunks = (RECEIVING_BYTES / chunk_bytes / queues)
        .max(SPARE_CHUNKS)
        .next_power_of_two();
    Room {
        chunk_bytes,
        sending_chunks: if queue == 0 {
            SENDING_CHUNKS
        } else {
            IDLE_CHUNKS
        },
        receiving_chunks: if receives { chunks } else { SPARE_CHUNKS },
    }
}

/// Why a socket could not be opened, in one sentence.
fn refusal(place: &Place, error: &io::Error) -> EngineError {
    let interface = &place.interface;
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => EngineError(format!(
            "{interface}: another AF_XDP socket uses its queues; end its program or use `packet:{interface}`"
        )),
        Some(libc::EAFNOSUPPORT) => EngineError(format!(
            "{interface}: this kernel has no AF_XDP (CONFIG_XDP_SOCKETS); use `xdp:{interface}` or `packet:{interface}`"
        )),
        Some(libc::ENOBUFS | libc::ENOMEM) => EngineError(format!(
            "{interface}: no memory for AF_XDP frames; raise `ulimit -l`, give CAP_IPC_LOCK, or use `packet:{interface}`"
        )),
        _ => place.refusal("open an AF_XDP socket", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_fits_the_frames_and_is_shared_by_the_queues() {
        let one = room(0, 1, 1500, true);
        assert_eq!((one.chunk_bytes, one.receiving_chunks), (2048, 65_536));
        let four = room(0, 4, 3498, true);
        assert_eq!((four.chunk_bytes, four.receiving_chunks), (4096, 8192));
        assert_eq!(room(0, 1, 1762, true).chunk_bytes, 2048);
        assert_eq!(room(0, 1, 1763, true).chunk_bytes, 4096);
        assert_eq!(room(0, 64, 1500, true).receiving_chunks, 1024);
        assert_eq!(room(0, 64, 1500, true).sending_chunks, 2048);
        assert_eq!(room(1, 64, 1500, true).sending_chunks, 64);
        assert_eq!(room(0, 1, 1500, false).receiving_chunks, 1024);
    }
}
