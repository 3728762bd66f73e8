"""What the NAT of a path does, from what was seen of its bindings, in the words of RFC 4787 and RFC 5780.

It does no I/O. What one address of the far end cannot tell stays untold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.path.nat.observation import Observation, Purpose

Dependence = Literal["independent", "address", "address-and-port", "not-port", "varies", "unknown"]
"""Of a mapping or a filter on the endpoint outside; 'not-port': independent or on its address, as there was one address
only; 'varies': not the same for every binding."""
Translation = Literal["none", "firewall", "address", "unknown"]
"""'none': neither NAT nor a firewall that keeps state; 'firewall': it lets in answers only; 'address': a NAT."""
Ports = Literal["preserved", "changed", "some", "unknown"]
LEAST_NS = 120_000_000_000
"""RFC 4787 REQ-5: a mapping of UDP must not expire in less than two minutes."""


@dataclass(frozen=True)
class Timeout:
    """How long a binding is kept that nothing passes."""

    open_ns: int | None
    """The longest time after which one was open; None if none was."""
    closed_ns: int | None
    """The shortest time after which one was closed; None if none was."""
    differs: bool
    """Bindings were closed that had been idle for less than others that were open; both ends contain them."""

    @property
    def quantity(self) -> Quantity:
        """The middle of both ends, between which it is; a bound if there is only one."""
        if self.closed_ns is None:
            return Quantity(value=self.open_ns or 0, unit="ns", bound="at least")
        if self.open_ns is None:
            return Quantity(value=self.closed_ns, unit="ns", bound="at most")
        middle = (self.open_ns + self.closed_ns) / 2
        return Quantity(value=middle, unit="ns", interval=Interval(lower=self.open_ns, upper=self.closed_ns))


@dataclass(frozen=True)
class Behaviour:
    """All of it."""

    translation: Translation
    mapping: Dependence
    filtering: Dependence
    ports: Ports
    hairpins: bool | None
    """Whether two hosts behind it reach each other by its outer address; None if not tried."""
    addresses: tuple[str, ...]
    """Outer ones, that of most bindings first."""
    two_addresses: bool
    """The far end answered at two addresses, so that what depends on the address can be told."""
    answered: Timeout | None
    """Of bindings with traffic both ways for some seconds."""
    unanswered: Timeout | None
    """Of bindings that one datagram had left by."""
    bindings: int
    """Number of those whose outer port is known."""


def behaviour(rows: Iterable[Observation]) -> Behaviour:
    """From everything that was seen, in any order."""
    found: dict[Purpose, list[Observation]] = {}
    for row in rows:
        found.setdefault(row.purpose, []).append(row)
    mapped = {row.binding: row for many in found.values() for row in many if row.mapped_port is not None}
    outer = Counter(row.mapped_address or "" for row in mapped.values())
    same = [(row.local_address, row.local_port) == (row.mapped_address, row.mapped_port) for row in mapped.values()]
    kept = [row.local_port == row.mapped_port for row in mapped.values()]
    reached = _reached(found.get("mapping", []))
    hairpins = [row.arrived for row in found.get("hairpin", [])]
    return Behaviour(
        translation=_translation(same, found.get("unsolicited", [])),
        mapping=_agreed(found.get("mapping", []), _mapping),
        filtering=_filtering([row for row in found.get("filtering", []) if _far(row) in reached], reached),
        ports="unknown" if not kept else "preserved" if all(kept) else "some" if any(kept) else "changed",
        hairpins=any(hairpins) if hairpins else None,
        addresses=tuple(address for address, _ in outer.most_common()),
        two_addresses=len({address for address, _ in reached}) > 1,
        answered=_timeout(found.get("answered", [])),
        unanswered=_timeout(found.get("unanswered", [])),
        bindings=len(mapped),
    )


Far = tuple[str, int]


def _far(row: Observation) -> Far:
    return row.far_address, row.far_port


def _reached(mapping: Sequence[Observation]) -> list[Far]:
    """Sockets of the far end that answered, in the order in which they were tried."""
    return list(dict.fromkeys(_far(row) for row in mapping if row.arrived))


def _translation(same: Sequence[bool], unsolicited: Sequence[Observation]) -> Translation:
    if not same:
        return "unknown"
    if not all(same):
        return "address"
    tried = [row for row in unsolicited if row.sure]
    if not tried:
        return "unknown"
    return "none" if all(row.arrived for row in tried) else "firewall"


def _agreed(rows: Sequence[Observation], verdict: Callable[[list[Observation]], Dependence]) -> Dependence:
    """What all bindings say that say anything."""
    said = {verdict([row for row in rows if row.binding == one]) for one in {row.binding for row in rows}} - {"unknown"}
    if said <= {"not-port", "independent", "address"} and len(said) > 1:
        said -= {"not-port"}  # Of one whose datagrams to the other address were lost.
    return said.pop() if len(said) == 1 else "varies" if said else "unknown"


def _mapping(rows: list[Observation]) -> Dependence:
    """Of one binding: whether its outer address and port are the same towards all sockets of the far end."""
    outside = {_far(row): (row.mapped_address, row.mapped_port) for row in rows if row.arrived}
    if not outside:
        return "unknown"
    by_address: dict[str, list[tuple[str | None, int | None]]] = {}
    for (address, _), at in outside.items():
        by_address.setdefault(address, []).append(at)
    if any(len(set(many)) > 1 for many in by_address.values()):
        return "address-and-port"
    if all(len(many) < 2 for many in by_address.values()):
        return "unknown"
    if len(by_address) < 2:
        return "not-port"
    return "independent" if len(set(outside.values())) == 1 else "address"


def _filtering(rows: Sequence[Observation], reached: Sequence[Far]) -> Dependence:
    """By whether datagrams came in from another port, and from another address as well."""
    first = reached[0][0] if reached else ""
    port = [row.arrived for row in rows if row.far_address == first and row.sure]
    address = [row.arrived for row in rows if row.far_address != first and row.sure]
    if any(address):
        return "independent"
    if not port:
        return "unknown"
    if not any(port):
        return "address-and-port"
    return "address" if address else "not-port"


def _timeout(rows: Sequence[Observation]) -> Timeout | None:
    tried = [row for row in rows if row.sure and row.idle_least_ns is not None and row.idle_most_ns is not None]
    opened = [row.idle_least_ns for row in tried if row.arrived and row.idle_least_ns is not None]
    closed = [row.idle_most_ns for row in tried if not row.arrived and row.idle_most_ns is not None]
    if not tried:
        return None
    longest, shortest = max(opened, default=None), min(closed, default=None)
    if longest is None or shortest is None or longest < shortest:
        return Timeout(longest, shortest, False)
    # Open above closed: the timeout is not one time. Both ends contain all that was seen to differ.
    return Timeout(
        max((one for one in opened if one < shortest), default=None),
        min((one for one in closed if one > longest), default=None),
        True,
    )
