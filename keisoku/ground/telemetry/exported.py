"""What one datagram of an exporter says. It holds numbers as they came, and judges none."""

from __future__ import annotations

from dataclasses import dataclass, field

from keisoku.ground.telemetry.flow_key import FlowKey


class NoExportError(ValueError):
    """A datagram that is not what its format says, or of no known format."""


@dataclass(frozen=True)
class FlowCount:
    """So many frames of a flow: one sampled frame, or a record of all since the record before."""

    key: FlowKey | None
    """None: a sampled frame without an IP header, or a record without these fields."""
    frames: int
    bytes_: int
    """Of sFlow whole frames with FCS, of records IP packets."""
    interface: int
    """SNMP index of the one at which they entered; 0 if it is not said."""
    one_in: int | None
    """So many frames passed for each that was counted, as the exporter says it; None: it says nothing."""
    age_ms: int | None = None
    """How long before the datagram the flow began; None: it is not said."""


@dataclass(frozen=True)
class InterfaceCount:
    """Counters of an interface, since the device began; each wraps around at its number of bits."""

    interface: int
    in_frames: int
    in_bytes: int
    out_frames: int
    out_bytes: int


@dataclass(frozen=True)
class Exported:
    """A datagram of one exporter."""

    protocol: str
    """'sFlow 5', 'NetFlow 5', 'NetFlow 9' or 'IPFIX'."""
    domain: int
    """Number of the part of the device that exports: sub-agent, engine, source or observation domain."""
    sequence: int
    """Its number, as its protocol counts."""
    counted: int
    """By how much it brings the number forward: datagrams for sFlow and NetFlow 9, flows for NetFlow 5 and IPFIX."""
    flows: list[FlowCount] = field(default_factory=list)
    interfaces: list[InterfaceCount] = field(default_factory=list)
    unknown_sets: int = 0
    """Sets of records whose template has not come."""
