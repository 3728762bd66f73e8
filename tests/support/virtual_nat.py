"""A NAT in virtual time whose behaviour is known, with both ends of a look at it."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from keisoku.subjects.path.nat.message import Address
from keisoku.subjects.path.nat.near import NearEnd
from keisoku.subjects.path.nat.observation import Observation
from support.virtual_far_end import VirtualFarEnd

SECOND = 1_000_000_000
INSIDE, OUTSIDE, FAR, OTHER = "192.168.0.2", "203.0.113.5", "198.51.100.1", "198.51.100.2"
Depends = Literal["independent", "address", "address-and-port"]


@dataclass(frozen=True)
class Nat:
    """What is to be found. Times are seconds; without a translation it is a firewall, and without a filter nothing."""

    translates: bool = True
    mapping: Depends = "independent"
    filtering: Depends | None = "address-and-port"
    preserves: bool = True
    hairpins: bool = False
    unanswered_s: float = 30.0
    answered_s: float = 120.0
    """After traffic both ways that lasted 2 s, as Linux does."""
    inbound_refreshes: bool = True
    loss: float = 0.0
    delay_s: float = 0.02
    """One way."""
    two_addresses: bool = True

    @property
    def told(self) -> tuple[str, str]:
        """What can be said of mapping and filtering by so many addresses of the far end."""
        truths = self.mapping, self.filtering or "independent"
        first, second = (one if self.two_addresses or one == "address-and-port" else "not-port" for one in truths)
        return first, second


def random_nat(chance: random.Random) -> Nat:
    """Of any kind, behind any path."""
    nat = Nat(
        translates=chance.random() < 0.8,
        mapping=chance.choice(["independent", "address", "address-and-port"]),
        filtering=chance.choice(["independent", "address", "address-and-port"]),
        preserves=chance.random() < 0.5,
        hairpins=chance.random() < 0.5,
        # Bindings with answers are used again after 2.5 s, and have to be kept until then.
        unanswered_s=10 ** chance.uniform(0.5, 2),
        answered_s=10 ** chance.uniform(0.1, 2.3),
        inbound_refreshes=chance.random() < 0.5,
        loss=chance.choice([0, 0, 0.01, 0.05, 0.2]),
        delay_s=10 ** chance.uniform(-3, -0.7),
        two_addresses=chance.random() < 0.5,
    )
    if nat.translates:
        return nat
    return replace(nat, mapping="independent", filtering=chance.choice([None, nat.filtering]))


@dataclass
class _Binding:
    inside: Address
    outside: Address
    begun_ns: int
    used_ns: int
    peers: set[Address]
    is_answered: bool = False
    is_lasting: bool = False


class VirtualNat:
    """Carries datagrams between a `NearEnd` and a `VirtualFarEnd`."""

    def __init__(self, nat: Nat, seed: int) -> None:
        self.nat, self._chance = nat, random.Random(seed)
        self._now_ns = self._chance.randrange(1 << 40)
        self._far_ahead_ns = self._chance.randrange(1 << 40)
        self.far = [(FAR, 4001), (FAR, 4002), *([(OTHER, 4001), (OTHER, 4002)] if nat.two_addresses else [])]
        self._end = VirtualFarEnd(77, OUTSIDE if nat.translates else INSIDE, len(self.far))
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._inside: dict[Address, int] = {}
        self._bindings: dict[tuple[object, ...], _Binding] = {}
        self._ports = itertools.count(self._chance.randrange(20_000, 40_000))
        self.near: NearEnd | None = None

    def run(self, longest_s: float, over_s: float | None = None) -> list[Observation]:
        """A whole look; `over_s`: when it is told to finish, if not at the end of `longest_s`."""
        end = self.near = NearEnd(self, 77, self.far, round(longest_s * SECOND))
        finish_ns = self._now_ns + round((longest_s if over_s is None else over_s) * SECOND)
        while not end.is_over:
            if self._now_ns >= finish_ns:
                end.finish()
            until = end.step()
            if self._now_ns < finish_ns:
                until = min(until, finish_ns)
            if self._events and self._events[0][0] <= until:
                self._now_ns, _, happens = heapq.heappop(self._events)
                happens()
            else:
                self._now_ns = max(until, self._now_ns)
            assert self._now_ns < finish_ns + 60 * SECOND, "it does not end"
        return end.rows

    # The wire of the near end.

    def now_ns(self) -> int:
        return self._now_ns

    def open(self, binding: int) -> Address:
        address = INSIDE, 50_000 + binding
        self._inside[address] = binding
        return address

    def close(self, binding: int) -> None:
        self._inside = {address: one for address, one in self._inside.items() if one != binding}

    def send(self, binding: int, to: Address, data: bytes) -> None:
        source = next(address for address, one in self._inside.items() if one == binding)
        self._after(self._way() / 4, lambda: self._outwards(source, to, data))

    # The NAT, a quarter of the way from the near end.

    def _outwards(self, source: Address, to: Address, data: bytes) -> None:
        nat = self.nat
        endpoint = {"independent": (), "address": to[:1], "address-and-port": to}[nat.mapping]
        key = (source, *endpoint)
        found = self._bindings.get(key)
        if found is None or self._is_gone(found):
            port = source[1] if nat.preserves and nat.mapping == "independent" else next(self._ports)
            outside = (OUTSIDE, port) if nat.translates else source
            found = self._bindings[key] = _Binding(source, outside, self._now_ns, self._now_ns, set())
        self._use(found)
        found.peers.add(to)
        if to[0] == OUTSIDE:
            if nat.hairpins:
                self._inwards(found.outside, to, data)
        else:
            self._after(self._way() * 3 / 4, lambda: self._arrive_far(found.outside, to, data))

    def _inwards(self, source: Address, to: Address, data: bytes) -> None:
        for found in self._bindings.values():
            if found.outside == to and not self._is_gone(found) and self._lets_in(found, source):
                if source in found.peers:
                    found.is_answered = True
                if self.nat.inbound_refreshes:
                    self._use(found)
                self._after(self._way() / 4, lambda inside=found.inside: self._arrive_near(inside, data))  # type: ignore[misc]
                return
        if self.nat.filtering is None and not self.nat.translates:
            self._after(self._way() / 4, lambda: self._arrive_near(to, data))

    def _lets_in(self, found: _Binding, source: Address) -> bool:
        match self.nat.filtering:
            case "address":
                return source[0] in {address for address, _ in found.peers}
            case "address-and-port":
                return source in found.peers
        return True

    def _use(self, found: _Binding) -> None:
        found.used_ns = self._now_ns
        if found.is_answered and self._now_ns - found.begun_ns > 2 * SECOND:
            found.is_lasting = True

    def _is_gone(self, found: _Binding) -> bool:
        kept_s = self.nat.answered_s if found.is_lasting else self.nat.unanswered_s
        return self._now_ns - found.used_ns >= kept_s * SECOND

    # Both ends.

    def _arrive_far(self, source: Address, to: Address, data: bytes) -> None:
        outgoing = self._end.heard(self._now_ns + self._far_ahead_ns, self.far.index(to), source, data)
        for number, at, answer in outgoing:
            self._after(
                self._way() * 3 / 4,
                lambda number=number, at=at, answer=answer: self._inwards(self.far[number], at, answer),  # type: ignore[misc]
            )

    def _arrive_near(self, to: Address, data: bytes) -> None:
        binding = self._inside.get(to)
        if binding is not None and self.near is not None:
            self.near.receive(binding, data)

    def _way(self) -> float:
        return self.nat.delay_s * self._chance.uniform(1, 1.3)

    def _after(self, seconds: float, happens: Callable[[], None]) -> None:
        """Half of a way's loss on either of its two parts."""
        if self._chance.random() >= self.nat.loss / 2:
            heapq.heappush(self._events, (self._now_ns + round(seconds * SECOND), next(self._order), happens))
