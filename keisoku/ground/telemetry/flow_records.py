"""NetFlow 5, NetFlow 9 (RFC 3954) and IPFIX (RFC 7011): records of flows, by templates that the exporter sends.

Scapy knows these formats, but no field of variable length, which Open vSwitch exports; it knows no sFlow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct, error

from keisoku.ground.telemetry.exported import Exported, FlowCount, NoExportError
from keisoku.ground.telemetry.flow_key import FlowKey

V5, V9, IPFIX = 5, 9, 10
PROTOCOLS = {V5: "NetFlow 5", V9: "NetFlow 9", IPFIX: "IPFIX"}
_HEADERS = {V5: Struct("!HHIIIIBBH"), V9: Struct("!HHIIII"), IPFIX: Struct("!HHIII")}
_RECORD_5 = Struct("!4s4s4sHHIIIIHHBBBBHHBBH")
_TEMPLATES = {V9: (0, 1), IPFIX: (2, 3)}
"""Numbers of the sets with templates, and with templates of options."""
_FIRST_DATA = 256
_VARIABLE = 0xFFFF
_WRAP = 1 << 32
_BYTES, _PACKETS, _PROTOCOL, _SOURCE_PORT, _SOURCE, _IN, _DESTINATION_PORT, _DESTINATION = 1, 2, 4, 7, 8, 10, 11, 12
_SOURCE_6, _DESTINATION_6 = 27, 28
_SAMPLED_INTERVAL, _SAMPLER_INTERVAL, _PACKET_INTERVAL, _PACKET_SPACE = 34, 50, 305, 306
_TOTAL_BYTES, _TOTAL_PACKETS = 85, 86
_BEGAN_UPTIME, _BEGAN_S, _BEGAN_MS = 22, 150, 152
"""Information elements of IANA's list; NetFlow 9 has the same numbers."""


@dataclass(frozen=True)
class _Field:
    element: int
    """0 for one of a company."""
    length: int


class RecordReader:
    """Reads the datagrams of one exporter in the order in which they came, and keeps its templates."""

    def __init__(self) -> None:
        self._templates: dict[tuple[int, int], list[_Field]] = {}
        self._options: set[tuple[int, int]] = set()
        self._one_in: dict[int, int] = {}
        self._totals: dict[tuple[int, FlowKey], tuple[int, int]] = {}

    def read(self, data: bytes) -> Exported:
        """What a datagram says. Raises NoExportError."""
        try:
            version = int.from_bytes(data[:2], "big")
            if version == V5:
                return _version_5(data)
            if version in _TEMPLATES:
                return self._by_templates(version, data)
        except error as problem:
            raise NoExportError(f"the datagram ends too early: {problem}") from problem
        raise NoExportError("it is neither sFlow 5, NetFlow 5, NetFlow 9 nor IPFIX")

    def _by_templates(self, version: int, data: bytes) -> Exported:
        head = _HEADERS[version].unpack_from(data)
        sequence, domain = head[-2:]
        end = min(head[1], len(data)) if version == IPFIX else len(data)
        found = Exported(PROTOCOLS[version], domain, sequence, 0)
        records, unknown = 0, 0
        for number, content in _sets(data[_HEADERS[version].size : end]):
            if number in _TEMPLATES[version]:
                self._learn(version, domain, content, number == _TEMPLATES[version][1])
            elif number >= _FIRST_DATA:
                key = domain, number
                if key not in self._templates:
                    unknown += 1
                    continue
                for record in _records(content, self._templates[key]):
                    records += 1
                    self._take(record, domain, found.flows, head, key in self._options)
        counted = records if version == IPFIX else 1
        return Exported(found.protocol, domain, sequence, counted, found.flows, unknown_sets=unknown)

    def _learn(self, version: int, domain: int, content: bytes, is_options: bool) -> None:
        at = 0
        while at + 4 <= len(content):
            number, count = Struct("!HH").unpack_from(content, at)
            if number < _FIRST_DATA:  # the filling
                return
            at += 4
            if is_options and version == V9:
                # Lengths of both parts in bytes, where IPFIX has numbers of fields.
                (options_bytes,) = Struct("!H").unpack_from(content, at)
                count = (count + options_bytes) // 4
                at += 2
            elif is_options and count:
                at += 2
            fields = []
            for place in range(count):
                element, length = Struct("!HH").unpack_from(content, at)
                at += 4
                if version == IPFIX and element & 0x8000:
                    at, element = at + 4, 0
                # Scopes of NetFlow 9 have numbers of their own.
                is_scope = is_options and version == V9 and place == 0
                fields.append(_Field(0 if is_scope else element, length))
            if at > len(content):
                raise NoExportError("a template is longer than its set")
            self._templates[domain, number] = fields
            if is_options:
                self._options.add((domain, number))

    def _take(
        self, record: dict[int, bytes], domain: int, flows: list[FlowCount], head: tuple[int, ...], is_options: bool
    ) -> None:
        value = {element: int.from_bytes(content, "big") for element, content in record.items() if len(content) <= 8}
        if (one_in := _one_in(value)) is not None and is_options:
            self._one_in[domain] = one_in
        if is_options:
            return
        key = _key(record, value)
        frames, bytes_ = value.get(_PACKETS), value.get(_BYTES)
        if frames is None and _TOTAL_PACKETS in value and key is not None:
            before = self._totals.get((domain, key), (0, 0))
            total = value[_TOTAL_PACKETS], value.get(_TOTAL_BYTES, 0)
            self._totals[domain, key] = total
            # A flow that began anew counts from zero.
            frames, bytes_ = (new - old if new >= old else new for new, old in zip(total, before, strict=True))
        if frames is not None:
            said = one_in if one_in is not None else self._one_in.get(domain)
            flows.append(FlowCount(key, frames, bytes_ or 0, value.get(_IN, 0), said, _age_ms(value, head)))


def _version_5(data: bytes) -> Exported:
    head = _HEADERS[V5].unpack_from(data)
    count, sequence, engine, sampling = head[1], head[5], head[6] << 8 | head[7], head[8]
    # The two bits above say how it samples; 0: it counts all packets.
    one_in = sampling & 0x3FFF or 1
    flows = []
    for place in range(count):
        record = _RECORD_5.unpack_from(data, _HEADERS[V5].size + place * _RECORD_5.size)
        key = FlowKey(record[0], record[1], record[13], record[9], record[10])
        flows.append(FlowCount(key, record[5], record[6], record[3], one_in, (head[2] - record[7]) % _WRAP))
    return Exported(PROTOCOLS[V5], engine, sequence, count, flows)


def _sets(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        number, length = Struct("!HH").unpack_from(data, at)
        if length < 4 or at + length > len(data):
            raise NoExportError("a set is longer than the datagram, or shorter than its own header")
        yield number, data[at + 4 : at + length]
        at += length


def _records(data: bytes, fields: list[_Field]) -> Iterator[dict[int, bytes]]:
    least = sum(1 if field.length == _VARIABLE else field.length for field in fields)
    at = 0
    while least and at + least <= len(data):
        record = {}
        for field in fields:
            length = field.length
            if length == _VARIABLE:
                length, at = data[at] if at < len(data) else 0, at + 1
                if length == 0xFF:
                    length, at = int.from_bytes(data[at : at + 2], "big"), at + 2
            if field.element:
                record[field.element] = data[at : at + length]
            at += length
        if at > len(data):
            raise NoExportError("a record is longer than its set")
        yield record


def _key(record: dict[int, bytes], value: dict[int, int]) -> FlowKey | None:
    source = record.get(_SOURCE) or record.get(_SOURCE_6)
    destination = record.get(_DESTINATION) or record.get(_DESTINATION_6)
    if source is None or destination is None or _PROTOCOL not in value:
        return None
    return FlowKey(source, destination, value[_PROTOCOL], value.get(_SOURCE_PORT, 0), value.get(_DESTINATION_PORT, 0))


def _age_ms(value: dict[int, int], head: tuple[int, ...]) -> int | None:
    """How long before this datagram a flow began, by the exporter's clock."""
    if head[0] == V9:
        return (head[2] - value[_BEGAN_UPTIME]) % _WRAP if _BEGAN_UPTIME in value else None
    if _BEGAN_MS in value:
        return head[2] * 1000 - value[_BEGAN_MS]
    return (head[2] - value[_BEGAN_S]) * 1000 if _BEGAN_S in value else None


def _one_in(value: dict[int, int]) -> int | None:
    """So many packets passed for each that is counted, as options or a record say it."""
    if sampled := value.get(_PACKET_INTERVAL):
        return (sampled + value.get(_PACKET_SPACE, 0)) // sampled
    return value.get(_SAMPLED_INTERVAL) or value.get(_SAMPLER_INTERVAL) or None
