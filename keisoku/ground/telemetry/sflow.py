"""sFlow version 5 (sflow.org, "sFlow Version 5", 2004): samples of frames, and counters of interfaces."""

from __future__ import annotations

from struct import Struct, error

from keisoku.ground.telemetry.exported import Exported, FlowCount, InterfaceCount, NoExportError
from keisoku.ground.telemetry.flow_key import flow_header

PROTOCOL = "sFlow 5"
VERSION = 5
_FLOW, _COUNTERS, _WIDE_FLOW, _WIDE_COUNTERS = 1, 2, 3, 4
"""Formats of samples of sflow.org; the wide ones have more bits for numbers of interfaces."""
_RAW_HEADER, _INTERFACE = 1, 1
_ETHERNET = 1
_INDEX = (1 << 30) - 1
"""Above these bits stands what kind of a place a number is of."""
_HEAD = {_FLOW: Struct("!8I"), _WIDE_FLOW: Struct("!11I"), _COUNTERS: Struct("!3I"), _WIDE_COUNTERS: Struct("!4I")}
_COUNTED = Struct("!IIQIIQ6IQ6I")


def sflow(data: bytes) -> Exported:
    """What a datagram says. Raises NoExportError."""
    try:
        return _datagram(data)
    except error as problem:
        raise NoExportError(f"the datagram ends too early: {problem}") from problem


def _datagram(data: bytes) -> Exported:
    version, address = Struct("!II").unpack_from(data)
    if version != VERSION or address not in (1, 2):
        raise NoExportError("it is not sFlow of version 5")
    at = 8 + (4 if address == 1 else 16)
    domain, sequence, _, samples = Struct("!4I").unpack_from(data, at)
    at += 16
    found = Exported(PROTOCOL, domain, sequence, 1)
    for _ in range(samples):
        kind, sample, at = _part(data, at)
        if kind in (_FLOW, _WIDE_FLOW):
            found.flows.extend(_flow_sample(kind, sample))
        elif kind in (_COUNTERS, _WIDE_COUNTERS):
            found.interfaces.extend(_counters_sample(kind, sample))
    return found


def _part(data: bytes, at: int) -> tuple[int, bytes, int]:
    """Format, content and end of what begins here; opaque data is filled up to words."""
    kind, length = Struct("!II").unpack_from(data, at)
    begin, end = at + 8, at + 8 + length
    if end > len(data):
        raise NoExportError("a sample is longer than the datagram")
    return kind, data[begin:end], begin + (length + 3) // 4 * 4


def _flow_sample(kind: int, data: bytes) -> list[FlowCount]:
    head = _HEAD[kind].unpack_from(data)
    one_in, records = head[2 if kind == _FLOW else 3], head[-1]
    interface = head[5] & _INDEX if kind == _FLOW else head[7]
    at = _HEAD[kind].size
    for _ in range(records):
        format_, record, at = _part(data, at)
        if format_ != _RAW_HEADER:
            continue
        protocol, length, _, size = Struct("!4I").unpack_from(record)
        frame = record[16 : 16 + size]
        found = flow_header(frame) if protocol == _ETHERNET else None
        return [FlowCount(None if found is None else found.key, 1, length, interface, one_in)]
    return [FlowCount(None, 1, 0, interface, one_in)]


def _counters_sample(kind: int, data: bytes) -> list[InterfaceCount]:
    found = []
    at = _HEAD[kind].size
    for _ in range(_HEAD[kind].unpack_from(data)[-1]):
        format_, record, at = _part(data, at)
        if format_ == _INTERFACE:
            counted = _COUNTED.unpack_from(record)
            found.append(
                InterfaceCount(
                    interface=counted[0],
                    in_bytes=counted[5],
                    in_frames=sum(counted[6:9]),
                    out_bytes=counted[12],
                    out_frames=sum(counted[13:16]),
                )
            )
    return found
