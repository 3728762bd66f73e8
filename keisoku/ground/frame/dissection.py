"""The headers of a frame, read from its bytes alone: which layers there are, and where each of their fields lies.

Names are Scapy's, but DSCP and ECN are fields of their own. Any bytes can be read: what is cut off or not known is one
layer `Raw`. Reads a header for each kind of frame, never for each frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, Protocol

Format = Literal["number", "hex", "mac", "ipv4", "ipv6"]

_MOST_LAYERS = 32
VXLAN_PORTS = (4789, 8472)
"""IANA's, and Linux's older default."""

_Shape = tuple[tuple[str, int, Format], ...]
"""Fields of a header in order, each with its width in bits."""

_ETHER: _Shape = (("dst", 48, "mac"), ("src", 48, "mac"), ("type", 16, "hex"))
_TAG: _Shape = (("prio", 3, "number"), ("dei", 1, "number"), ("vlan", 12, "number"), ("type", 16, "hex"))
_MPLS: _Shape = (("label", 20, "number"), ("cos", 3, "number"), ("s", 1, "number"), ("ttl", 8, "number"))
_IP: _Shape = (
    ("version", 4, "number"),
    ("ihl", 4, "number"),
    ("dscp", 6, "number"),
    ("ecn", 2, "number"),
    ("len", 16, "number"),
    ("id", 16, "number"),
    ("flags", 3, "number"),
    ("frag", 13, "number"),
    ("ttl", 8, "number"),
    ("proto", 8, "number"),
    ("chksum", 16, "hex"),
    ("src", 32, "ipv4"),
    ("dst", 32, "ipv4"),
)
_IPV6: _Shape = (
    ("version", 4, "number"),
    ("dscp", 6, "number"),
    ("ecn", 2, "number"),
    ("fl", 20, "number"),
    ("plen", 16, "number"),
    ("nh", 8, "number"),
    ("hlim", 8, "number"),
    ("src", 128, "ipv6"),
    ("dst", 128, "ipv6"),
)
_FRAGMENT: _Shape = (
    ("nh", 8, "number"),
    ("res1", 8, "number"),
    ("offset", 13, "number"),
    ("res2", 2, "number"),
    ("m", 1, "number"),
    ("id", 32, "number"),
)
_ROUTING: _Shape = (("nh", 8, "number"), ("len", 8, "number"), ("type", 8, "number"), ("segleft", 8, "number"))
_EXTENSION: _Shape = (("nh", 8, "number"), ("len", 8, "number"))
_UDP: _Shape = (("sport", 16, "number"), ("dport", 16, "number"), ("len", 16, "number"), ("chksum", 16, "hex"))
_TCP: _Shape = (
    ("sport", 16, "number"),
    ("dport", 16, "number"),
    ("seq", 32, "number"),
    ("ack", 32, "number"),
    ("dataofs", 4, "number"),
    ("reserved", 3, "number"),
    ("flags", 9, "hex"),
    ("window", 16, "number"),
    ("chksum", 16, "hex"),
    ("urgptr", 16, "number"),
)
_ICMP: _Shape = (("type", 8, "number"), ("code", 8, "number"), ("chksum", 16, "hex"), ("rest", 32, "hex"))
_GRE: _Shape = (("flags", 16, "hex"), ("proto", 16, "hex"))
_VXLAN: _Shape = (("flags", 8, "hex"), ("reserved1", 24, "hex"), ("vni", 24, "number"), ("reserved2", 8, "hex"))


@dataclass(frozen=True)
class Field:
    """A field and its place, in bits from the begin of the frame."""

    name: str
    at: int
    width: int
    format_: Format

    def read(self, frame: bytes) -> int:
        """Its value."""
        first, last = self.at // 8, (self.at + self.width + 7) // 8
        number = int.from_bytes(frame[first:last], "big")
        return number >> (last * 8 - self.at - self.width) & ((1 << self.width) - 1)

    def write(self, frame: bytearray, value: int) -> None:
        """Writes a value, of which only as many bits as the field has count."""
        first, last = self.at // 8, (self.at + self.width + 7) // 8
        below = last * 8 - self.at - self.width
        mask = (1 << self.width) - 1
        number = int.from_bytes(frame[first:last], "big") & ~(mask << below) | (value & mask) << below
        frame[first:last] = number.to_bytes(last - first, "big")

    def text(self, value: int) -> str:
        """The value as a user reads it."""
        match self.format_:
            case "mac":
                return value.to_bytes(6, "big").hex(":")
            case "ipv4":
                return str(IPv4Address(value))
            case "ipv6":
                return str(IPv6Address(value))
            case "hex":
                return f"0x{value:0{(self.width + 3) // 4}x}"
        return str(value)


@dataclass(frozen=True)
class Layer:
    """One header; `start` and `end` are bytes from the begin of the frame."""

    name: str
    start: int
    end: int
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """The field of this name, if the header has one."""
        return next((field for field in self.fields if field.name == name), None)

    def text(self, frame: bytes) -> str:
        """'Dot1Q(prio=0, dei=0, vlan=5)': the header without what follows from others."""
        implied = {"type", "proto", "nh", "len", "plen", "chksum", "version", "ihl", "dataofs"}
        shown = [f"{field.name}={field.text(field.read(frame))}" for field in self.fields if field.name not in implied]
        if self.name == RAW:
            shown = [frame[self.start : self.end].hex()]
        return f"{self.name}({', '.join(shown)})"


RAW = "Raw"


class _Next(Protocol):
    """Reads the header that begins at a byte, and tells what reads the next one; None if it is cut off."""

    def __call__(self, frame: bytes, at: int, /) -> tuple[Layer, _Next | None] | None: ...


def dissect(frame: bytes, end: int | None = None) -> list[Layer]:
    """The headers of a frame up to byte `end`, where the payload begins; what is left before it is `Raw`.

    Without `end` they are read as far as they are known, and nothing is said of what follows.
    """
    header = frame if end is None else frame[: max(0, end)]
    layers: list[Layer] = []
    at = 0
    following: _Next | None = _next("Ether", _ETHER)
    while following is not None and len(layers) < _MOST_LAYERS:
        found = following(header, at)
        if found is None:
            break
        layer, following = found
        layers.append(layer)
        at = layer.end
    if end is not None and at < len(header):
        layers.append(Layer(RAW, at, len(header), ()))
    return layers


def _next(name: str, shape: _Shape) -> _Next:
    return partial(_read, name, shape)


def _read(name: str, shape: _Shape, frame: bytes, at: int) -> tuple[Layer, _Next | None] | None:
    end = at + sum(width for _, width, _ in shape) // 8
    if end > len(frame):
        return None
    fields, bit = [], at * 8
    for field, width, format_ in shape:
        fields.append(Field(field, bit, width, format_))
        bit += width
    layer = Layer(name, at, end, tuple(fields))
    value = {field.name: field.read(frame) for field in fields}
    match name:
        case "Ether" | "Dot1Q" | "Dot1AD":
            return layer, _of_type(value["type"])
        case "MPLS":
            return layer, _next("MPLS", _MPLS) if not value["s"] else _of_version(frame, end)
        case "IP":
            return _ipv4(layer, value, frame)
        case "IPv6":
            return layer, _of_protocol(value["nh"], 6)
        case "TCP":
            return _tcp(layer, value, frame)
        case "UDP":
            return layer, _next("VXLAN", _VXLAN) if value["dport"] in VXLAN_PORTS else None
        case "VXLAN":
            return layer, _next("Ether", _ETHER)
        case "GRE":
            return _gre(layer, value, frame)
        case "IPv6ExtHdrFragment":
            return layer, None if value["offset"] else _of_protocol(value["nh"], 6)
        case "IPv6ExtHdrHopByHop" | "IPv6ExtHdrDestOpt" | "IPv6ExtHdrRouting":
            return _extension(layer, value, frame)
    return layer, None


def _ipv4(layer: Layer, value: dict[str, int], frame: bytes) -> tuple[Layer, _Next | None] | None:
    if value["version"] != 4 or value["ihl"] < 5:
        return None
    longer = _with_options(layer, 4 * value["ihl"], "options", frame)
    # Only the first fragment has the header of the transport.
    if longer is None:
        return None
    return longer, None if value["frag"] else _of_protocol(value["proto"], 4)


def _tcp(layer: Layer, value: dict[str, int], frame: bytes) -> tuple[Layer, _Next | None] | None:
    if value["dataofs"] < 5:
        return None
    longer = _with_options(layer, 4 * value["dataofs"], "options", frame)
    if longer is None:
        return None
    at = layer.end
    while at + 1 < longer.end and frame[at] != 0:
        kind, size = frame[at], 1 if frame[at] == 1 else frame[at + 1]
        if kind == 2 and size == 4 and at + 4 <= longer.end:
            mss = Field("mss", (at + 2) * 8, 16, "number")
            return Layer(longer.name, longer.start, longer.end, (*longer.fields, mss)), None
        at += max(1, size)
    return longer, None


def _gre(layer: Layer, value: dict[str, int], frame: bytes) -> tuple[Layer, _Next | None] | None:
    if value["flags"] & 0x7:
        return layer, None  # version 1 is PPTP's
    present = [bit for bit in (0x8000, 0x2000, 0x1000) if value["flags"] & bit]
    longer = _with_options(layer, 4 + 4 * len(present), "options", frame)
    if longer is None:
        return None
    protocol = value["proto"]
    return longer, _next("Ether", _ETHER) if protocol == 0x6558 else _of_type(protocol)


def _extension(layer: Layer, value: dict[str, int], frame: bytes) -> tuple[Layer, _Next | None] | None:
    longer = _with_options(layer, 8 + 8 * value["len"], "options", frame)
    return None if longer is None else (longer, _of_protocol(value["nh"], 6))


def _with_options(layer: Layer, length: int, name: str, frame: bytes) -> Layer | None:
    """The layer with its fixed fields and all bytes up to its length; None if they are cut off."""
    end = layer.start + length
    if end > len(frame):
        return None
    if end == layer.end:
        return layer
    options = Field(name, layer.end * 8, (end - layer.end) * 8, "hex")
    return Layer(layer.name, layer.start, end, (*layer.fields, options))


def _of_type(number: int) -> _Next | None:
    match number:
        case 0x0800:
            return _next("IP", _IP)
        case 0x86DD:
            return _ipv6
        case 0x8100:
            return _next("Dot1Q", _TAG)
        case 0x88A8:
            return _next("Dot1AD", _TAG)
        case 0x8847 | 0x8848:
            return _next("MPLS", _MPLS)
    return None


def _ipv6(frame: bytes, at: int) -> tuple[Layer, _Next | None] | None:
    return _read("IPv6", _IPV6, frame, at) if frame[at : at + 1] and frame[at] >> 4 == 6 else None


def _of_version(frame: bytes, at: int) -> _Next | None:
    """What follows the last label: its first four bits tell, as for routers."""
    version = frame[at] >> 4 if at < len(frame) else 0
    return {4: _next("IP", _IP), 6: _ipv6}.get(version)


def _of_protocol(number: int, version: int) -> _Next | None:
    match number:
        case 6:
            return _next("TCP", _TCP)
        case 17:
            return _next("UDP", _UDP)
        case 1 | 58:
            return _next("ICMP" if number == 1 else "ICMPv6", _ICMP)
        case 4:
            return _next("IP", _IP)
        case 41:
            return _ipv6
        case 47:
            return _next("GRE", _GRE)
    if version == 6:
        match number:
            case 0:
                return _next("IPv6ExtHdrHopByHop", _EXTENSION)
            case 43:
                return _next("IPv6ExtHdrRouting", _ROUTING)
            case 44:
                return _next("IPv6ExtHdrFragment", _FRAGMENT)
            case 60:
                return _next("IPv6ExtHdrDestOpt", _EXTENSION)
            case 143:
                return _next("Ether", _ETHER)
    return None
