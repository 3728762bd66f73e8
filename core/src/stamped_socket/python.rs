//! `keisoku._core.StampedSocket`, for `keisoku/subjects/path/` and `keisoku/subjects/clock/`.
//!
//! This file converts values into types. It decides nothing.

use std::net::{IpAddr, SocketAddr};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::EngineError;
use crate::host::kernel_clock::monotonic_ns;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::{IcmpError, Kind, Options, Outgoing, Packet, Sent, StampedSocket as Socket};

/// A packet that was sent, or was not (`error`). Stamps that are missing are `None`.
#[pyclass(frozen, get_all)]
pub struct SentPacket {
    id: u64,
    realtime_ns: u64,
    monotonic_ns: u64,
    kernel_ns: Option<u64>,
    hardware_ns: Option<u64>,
    error: Option<String>,
}

impl From<Sent> for SentPacket {
    fn from(sent: Sent) -> Self {
        SentPacket {
            id: sent.id,
            realtime_ns: sent.user.realtime_ns,
            monotonic_ns: sent.user.monotonic_ns,
            kernel_ns: sent.kernel_ns,
            hardware_ns: sent.hardware_ns,
            error: sent.error,
        }
    }
}

/// A packet that arrived.
#[pyclass(frozen, get_all)]
pub struct ReceivedPacket {
    data: Py<PyBytes>,
    source: Option<(String, u16)>,
    local: Option<String>,
    ttl: Option<u8>,
    realtime_ns: u64,
    monotonic_ns: u64,
    kernel_ns: Option<u64>,
    hardware_ns: Option<u64>,
}

impl ReceivedPacket {
    fn new(py: Python<'_>, packet: Packet) -> Self {
        ReceivedPacket {
            data: PyBytes::new(py, &packet.data).unbind(),
            source: packet.source.map(pair),
            local: packet.local.map(|ip| match packet.source {
                Some(SocketAddr::V6(v6)) if v6.scope_id() != 0 => format!("{ip}%{}", v6.scope_id()),
                _ => ip.to_canonical().to_string(),
            }),
            ttl: packet.ttl,
            realtime_ns: packet.user.realtime_ns,
            monotonic_ns: packet.user.monotonic_ns,
            kernel_ns: packet.kernel_ns,
            hardware_ns: packet.hardware_ns,
        }
    }
}

/// An ICMP error about a packet that was sent: `data` is what it quotes of the payload.
#[pyclass(frozen, get_all)]
pub struct IcmpMessage {
    data: Py<PyBytes>,
    source: Option<String>,
    icmp_type: u8,
    icmp_code: u8,
    mtu: u32,
    destination: Option<(String, u16)>,
    realtime_ns: u64,
    monotonic_ns: u64,
    kernel_ns: Option<u64>,
    hardware_ns: Option<u64>,
}

impl IcmpMessage {
    fn new(py: Python<'_>, error: IcmpError) -> Self {
        IcmpMessage {
            data: PyBytes::new(py, &error.data).unbind(),
            source: error.source.map(|source| source.ip().to_string()),
            icmp_type: error.icmp_type,
            icmp_code: error.icmp_code,
            mtu: error.mtu,
            destination: error.destination.map(pair),
            realtime_ns: error.user.realtime_ns,
            monotonic_ns: error.user.monotonic_ns,
            kernel_ns: error.kernel_ns,
            hardware_ns: error.hardware_ns,
        }
    }
}

/// A UDP or raw ICMP socket whose packets are stamped by the program, the kernel and, where there is one, the hardware.
///
/// Raises `EngineError` if it cannot be opened.
#[pyclass(frozen)]
pub struct StampedSocket {
    socket: Socket,
}

type Packets = Vec<(PyBackedBytes, Option<(String, u16)>, Option<u8>)>;
type Arrived = (Vec<ReceivedPacket>, Vec<IcmpMessage>);

#[pymethods]
impl StampedSocket {
    #[new]
    #[pyo3(signature = (kind, bind, *, connect=None, namespace=None, interface=None, do_not_fragment=false,
                        receive_bytes=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        kind: &str,
        bind: (String, u16),
        connect: Option<(String, u16)>,
        namespace: Option<&str>,
        interface: Option<&str>,
        do_not_fragment: bool,
        receive_bytes: Option<i32>,
    ) -> PyResult<Self> {
        let options = Options {
            kind: match kind {
                "udp" => Kind::Udp,
                "icmp" => Kind::Icmp,
                _ => return Err(PyValueError::new_err(format!("there is no kind '{kind}'"))),
            },
            bind: address(&bind)?,
            connect: connect.as_ref().map(address).transpose()?,
            do_not_fragment,
            hardware: false,
            receive_bytes,
        };
        let opened = py.detach(|| Socket::open(options, namespace, interface));
        let socket = opened.map_err(|error| {
            let (host, port) = &bind;
            EngineError(format!(
                "a {kind} socket at {host} port {port} cannot be opened: {error}"
            ))
        })?;
        Ok(StampedSocket { socket })
    }

    /// The local address and port.
    #[getter]
    fn address(&self) -> PyResult<(String, u16)> {
        Ok(pair(self.socket.address()?))
    }

    /// The kinds of stamps that are available, in words.
    #[getter]
    fn stamps(&self) -> &str {
        self.socket.stamps()
    }

    /// Packets that arrived and found no room in the socket (SO_RXQ_OVFL), as far as later packets reported them.
    #[getter]
    fn dropped(&self) -> u64 {
        self.socket.dropped()
    }

    /// Number of stamps that belong to no awaited packet.
    #[getter]
    fn unmatched(&self) -> u64 {
        self.socket.unmatched()
    }

    /// Sends `(payload, destination, ttl)` back-to-back, then waits up to `stamp_wait_ns` for their stamps.
    #[pyo3(signature = (packets, stamp_wait_ns=20_000_000))]
    fn send(
        &self,
        py: Python<'_>,
        packets: Packets,
        stamp_wait_ns: u64,
    ) -> PyResult<Vec<SentPacket>> {
        let outgoing: Vec<Outgoing<'_>> = packets
            .iter()
            .map(|(data, destination, ttl)| {
                Ok(Outgoing {
                    data,
                    destination: destination.as_ref().map(address).transpose()?,
                    ttl: *ttl,
                })
            })
            .collect::<PyResult<_>>()?;
        let sent = py.detach(|| self.socket.send(&outgoing, stamp_wait_ns));
        Ok(sent.into_iter().map(SentPacket::from).collect())
    }

    /// Packets and ICMP errors that have arrived, after waiting until there are `least` of both together or until
    /// `deadline_ns` (CLOCK_MONOTONIC).
    #[pyo3(signature = (deadline_ns, *, least=1, most=65_536, spin=false))]
    fn receive(
        &self,
        py: Python<'_>,
        deadline_ns: u64,
        least: usize,
        most: usize,
        spin: bool,
    ) -> PyResult<Arrived> {
        let (mut packets, mut messages) = (Vec::new(), Vec::new());
        loop {
            let still = least.saturating_sub(messages.len());
            let errors = py.detach(|| {
                self.socket
                    .receive(deadline_ns, still, most, spin, &mut packets)
            })?;
            messages.extend(errors.into_iter().map(|error| IcmpMessage::new(py, error)));
            let enough = packets.len() + messages.len() >= least || packets.len() >= most;
            if enough || monotonic_ns() >= deadline_ns {
                break;
            }
            py.check_signals()?;
        }
        let packets = packets
            .into_iter()
            .map(|packet| ReceivedPacket::new(py, packet))
            .collect();
        Ok((packets, messages))
    }

    /// Stamps that came after `send` had returned: `(id, kernel_ns, hardware_ns)`.
    fn late_stamps(&self, py: Python<'_>) -> Vec<(u64, Option<u64>, Option<u64>)> {
        let late = py.detach(|| self.socket.late_stamps());
        late.into_iter()
            .map(|(id, stamps)| (id, stamps.kernel_ns, stamps.hardware_ns))
            .collect()
    }

    /// CLOCK_REALTIME − CLOCK_MONOTONIC in ns, half the width of its bounds, and how often it was stepped so far.
    fn realtime_offset(&self) -> (i64, i64, u64) {
        self.socket.realtime_offset()
    }
}

fn address((host, port): &(String, u16)) -> PyResult<SocketAddr> {
    if let Some((ip, scope)) = host.split_once('%') {
        let scoped: Result<SocketAddr, _> = format!("[{ip}%{scope}]:{port}").parse();
        return scoped.map_err(|_| PyValueError::new_err(format!("'{host}' is no IP address")));
    }
    let ip: IpAddr = host
        .parse()
        .map_err(|_| PyValueError::new_err(format!("'{host}' is no IP address")))?;
    Ok(SocketAddr::new(ip, *port))
}

fn pair(address: SocketAddr) -> (String, u16) {
    let host = match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        other => other.ip().to_string(),
    };
    (host, address.port())
}
