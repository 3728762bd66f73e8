"""The received frames of a port, from one of keisoku's captures (pcapng), as OTG's pcap or pcapng file.

OTG's captured frames include the FCS, which ports of a host do not deliver: it is computed here, for whole frames only.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keisoku.errors import EngineError

_SECTION, _INTERFACE, _ENHANCED = 0x0A0D0D0A, 1, 6
_ORDER = 0x1A2B3C4D
_FLAGS = 2
_INBOUND = 1
_NANOSECOND_PCAP = 0xA1B23C4D
_ETHERNET = 1
_SNAP_BYTES = 262_144
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Captured:
    """A frame; `time_ns` of CLOCK_REALTIME."""

    interface: int
    time_ns: int
    inbound: bool
    octets: bytes
    """The frame without FCS, perhaps cut."""
    length: int
    """Its length before it was cut."""


def frames(capture: bytes) -> Iterator[Captured]:
    """All frames of a little-endian pcapng file with stamps in ns, as the core writes it.

    A last block that is not complete ends it; raises EngineError for another kind of file.
    """
    if capture and (len(capture) < 12 or struct.unpack_from("<I", capture, 8)[0] != _ORDER):
        raise EngineError("the capture's file is not pcapng")
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if length < 12 or length % 4 or at + length > len(capture):
            return
        if kind == _ENHANCED:
            yield _frame(capture[at + 8 : at + length - 4])
        at += length


def received(
    capture: bytes, interface: int, as_pcapng: bool, wanted: Callable[[bytes], bool] = lambda frame: True
) -> bytes:
    """A file of the frames that arrived at one of its interfaces, by number, and that match."""
    inbound = (frame for frame in frames(capture) if frame.interface == interface and frame.inbound)
    own = [frame for frame in inbound if wanted(frame.octets)]
    return _pcapng(own) if as_pcapng else _pcap(own)


def _frame(body: bytes) -> Captured:
    interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
    octets = body[20 : 20 + kept]
    at = 20 + (kept + 3) // 4 * 4
    inbound = False
    while at + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, at)
        if code == 0:
            break
        if code == _FLAGS and size == 4:
            inbound = struct.unpack_from("<I", body, at + 4)[0] & 3 == _INBOUND
        at += 4 + (size + 3) // 4 * 4
    return Captured(interface, high << 32 | low, inbound, octets, length)


def _with_fcs(frame: Captured) -> tuple[bytes, int]:
    """IEEE 802.3 §3.2.9: CRC-32, in the order of transmission the least significant octet first."""
    if len(frame.octets) < frame.length:
        return frame.octets, frame.length + 4
    return frame.octets + struct.pack("<I", zlib.crc32(frame.octets)), frame.length + 4


def _pcap(found: list[Captured]) -> bytes:
    parts = [struct.pack("<IHHiIII", _NANOSECOND_PCAP, 2, 4, 0, 0, _SNAP_BYTES, _ETHERNET)]
    for frame in found:
        octets, length = _with_fcs(frame)
        seconds, rest_ns = divmod(frame.time_ns, _NS_PER_S)
        parts += [struct.pack("<IIII", seconds, rest_ns, len(octets), length), octets]
    return b"".join(parts)


def _pcapng(found: list[Captured]) -> bytes:
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    parts = [
        _block(_SECTION, struct.pack("<IHHq", _ORDER, 1, 0, -1)),
        _block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, _SNAP_BYTES) + resolution),
    ]
    for frame in found:
        octets, length = _with_fcs(frame)
        head = struct.pack("<IIIII", 0, frame.time_ns >> 32, frame.time_ns & 0xFFFFFFFF, len(octets), length)
        parts.append(_block(_ENHANCED, head + octets + bytes(-len(octets) % 4)))
    return b"".join(parts)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
