//! The way through a device from one port to another: everything that the two ports and the size of a frame
//! determine, computed once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::trial::Trial;

use super::device::{Device, Forwarding, Jitter, Loss, Mode};
use super::wire_ps;

const ETHERNET_HEADER_BYTES: u32 = 14;

/// Paths by the indices of the tester's transmitting and receiving port.
pub type Paths = BTreeMap<(usize, usize), Path>;

/// The paths of all streams of a trial; if the device `floods`, from each of their ports to all ports. `ports`: the
/// device's ports that are connected to the tester. The error says what is wrong.
pub fn paths(device: &Device, ports: &[u16], trial: &Trial, floods: bool) -> Result<Paths, String> {
    let mut found = Paths::new();
    let number = |index: usize| {
        ports.get(index).copied().ok_or_else(|| {
            format!(
                "streams: the tester has {} ports, no index {index}",
                ports.len()
            )
        })
    };
    for stream in &trial.streams {
        let transmit = stream.transmit;
        let others = (0..ports.len()).filter(|port| floods && *port != transmit);
        for receive in others.chain(stream.receives()) {
            if let Entry::Vacant(place) = found.entry((transmit, receive)) {
                let path = Path::new(device.clone(), number(transmit)?, number(receive)?)?;
                place.insert(path);
            }
        }
    }
    Ok(found)
}

/// A device seen from one input port to one output port.
#[derive(Clone, Debug)]
pub struct Path {
    device: Device,
    forwarding: Forwarding,
    extra_latency_ns: f64,
    max_frame_bytes: Option<u32>,
    loss: Loss,
    output_ppm: f64,
}

impl Path {
    /// An error names the port that the device does not have.
    pub fn new(device: Device, tx_port: u16, rx_port: u16) -> Result<Self, String> {
        for port in [tx_port, rx_port] {
            if !(1..=device.ports).contains(&port) {
                return Err(format!(
                    "the device has ports 1 to {}, not {port}",
                    device.ports
                ));
            }
        }
        if tx_port == rx_port {
            return Err(format!(
                "frames cannot leave through port {tx_port}, where they came in"
            ));
        }
        let pair = device
            .pairs
            .iter()
            .find(|pair| pair.from_ports.contains(&tx_port) && pair.to_ports.contains(&rx_port));
        Ok(Path {
            forwarding: pair
                .and_then(|pair| pair.forwarding.clone())
                .unwrap_or_else(|| device.forwarding.clone()),
            extra_latency_ns: pair.map_or(0.0, |pair| pair.extra_latency_ns),
            max_frame_bytes: pair
                .and_then(|pair| pair.max_frame_bytes)
                .or(device.max_frame_bytes),
            loss: pair
                .and_then(|pair| pair.loss.clone())
                .unwrap_or_else(|| device.loss.clone()),
            output_ppm: device
                .clock_offset_ppm
                .get(&rx_port)
                .copied()
                .unwrap_or(0.0),
            device,
        })
    }

    /// The tester's line and the device's are of the same nominal rate.
    pub fn link_bits_per_second(&self) -> f64 {
        self.device.link_bits_per_second
    }

    /// First bit in to first bit out of a frame that meets no queue and no jitter, in ps.
    pub fn latency_ps(&self, frame_bytes: u32) -> u64 {
        let forwarding = &self.forwarding;
        let bytes = match forwarding.mode {
            Mode::StoreAndForward => frame_bytes,
            Mode::CutThrough => forwarding
                .header_bytes
                .unwrap_or(ETHERNET_HEADER_BYTES)
                .min(frame_bytes),
        };
        let variable_ns = forwarding.ns_per_byte * f64::from(bytes);
        let forwarded_ns = (variable_ns + forwarding.constant_ns).max(forwarding.decision_ns);
        ((forwarded_ns + self.extra_latency_ns) * 1000.0).round() as u64
    }

    /// The tester's stamps are whole multiples of this many ps; zero: exact.
    pub fn resolution_ps(&self) -> u64 {
        (self.device.resolution_ns * 1000.0).round() as u64
    }

    /// The time that the output port needs for a frame, in ps of the tester's clock.
    pub fn service_ps(&self, frame_bytes: u32) -> f64 {
        let output = &self.device.output;
        let nominal = output
            .service_bits_per_second
            .unwrap_or(self.device.link_bits_per_second);
        wire_ps(frame_bytes, nominal * (1.0 + self.output_ppm * 1e-6))
    }

    /// Number of frames that the output buffer holds, including the one that is being sent.
    pub fn buffer_frames(&self, frame_bytes: u32) -> u64 {
        self.device.output.buffer_bytes / u64::from(frame_bytes)
    }

    /// True if no frame of this size can pass.
    pub fn refuses(&self, frame_bytes: u32) -> bool {
        self.max_frame_bytes
            .is_some_and(|limit| frame_bytes > limit)
            || self.buffer_frames(frame_bytes) == 0
    }

    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// True if frames of this size are also lost because of their size.
    pub fn is_large(&self, frame_bytes: u32) -> bool {
        self.loss
            .above_frame_bytes
            .is_some_and(|limit| frame_bytes > limit)
    }

    pub fn jitter(&self) -> Option<&Jitter> {
        self.device
            .jitter
            .as_ref()
            .filter(|jitter| jitter.spread_ns > 0.0)
    }

    pub fn device(&self) -> &Device {
        &self.device
    }
}
