"""The filters of an OTG capture: which frames it contains, by bits at known positions.

A capture keeps every frame; frames that do not match are left out of the client's file. Several filters of a capture
must all match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.faces.otg.reading.node import Node

_TAGS = (0x8100, 0x88A8)
_ETHERNET_BYTES = 14
_VLAN_BYTES = 4
_TYPES = {"ipv4": 0x0800, "ipv6": 0x86DD}
# Positions in bits from the start of the header, and widths.
_FIELDS: dict[str, dict[str, tuple[int, int]]] = {
    "ethernet": {"dst": (0, 48), "src": (48, 48), "ether_type": (96, 16)},
    "vlan": {"priority": (0, 3), "cfi": (3, 1), "id": (4, 12), "protocol": (16, 16)},
    "ipv4": {
        "version": (0, 4),
        "header_length": (4, 4),
        "priority": (8, 8),
        "total_length": (16, 16),
        "identification": (32, 16),
        "reserved": (48, 1),
        "dont_fragment": (49, 1),
        "more_fragments": (50, 1),
        "fragment_offset": (51, 13),
        "time_to_live": (64, 8),
        "protocol": (72, 8),
        "header_checksum": (80, 16),
        "src": (96, 32),
        "dst": (128, 32),
    },
    "ipv6": {
        "version": (0, 4),
        "traffic_class": (4, 8),
        "flow_label": (12, 20),
        "payload_length": (32, 16),
        "next_header": (48, 8),
        "hop_limit": (56, 8),
        "src": (64, 128),
        "dst": (192, 128),
    },
}


@dataclass(frozen=True)
class BitFilter:
    """Some bits of a header, or of the frame: those of the mask must be the value's, or with `negate` must not."""

    header: str | None
    """None: the frame itself."""
    at_bits: int
    width_bits: int
    value: int
    mask: int
    negate: bool

    def wants(self, frame: bytes) -> bool:
        """Whether a frame, from its destination address on, matches; false if it has no such header or bits."""
        start = _start(self.header, frame)
        if start is None:
            return False
        first, last = start + self.at_bits // 8, start + (self.at_bits + self.width_bits + 7) // 8
        if last > len(frame):
            return False
        whole = int.from_bytes(frame[first:last], "big") >> -(self.at_bits + self.width_bits) % 8
        same = (whole & self.mask) == (self.value & self.mask)
        return same is not self.negate


def filters(document: Sequence[Node]) -> tuple[BitFilter, ...]:
    """The filters in a capture's `filters`. Raises PlanError, with the path, for filters that are not supported."""
    found: list[BitFilter] = []
    for node in document:
        choice = str(node.choice())
        inner = node.child(choice)
        if choice == "custom":
            found.append(_custom(inner))
            continue
        if choice == "ethernet" and inner.has("pfc_queue"):
            inner.refuse("is no field of a frame", "leave it out", "pfc_queue")
        for name, (at_bits, width_bits) in _FIELDS[choice].items():
            if inner.has(name):
                found.append(_field(inner.child(name), choice, at_bits, width_bits))
    return tuple(found)


def _custom(node: Node) -> BitFilter:
    if not node.has("offset"):
        node.refuse("is missing", "give the offset in bytes from the start of the frame", "offset")
    return _field(node, None, 8 * int(node.scalar("offset")), int(node.scalar("bit_length")))


def _field(node: Node, header: str | None, at_bits: int, width_bits: int) -> BitFilter:
    value, mask = (_number(node, name, width_bits) for name in ("value", "mask"))
    return BitFilter(header, at_bits, width_bits, value, mask, bool(node.scalar("negate")))


def _number(node: Node, name: str, width_bits: int) -> int:
    text = str(node.scalar(name))
    try:
        number = int(text.replace(":", ""), 16)
    except ValueError:
        node.refuse(f"'{text}' is not hexadecimal", "write it as 0800", name)
    if number < 0 or number >> width_bits:
        node.refuse(f"has more than {width_bits} bits", "use fewer", name)
    return number


def _start(header: str | None, frame: bytes) -> int | None:
    """Offset of a header in bytes: the first of its kind after Ethernet and its tags; None without one."""
    if header is None or header == "ethernet":
        return 0
    at = _ETHERNET_BYTES
    kind = int.from_bytes(frame[at - 2 : at], "big")
    if header == "vlan":
        return at if kind in _TAGS else None
    while kind in _TAGS and at + _VLAN_BYTES <= len(frame):
        at += _VLAN_BYTES
        kind = int.from_bytes(frame[at - 2 : at], "big")
    return at if kind == _TYPES[header] else None
