"""What a device exported about the frames of a trial (sFlow, NetFlow, IPFIX). Holds facts only; never computes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.packed_rows import PackedRows


class Exporting(Frozen):
    """Where a device sends its exports, and for how long they are awaited."""

    at: str = ""
    """Address and UDP port, a network namespace behind '@'; empty: where the device of the lab sends them."""
    before_ns: int = Field(0, ge=0)
    """Before the load."""
    after_ns: int = Field(0, ge=0)
    """After all frames have arrived, or did not."""


class FlowCounts(PackedRows):
    """A row for each sampled frame or record: index of the exporter, index of the stream (-1: none of the trial's),
    arrival of the datagram in ns since the first frame was due, SNMP index of the interface (0: not said), so many
    frames passed for each that is counted (0: not said), frames, bytes, and 1 if the flow began before the trial, else
    0."""

    columns = 8


class InterfaceCounts(PackedRows):
    """A row for each reading of an interface's counters: index of the exporter, SNMP index of the interface, arrival in
    ns since the first frame was due, frames and bytes in, and out."""

    columns = 7


class Exporter(BaseModel):
    """A part of the device that exports."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    protocol: str
    """'sFlow 5', 'NetFlow 5', 'NetFlow 9' or 'IPFIX'."""
    address: str
    """From which its datagrams came."""
    domain: int = 0
    datagrams: int = 0
    missing: int = 0
    """Datagrams, or flows for NetFlow 5 and IPFIX, that its sequence numbers show to be missing."""
    unknown_sets: int = 0
    """Sets of records whose template had not come."""


class Exports(BaseModel):
    """What came during a trial."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    exporters: tuple[Exporter, ...] = ()
    flows: FlowCounts = FlowCounts()
    interfaces: InterfaceCounts = InterfaceCounts()
    unread: int = 0
    """Datagrams that are not what their format says."""
    tester_dropped: int = 0
    """Datagrams for which the tester's own socket had no room."""
    ip_at_bytes: int | None = None
    """Where the IP header begins in the trial's frames; None: they have none, or not all the same."""
