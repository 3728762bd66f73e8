"""What a script wants to know of the frames that arrive: bits of their headers, as `egress_packet` names them.

The engine counts every header that arrives; this file reads the tagged bits from one. It counts nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from keisoku.faces.otg.flow.header_fields import KINDS
from keisoku.faces.otg.flow.pattern import Tag, tags
from keisoku.faces.otg.flow.tag import TagKey
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.frame.dissection import Field, Layer, dissect
from keisoku.subjects.device.record.changes import Kind

_READABLE = ("ethernet", "vlan", "mpls", "ipv4", "ipv6", "udp", "tcp", "vxlan", "gre")
_OCTETS = ("tos", "tc")
"""Octets of DSCP and ECN, which are fields of their own in a header that was read."""
_SERVICE_TAG = "Dot1AD"


@dataclass(frozen=True)
class ArrivedTag:
    """Bits of a field in one of the headers, by its place among them."""

    place: int
    field: str
    tag: Tag


@dataclass(frozen=True)
class Egress:
    """The headers that are to arrive, from the outermost, and what is tagged in them."""

    layers: tuple[str, ...]
    tags: tuple[ArrivedTag, ...]

    def key(self, kind: Kind) -> TagKey | None:
        """The tags' values in frames that arrived; None if they have other headers, or if these were not kept."""
        if kind.front is None:
            return None
        front = bytes.fromhex(kind.front)
        layers = dissect(front)
        found = tuple("Dot1Q" if layer.name == _SERVICE_TAG else layer.name for layer in layers)
        if found[: len(self.layers)] != self.layers:
            return None
        return tuple((each.tag.name, each.tag.value(_field(layers, each).read(front))) for each in self.tags)


def egress(flow: Node) -> Egress | None:
    """What a flow's `egress_packet` tags; None if it tags nothing. The values of its fields play no part, as in OTG.

    Raises PlanError, with the path, for headers and fields that keisoku does not read from frames.
    """
    nodes = flow.children("egress_packet")
    layers, found = [], []
    for place, node in enumerate(nodes):
        kind = str(node.choice())
        if kind not in _READABLE:
            node.refuse(f"the header {kind} is not read from frames", f"use {', '.join(_READABLE)}", kind)
        header = node.child(kind)
        layers.append(KINDS[kind].layer)
        for name, field in KINDS[kind].fields.items():
            found += [ArrivedTag(place, field, tag) for tag in _tags(header.child(name))]
        if kind == "ipv4":
            found += [ArrivedTag(place, field, tag) for field, tag in _priority(header.child("priority"))]
    return Egress(tuple(layers), tuple(found)) if found else None


def _priority(node: Node) -> Iterator[tuple[str, Tag]]:
    choice = node.choice()
    if choice == "raw":
        yield from (("tos", tag) for tag in _tags(node.child("raw")))
    elif choice == "dscp":
        dscp = node.child("dscp")
        # Bits of the code point are the upper ones of the octet.
        yield from (("tos", replace(tag, field_bits=8)) for tag in _tags(dscp.child("phb")))
        yield from (("ecn", tag) for tag in _tags(dscp.child("ecn")))


def _tags(node: Node) -> tuple[Tag, ...]:
    for name in node.fields - {"metric_tags"}:
        node.without_effect(name)
    return tags(node)


def _field(layers: list[Layer], tag: ArrivedTag) -> Field:
    layer = layers[tag.place]
    found = layer.field("dscp" if tag.field in _OCTETS else tag.field)
    assert found is not None, "each field of KINDS is one of a header that was read"
    return replace(found, width=8) if tag.field in _OCTETS else found
