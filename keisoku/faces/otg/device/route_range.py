"""Ranges of routes that OTG's devices advertise: their prefixes, and the addresses that flows take of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import pairwise
from socket import inet_ntoa

from keisoku.faces.otg.reading.node import Node

MOST_ROUTES = 3_000_000
"""Largest number of routes of a configuration."""
MOST_HOSTS = 256
"""From so many prefixes of a range a flow takes an address: two fields that vary are then at most 65 280 frames."""
_BITS = {4: 32, 6: 128}


@dataclass(frozen=True)
class Prefixes:
    """Evenly spaced prefixes of one length."""

    version: int
    first: int
    length: int
    count: int
    step: int
    """From one to the next, in prefixes of that length."""

    def network(self, place: int) -> int:
        """The number of the first address of a prefix."""
        return self.first + place * (self.step << (_BITS[self.version] - self.length))

    @property
    def last(self) -> int:
        """The number of the first address of the last prefix."""
        return self.network(self.count - 1)

    def texts(self) -> Iterator[str]:
        """As 198.18.0.0/24."""
        for place in range(self.count):
            yield f"{_text(self.network(place), self.version)}/{self.length}"

    def host(self, place: int) -> str:
        """The first address in a prefix that a host can have."""
        return _text(self.network(place) + (_BITS[self.version] - self.length > 1), self.version)


def prefixes(node: Node, version: int) -> tuple[Prefixes, ...]:
    """The `addresses` of a range, which may have none. Raises PlanError for those that do not exist."""
    found = []
    for each in node.children("addresses"):
        length, count, step = (int(each.scalar(name)) for name in ("prefix", "count", "step"))
        bits = _BITS[version]
        if length > bits:
            each.refuse(f"an IPv{version} prefix has at most {bits} bits", f"give 0 to {bits}", "prefix")
        try:
            first = ip_address(each.scalar("address"))
        except ValueError as error:
            each.refuse(f"cannot be read: {error}", "correct it", "address")
        # As routers do, the bits behind the prefix are of no account.
        one = Prefixes(version, int(first) >> (bits - length) << (bits - length), length, count, step)
        if count > MOST_ROUTES:
            each.refuse(f"{count} routes are too many", f"use at most {MOST_ROUTES}", "count")
        if one.last >= 1 << bits:
            each.refuse("goes beyond the last address", "use fewer routes", "count")
        found.append(one)
    return tuple(found)


def some_prefixes(node: Node, version: int) -> tuple[Prefixes, ...]:
    """The same, of which there must be one."""
    found = prefixes(node, version)
    if not found:
        node.refuse("advertises nothing", "give at least one address", "addresses")
    return found


def may_meet(ranges: Iterable[Prefixes]) -> bool:
    """Whether two of all their prefixes might be the same; if not, there is no need to write them all."""
    whole = sorted(ranges, key=lambda one: (one.version, one.length, one.first))
    return any(one.count > 1 and not one.step for one in whole) or any(
        (one.version, one.length) == (other.version, other.length) and one.last >= other.first
        for one, other in pairwise(whole)
    )


def hosts(ranges: Sequence[Prefixes]) -> tuple[str, ...]:
    """One address in each prefix; of more than MOST_HOSTS, in so many, evenly spread from the first to the last."""
    total = sum(one.count for one in ranges)
    wanted = min(total, MOST_HOSTS)
    places = [place * (total - 1) // max(1, wanted - 1) for place in range(wanted)]
    found, begin = [], 0
    for one in ranges:
        found += [one.host(place - begin) for place in places if begin <= place < begin + one.count]
        begin += one.count
    return tuple(found)


def _text(number: int, version: int) -> str:
    octets = number.to_bytes(_BITS[version] // 8, "big")
    return inet_ntoa(octets) if version == 4 else str(ip_address(octets))  # of IPv4 there may be millions
