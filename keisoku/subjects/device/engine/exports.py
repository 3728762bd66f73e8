"""Reads what a device exported during a trial, and finds the stream of each count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from keisoku.ground.frame.variants import Frames
from keisoku.ground.telemetry.exported import Exported, NoExportError
from keisoku.ground.telemetry.flow_key import FlowKey, flow_header
from keisoku.ground.telemetry.flow_records import RecordReader
from keisoku.ground.telemetry.sflow import VERSION, sflow
from keisoku.subjects.device.record.exports import Exporter, Exports, FlowCounts, InterfaceCounts

_WRAP = 1 << 32
"""Sequence numbers of all protocols have 32 bits."""
_CLOCK_NS = 2_000_000_000
"""By so much the moment at which a flow began may be wrong: some exporters say it in whole seconds."""


@dataclass(frozen=True)
class Datagram:
    """As it arrived."""

    at_ns: int
    """Since the first frame was due."""
    address: str
    data: bytes


@dataclass
class _Source:
    """One exporter, and how its sequence numbers went."""

    number: int
    datagrams: int = 0
    unknown_sets: int = 0
    sequences: list[tuple[int, int]] = field(default_factory=list)
    """Number of each datagram, and by how much it brings the number forward."""

    def missing(self) -> int:
        """What is not there of all numbers between the lowest and the highest; datagrams may overtake each other.

        A number is that of the first flow in the datagram (RFC 7011 §3.1), or of the last: Open vSwitch's NetFlow and
        softflowd's IPFIX have that. What is missing by both is missing.
        """
        if not self.sequences:
            return 0
        first = self.sequences[0][0]
        places = sorted(
            ((number - first + _WRAP // 2) % _WRAP - _WRAP // 2, counted) for number, counted in self.sequences
        )
        counts = [counted for _, counted in places]
        grown = places[-1][0] - places[0][0]
        return max(0, grown - max(sum(counts[:-1]), sum(counts[1:])))


def read_exports(
    datagrams: Iterable[Datagram],
    tables: Sequence[Frames],
    readers: dict[str, RecordReader],
    tester_dropped: int = 0,
) -> Exports:
    """The counts of all datagrams in the order in which they came; `tables` are the frames of each stream, and
    `readers` know the templates of each address from what came before."""
    streams, ip_at = _flows_of(tables)
    sources: dict[tuple[str, str, int], _Source] = {}
    flows, interfaces, unread = [], [], 0
    for datagram in datagrams:
        try:
            said = _read(datagram, readers)
        except NoExportError:
            unread += 1
            continue
        source = sources.setdefault((said.protocol, datagram.address, said.domain), _Source(len(sources)))
        source.datagrams += 1
        source.unknown_sets += said.unknown_sets
        source.sequences.append((said.sequence, said.counted))
        for flow in said.flows:
            stream = -1 if flow.key is None else streams.get(flow.key, -1)
            where = source.number, stream, datagram.at_ns, flow.interface
            is_older = flow.age_ms is not None and datagram.at_ns - flow.age_ms * 1_000_000 < -_CLOCK_NS
            flows.append((*where, flow.one_in or 0, flow.frames, flow.bytes_, int(is_older)))
        for one in said.interfaces:
            counts = one.in_frames, one.in_bytes, one.out_frames, one.out_bytes
            interfaces.append((source.number, one.interface, datagram.at_ns, *counts))
    exporters = [
        Exporter(
            protocol=protocol,
            address=address,
            domain=domain,
            datagrams=source.datagrams,
            missing=source.missing(),
            unknown_sets=source.unknown_sets,
        )
        for (protocol, address, domain), source in sources.items()
    ]
    return Exports(
        exporters=tuple(exporters),
        flows=FlowCounts(flows),
        interfaces=InterfaceCounts(interfaces),
        unread=unread,
        tester_dropped=tester_dropped,
        ip_at_bytes=ip_at,
    )


def _flows_of(tables: Sequence[Frames]) -> tuple[dict[FlowKey, int], int | None]:
    """The stream of each flow, and where the IP header begins. A flow that several streams have is of none: what is
    exported of it belongs to all of them."""
    found: dict[FlowKey, int] = {}
    places = set()
    for stream, frames in enumerate(tables):
        for number in range(frames.count):
            if (frame := flow_header(frames.frame(number))) is not None:
                places.add(frame.ip_at)
                found[frame.key] = stream if found.setdefault(frame.key, stream) == stream else -1
            else:
                places.add(-1)
    (place,) = places if len(places) == 1 else (-1,)
    return found, None if place < 0 else place


def _read(datagram: Datagram, readers: dict[str, RecordReader]) -> Exported:
    if datagram.data[:4] == VERSION.to_bytes(4, "big"):
        return sflow(datagram.data)
    return readers.setdefault(datagram.address, RecordReader()).read(datagram.data)
