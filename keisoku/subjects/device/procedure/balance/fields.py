"""Header fields by which a device may tell flows apart: those that a stack of headers has, and values for flows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from keisoku.errors import PlanError
from keisoku.ground.frame import field as header_field
from keisoku.ground.frame.field_bits import name_parts
from keisoku.ground.frame.headers import Headers, unaddressed
from keisoku.ground.frame.modifier import target_of
from keisoku.ground.frame.stack import parse
from keisoku.language import phrase
from keisoku.subjects.device.procedure.balance.settings import BalanceSettings, network

_MACS = 0x02_6B_62_00_00_00, 0x02_6B_62_FF_FF_FF
"""Locally administered."""
_PORTS = 1024, 65_535
_SOURCES = {"IP": "198.18.192.0/18", "IPv6": "2001:2:0:ffff::/64"}
"""Of the blocks for benchmarks (RFC 2544 appendix C.2.2, RFC 5180 §8), apart from what a lab's ports have."""
_DSCP_STEP = 4
"""The two bits of ECN stay zero: a device may drop or mark by them."""
_TITLES = {
    "Ether.src": phrase("source MAC address"),
    "IP.src": phrase("source IPv4 address"),
    "IP.dst": phrase("destination IPv4 address"),
    "IP.tos": phrase("DSCP of IPv4"),
    "IPv6.src": phrase("source IPv6 address"),
    "IPv6.dst": phrase("destination IPv6 address"),
    "IPv6.tc": phrase("DSCP of IPv6"),
    "IPv6.fl": phrase("IPv6 flow label"),
    "UDP.sport": phrase("UDP source port"),
    "UDP.dport": phrase("UDP destination port"),
    "TCP.sport": phrase("TCP source port"),
    "TCP.dport": phrase("TCP destination port"),
}
"""What people call the fields; others are known by their names."""
_CLASSES = ("tos", "tc")


@dataclass(frozen=True)
class HashField:
    """A field that may decide, with the range of its values as numbers."""

    name: str
    """As a modifier has it: 'UDP[2].sport'."""
    first: int
    last: int
    step: int = 1

    @property
    def title(self) -> str:
        """What people call it."""
        layer, _, field = name_parts(self.name)
        title = _TITLES.get(f"{layer}.{field}")
        if title is None:
            return self.name
        return phrase("inner {field}", field=title) if "[" in self.name else title

    @property
    def is_usual(self) -> bool:
        """Whether flows differ by it unless other fields are named: a class of traffic may change how a frame fares."""
        return not self.name.endswith(_CLASSES)

    def modifier(self, count: int, seed: str) -> str:
        """As many values as flows, in the words of a modifier: different ones as long as there are enough."""
        source, whole = random.Random(f"{seed} {self.name}"), self.values()
        if count > whole:
            places = [source.randrange(whole) for _ in range(count)]
        else:
            # Not `sample`, which takes no range as large as a network of IPv6.
            drawn: dict[int, None] = {}
            while len(drawn) < count:
                drawn[source.randrange(whole)] = None
            places = list(drawn)
        return self._written([self.first + self.step * place for place in places])

    def constant(self, count: int) -> str:
        """The same value for all flows."""
        return self._written([self.first] * count)

    def values(self) -> int:
        """How many it has."""
        return (self.last - self.first) // self.step + 1

    def _written(self, numbers: Sequence[int]) -> str:
        if ".src" in self.name or ".dst" in self.name:
            kind = name_parts(self.name)[0]
            written = [_address(kind, number) for number in numbers]
        else:
            written = [str(number) for number in numbers]
        return f"{self.name}=list({', '.join(written)})"


def _address(layer: str, number: int) -> str:
    if layer == "IP":
        return str(IPv4Address(number))
    return str(IPv6Address(number)) if layer == "IPv6" else number.to_bytes(6, "big").hex(":")


def hash_fields(stack: str, settings: BalanceSettings) -> list[HashField]:
    """Those of a stack that a device may hash: as settings name them, else the addresses, ports, classes and the flow
    label of all its layers, from the outermost.

    The destination MAC address leads to the device, an outer destination port says what is inside, and a destination
    address leads to the members: these vary where they are asked for only, and the last needs a network behind them.
    Raises PlanError for a field that the headers do not have, or that has no range.
    """
    headers = unaddressed(parse(stack))
    if settings.varied:
        return [_named(name, headers, settings) for name in settings.varied]
    kinds = [type(layer).__name__ for layer in headers.layers]
    whole, seen = Counter(kinds), Counter[str]()
    found: list[HashField] = []
    for kind in kinds:
        seen[kind] += 1
        layer = kind if seen[kind] == 1 else f"{kind}[{seen[kind]}]"
        is_last = seen[kind] == whole[kind]
        if kind in ("Ether", "InnerEthernet"):
            found.append(HashField(f"{layer}.src", *_MACS))
        elif kind in _SOURCES:
            found.append(_of_network(f"{layer}.src", settings.sources or _SOURCES[kind], kind))
            if is_last and settings.destinations:
                found.append(_of_network(f"{layer}.dst", settings.destinations, kind))
            if kind == "IPv6":
                found += [HashField(f"{layer}.tc", 0, 252, _DSCP_STEP), HashField(f"{layer}.fl", 1, (1 << 20) - 1)]
            else:
                found.append(HashField(f"{layer}.tos", 0, 252, _DSCP_STEP))
        elif kind in ("UDP", "TCP"):
            found.append(HashField(f"{layer}.sport", *_PORTS))
            if is_last:
                found.append(HashField(f"{layer}.dport", *_PORTS))
    if not any(field.is_usual for field in found):
        raise PlanError("headers", f"{stack} has no field that a device could hash", "use other headers")
    return found


def _named(name: str, headers: Headers, settings: BalanceSettings) -> HashField:
    layer, number, field = name_parts(name)
    target = target_of(layer, number, field, headers)
    described = header_field.plain(target.layer.get_field(field), target.layer)
    kind = header_field.kind(described)
    if kind in ("IPv4", "IPv6"):
        given = settings.sources or _SOURCES[layer] if field == "src" else settings.destinations
        if not given:
            problem = f"{name} leads to the members, and no network behind them is known"
            raise PlanError("balance.destinations", problem, "give that network, or leave the field out")
        return _of_network(name, given, layer)
    if kind == "MAC":
        return HashField(name, *_MACS)
    if kind != "number":
        raise PlanError("balance.vary", f"{name} is neither a number nor an address", "name another field")
    if field in _CLASSES:
        return HashField(name, 0, 252, _DSCP_STEP)
    if field in ("sport", "dport"):
        return HashField(name, *_PORTS)
    return HashField(name, 0, (1 << header_field.width_bits(described, target.layer)) - 1)


def _of_network(name: str, text: str, kind: str) -> HashField:
    """Its hosts' addresses, without the first and the last one."""
    found = network("balance.sources" if name.endswith("src") else "balance.destinations", text)
    if (found.version == 4) != (kind == "IP"):
        field = "sources" if name.endswith("src") else "destinations"
        raise PlanError(f"balance.{field}", f"{text} is of another version than {name}", "give one of its version")
    first, last = int(found.network_address), int(found.broadcast_address)
    return HashField(name, first + (last - first > 1), last - (last - first > 1))
