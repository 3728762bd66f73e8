"""Whether the checksums and lengths of headers are right, and how they become right. Bytes only.

The payload of every test frame sums to zero in ones' complement, so that a checksum over it needs the headers alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.frame.dissection import Layer
from keisoku.ground.frame.payload import ones_complement_sum

_TRANSPORTS = {"UDP": 17, "TCP": 6, "ICMPv6": 58}
_LENGTHS = {"IP": ("len", 0), "IPv6": ("plen", 40), "UDP": ("len", 0)}
"""The field of a header that says how long the packet is, and how many bytes of the header do not count."""


def state(frame: bytes, layers: Sequence[Layer], place: int, end: int, payload_bytes: int) -> str | None:
    """Of the checksum of the layer at `place`: 'right', 'wrong' or 'zero' (none was computed); None if it has none or
    if it cannot be known. The headers end at byte `end`, and so many bytes of payload follow."""
    layer = layers[place]
    field = layer.field("chksum")
    if field is None:
        return None
    value = field.read(frame)
    if layer.name == "UDP" and value == 0:
        return "zero"
    covered = _covered(frame, layers, place, end, payload_bytes)
    if covered is None:
        return None
    return "right" if ones_complement_sum(covered) in (0, 0xFFFF) else "wrong"


def corrected(frame: bytearray, layers: Sequence[Layer], place: int, end: int, payload_bytes: int) -> None:
    """Writes the right checksum into the layer at `place`, unless it has none or UDP's is not used."""
    field = layers[place].field("chksum")
    if field is None or state(bytes(frame), layers, place, end, payload_bytes) in (None, "zero"):
        return
    field.write(frame, 0)
    covered = _covered(bytes(frame), layers, place, end, payload_bytes)
    if covered is None:
        return
    value = 0xFFFF - ones_complement_sum(covered) % 0xFFFF
    field.write(frame, value % 0xFFFF or (0xFFFF if layers[place].name == "UDP" else 0))


def length_is_right(frame: bytes, layer: Layer, frame_bytes: int) -> bool | None:
    """Whether a header's own length agrees with that of the frame; None if it has none."""
    named = _LENGTHS.get(layer.name)
    field = named and layer.field(named[0])
    if not named or field is None:
        return None
    return layer.start + named[1] + field.read(frame) == frame_bytes


def length_field(layer: Layer) -> str | None:
    """The name of the field with the length of the packet."""
    named = _LENGTHS.get(layer.name)
    return named and named[0]


def _covered(frame: bytes, layers: Sequence[Layer], place: int, end: int, payload_bytes: int) -> bytes | None:
    """What the checksum sums up, without the payload."""
    layer = layers[place]
    if layer.name == "IP":
        return frame[layer.start : layer.end]
    if layer.name == "ICMP":
        return frame[layer.start : end]
    protocol = _TRANSPORTS.get(layer.name)
    network = next((each for each in reversed(layers[:place]) if each.name in ("IP", "IPv6")), None)
    if protocol is None or network is None:
        return None
    more, offset = network.field("flags"), network.field("frag")
    if more and offset and (more.read(frame) & 1 or offset.read(frame)):
        return None
    if any(each.name == "IPv6ExtHdrFragment" for each in layers[:place]):
        return None
    addresses = [field for field in (network.field("src"), network.field("dst")) if field]
    ends = b"".join(field.read(frame).to_bytes(field.width // 8, "big") for field in addresses)
    length = end - layer.start + payload_bytes
    return ends + length.to_bytes(4, "big") + protocol.to_bytes(4, "big") + frame[layer.start : end]
