"""The headers of an OTG flow as a stack in keisoku's notation, with the fields that vary. Builds no frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from keisoku.faces.otg.flow.header_fields import CONTROL_FRAMES, KINDS, HeaderKind
from keisoku.faces.otg.flow.pattern import Values, values
from keisoku.faces.otg.reading.node import Node

ETHERNET_BYTES = 14
NO_PAUSE = "received pause frames hold no traffic back"


@dataclass(frozen=True)
class Layer:
    """One header: literal values and modifiers by Scapy's field; keisoku fills the other fields."""

    name: str
    path: str
    given: dict[str, int | str | bytes]
    varied: dict[str, str]
    absent: frozenset[str] = frozenset()
    """Addresses that the script does not set; `given` has OTG's default for them."""
    patterns: dict[str, Values] = field(default_factory=dict)
    """Patterns that vary or are tagged, by Scapy's field."""

    def text(self) -> str:
        """The header in the stack's notation."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    def filled(self, kind: str, **addresses: Sequence[str]) -> Layer:
        """The header with these values, of a kind of `Values`, in place of those that the script does not set."""
        own = {name: each for name, each in addresses.items() if each and name in self.absent}
        given = {name: value for name, value in self.given.items() if name not in own}
        varied = {name: Values.written(each, kind).modifier() for name, each in own.items() if len(each) > 1}
        one = {name: each[0] for name, each in own.items() if len(each) == 1}
        return replace(self, given=given | one, varied=self.varied | varied, absent=self.absent - own.keys())


@dataclass(frozen=True)
class Packet:
    """All headers of a flow, from the outermost."""

    layers: tuple[Layer, ...]

    @property
    def headers(self) -> str:
        """The stack in Scapy's notation."""
        return "/".join(layer.text() for layer in self.layers)

    @property
    def is_addressed(self) -> bool:
        """Whether the script itself says where the frames go, by the outermost IP header, else by Ethernet."""
        outer = next((layer for layer in self.layers if layer.name in ("IP", "IPv6")), self.layers[0])
        return "dst" not in outer.absent

    @property
    def modify(self) -> tuple[str, ...]:
        """The modifiers, each naming its layer by name and number."""
        found = []
        for place, layer in enumerate(self.layers):
            number = sum(other.name == layer.name for other in self.layers[: place + 1])
            name = layer.name if number == 1 else f"{layer.name}[{number}]"
            found += [f"{name}.{field}={function}" for field, function in layer.varied.items()]
        return tuple(found)

    def filled(
        self, source_mac: str, next_hop_mac: str | None, source_ips: Sequence[str], destination_ips: Sequence[str]
    ) -> Packet:
        """For a flow between devices: their addresses where the script gives none, in the outermost headers only."""
        ethernet, *rest = self.layers
        macs = {"src": (source_mac,), "dst": () if next_hop_mac is None else (next_hop_mac,)}
        ips = {"src": source_ips, "dst": destination_ips}
        first_ip = next((place for place, layer in enumerate(rest) if layer.name in ("IP", "IPv6")), None)
        kind = {"IP": "ipv4", "IPv6": "ipv6"}.get("" if first_ip is None else rest[first_ip].name)
        if first_ip is not None and kind and source_ips and (":" in source_ips[0]) == (kind == "ipv6"):
            rest[first_ip] = rest[first_ip].filled(kind, **ips)
        return Packet((ethernet.filled("mac", **macs), *rest))


def packet(flow: Node, payload_start: bytes = b"", version: int | None = None) -> Packet:
    """The headers of a flow, and what the payload is to begin with. If it names none, an Ethernet header (OTG's
    default), and one of IP where both ends have addresses of this version, because no router forwards it without.

    Raises PlanError, with the path, for headers and fields that keisoku cannot send.
    """
    nodes = flow.children("packet")
    kinds = [str(node.choice()) for node in nodes]
    found: list[Layer] = []
    for node, kind, following in zip(nodes, kinds, [*kinds, ""][1:], strict=True):
        if kind == "custom":
            found += _custom(node, first=not found)
        elif kind in CONTROL_FRAMES:
            found += _control(node.child(kind), kind, first=not found)
        elif kind in KINDS:
            layer = _layer(node.child(kind), KINDS[kind], kind, following)
            # As other implementations of the API send it, because scripts expect its length.
            tunnelled = layer.name == "Ether" and found and found[-1].name == "VXLAN"
            found.append(replace(layer, name="InnerEther") if tunnelled else layer)
        else:
            known = ", ".join([*KINDS, *CONTROL_FRAMES])
            node.refuse(f"the header {kind} is not supported", f"use {known} or custom", kind)
    if not found:
        unset = frozenset({"src", "dst"})
        found = [Layer("Ether", flow.path, {"src": "00:00:00:00:00:00"}, {}, unset)]
        if version is not None:
            name, none = ("IP", "0.0.0.0") if version == 4 else ("IPv6", "::")
            found.append(Layer(name, flow.path, {"src": none, "dst": none}, {}, unset))
    if found[0].name != "Ether":
        nodes[0].refuse(f"a frame begins with Ethernet, not with {kinds[0]}", "put an ethernet header first")
    if payload_start:
        found.append(Layer("Raw", flow.path, {"load": payload_start}, {}))
    return Packet(tuple(found))


def _control(node: Node, kind: str, first: bool) -> list[Layer]:
    if not first:
        node.refuse("brings an Ethernet header of its own", "put no header before it")
    macs = {name: _single(node.child(name)).fixed or "" for name in ("dst", "src")}
    fields = [_one(node.child(name)).to_bytes(width, "big") for name, width in CONTROL_FRAMES[kind]]
    ethernet = Layer("Ether", node.path, {**macs, "type": _one(node.child("ether_type"))}, {})
    return [ethernet, Layer("Raw", node.path, {"load": b"".join(fields)}, {})]


def _custom(node: Node, first: bool) -> list[Layer]:
    custom = node.child("custom")
    text = str(custom.scalar("bytes"))
    digits = text.removeprefix("0x").removeprefix("0X").replace(":", "").replace(" ", "")
    if len(digits) % 2:
        custom.refuse("ends with half a byte", "give two digits for each byte", "bytes")
    try:
        octets = bytes.fromhex(digits)
    except ValueError:
        custom.refuse("is not hexadecimal", "write it as 0A0B0C", "bytes")
    if not first:
        return [Layer("Raw", node.path, {"load": octets}, {})]
    if len(octets) < ETHERNET_BYTES:
        custom.refuse("is shorter than an Ethernet header", f"give {ETHERNET_BYTES} bytes or more", "bytes")
    return written(octets, node.path)


def written(octets: bytes, path: str) -> list[Layer]:
    """The layers of a frame that is written byte by byte from its Ethernet header on, which it has whole."""
    macs = {"dst": octets[:6].hex(":"), "src": octets[6:12].hex(":")}
    ethernet = Layer("Ether", path, {**macs, "type": int.from_bytes(octets[12:14], "big")}, {})
    rest = octets[ETHERNET_BYTES:]
    return [ethernet, Layer("Raw", path, {"load": rest}, {})] if rest else [ethernet]


def _layer(outer: Node, kind: HeaderKind, name: str, following: str) -> Layer:
    node = outer
    if kind.inside is not None:
        outer.choice()
        node = outer.child(kind.inside)
    given: dict[str, int | str | bytes] = {}
    varied: dict[str, str] = {}
    absent = set()
    patterns: dict[str, Values] = {}
    for otg_name, scapy_name in kind.fields.items():
        if not node.has(otg_name) and otg_name in ("src", "dst"):
            absent.add(scapy_name)
        if not node.has(otg_name) and otg_name in kind.computed:
            continue
        found = values(node.child(otg_name))
        if found is None:
            if otg_name in ("src", "dst"):
                absent.add(scapy_name)
            continue
        if otg_name == "tpid" and found.fixed == 0xFFFF:
            continue
        if found.fixed is None:
            varied[scapy_name] = found.modifier()
        else:
            given[scapy_name] = found.fixed
        if found.fixed is None or found.tags:
            patterns[scapy_name] = found
    for otg_name, value in kind.fixed.items():
        if node.has(otg_name) and _one(node.child(otg_name)) != value:
            node.refuse(f"keisoku only sends {value}", "leave it out", otg_name)
    if kind.of_pauses is not None:
        node.without_effect(kind.of_pauses, NO_PAUSE)
    if kind.bits is not None:
        field, names = kind.bits
        given[field] = sum(_one(node.child(each)) << place for place, each in enumerate(reversed(names)))
    if kind.checksum is not None:
        given |= _checksum(node.child(kind.checksum[0]), kind.checksum[1])
    if name == "ipv4":
        _priority(node.child("priority"), given, varied, patterns)
    if name == "mpls" and "s" not in given and "s" not in varied:
        given["s"] = 0 if following == "mpls" else 1
    return Layer(kind.layer, node.path, given, varied, frozenset(absent), patterns)


def _one(node: Node) -> int:
    """The number of a pattern that must not vary."""
    return _single(node).numbers[0]


def _single(node: Node) -> Values:
    """A pattern that must not vary."""
    found = values(node)
    if found is None or found.fixed is None:
        node.refuse("keisoku does not vary this field", "give one value")
    if found.tags:
        node.refuse("keisoku keeps no metrics by this field", "leave the tags out", "metric_tags")
    return found


def _checksum(node: Node, field: str) -> dict[str, int]:
    match node.choice():
        case "custom":
            return {field: int(node.scalar("custom"))}
        case _:
            if node.scalar("generated") == "bad":
                node.refuse("keisoku does not choose a wrong checksum itself", "give one as custom", "generated")
            return {}


def _priority(
    node: Node, given: dict[str, int | str | bytes], varied: dict[str, str], patterns: dict[str, Values]
) -> None:
    """The second octet of IPv4: raw, or from DSCP and ECN, or from RFC 1349's flags."""
    match node.choice():
        case "raw":
            found = values(node.child("raw"))
        case "dscp":
            dscp = node.child("dscp")
            phb, ecn = values(dscp.child("phb")), _one(dscp.child("ecn"))
            if phb is not None:
                # Bits of the code point are the upper ones of the octet.
                tags = tuple(replace(tag, field_bits=8) for tag in phb.tags)
                found = Values(tuple(number << 2 | ecn for number in phb.numbers), phb.kind, tags)
            else:
                found = None
        case _:
            tos = node.child("tos")
            flags = ("precedence", "delay", "throughput", "reliability", "monetary", "unused")
            whole = 0
            for flag in flags:
                whole = whole << (3 if flag == "precedence" else 1) | _one(tos.child(flag))
            found = Values((whole,), "uint32")
    if found is None:
        return
    if found.fixed is None:
        varied["tos"] = found.modifier()
    else:
        given["tos"] = found.fixed
    if found.fixed is None or found.tags:
        patterns["tos"] = found
