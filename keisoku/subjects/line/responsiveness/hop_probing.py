"""Packets that expire at every hop of a path at about the same time, again and again. It opens no socket."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.discovery import discover
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopWire

NS_PER_S = 1_000_000_000
EVERY_NS = NS_PER_S // 10
"""From one packet to each hop to the next ones."""
FIRST_BYTES, STEP_BYTES, SIZES = 64, 64, 8
"""Packets of so many rounds in a row have lengths of their own, so that a late answer is known as one."""
PATIENCE_NS = (NS_PER_S * 3 // 10, NS_PER_S * 3 // 2)
"""How long answers are waited for: at least, and at most."""
ROUND_TRIPS = 3
"""And in longest round trips of the hop that is farthest away in time."""
TRIED, REFUSED = 12, 3
"""A hop that leaves so many of so many packets unanswered limits its answers: Linux does after 6, to one a second."""
TRIED_EVERY_NS = 20_000_000
LIMITED_NS = 1_100_000_000
_SCHEMA = pa.schema([("hop", pa.int64()), ("sent_ns", pa.int64()), ("rtt_ns", pa.int64()), ("replier", pa.string())])


@dataclass
class Hops:
    """The hops of a path that answered while it was idle."""

    wire: HopWire
    repliers: dict[int, str]
    """Address by TTL."""
    mtu_bytes: int = 0
    """Of the path, as far as the farthest of them."""
    limited: set[int] = field(default_factory=set)
    """Those that answer once a second only."""
    _due_ns: dict[int, int] = field(default_factory=dict)
    """When a limited hop may be asked again."""
    _turn: int = 0

    @classmethod
    def find(cls, wire: HopWire, most: int) -> Hops:
        """Looks for them, and for limits on their answers. Raises EngineError if no hop answers."""
        path = discover(wire, most)
        found = cls(wire, dict(path.repliers), path.mtu_bytes)
        missed = dict.fromkeys(found.repliers, 0)
        for _ in range(TRIED):
            for probe in found._ask(list(found.repliers), PATIENCE_NS[0]):
                missed[probe.hop] += not probe.answered
            wire.rest(wire.now_ns() + TRIED_EVERY_NS)
        found.limited = {ttl for ttl, count in missed.items() if count >= REFUSED}
        return found

    def probe(self, duration_s: float) -> list[HopProbe]:
        """Every packet of so long. Raises EngineError when the host cannot be sent to at all."""
        found: list[HopProbe] = []
        end_ns, longest_ns = self.wire.now_ns() + round(duration_s * NS_PER_S), 0
        while (now := self.wire.now_ns()) < end_ns:
            asked = [ttl for ttl in self.repliers if self._due_ns.get(ttl, 0) <= now]
            self._due_ns |= {ttl: now + LIMITED_NS for ttl in asked if ttl in self.limited}
            least, most = PATIENCE_NS
            probes = self._ask(asked, min(max(least, ROUND_TRIPS * longest_ns), most)) if asked else []
            longest_ns = max([longest_ns, *(probe.rtt_ns or 0 for probe in probes)])
            found += probes
            self.wire.rest(min(end_ns, max(now + EVERY_NS, self.wire.now_ns())))
        return found

    def _ask(self, ttls: list[int], patience_ns: int) -> list[HopProbe]:
        self._turn += 1
        sizes = [FIRST_BYTES + STEP_BYTES * (self._turn % SIZES) + ttl for ttl in ttls]
        replies = self.wire.exchange([HopPacket(*one) for one in zip(ttls, sizes, strict=True)], patience_ns)
        return [
            HopProbe(ttl, size, reply.sent_ns, reply.rtt_ns, None, reply.replier)
            for ttl, size, reply in zip(ttls, sizes, replies, strict=True)
        ]


def hop_table(probes: Iterable[HopProbe]) -> pa.Table:
    """The columns that are kept."""
    kept = [{name: getattr(probe, name) for name in _SCHEMA.names} for probe in probes]
    return pa.Table.from_pylist(kept, schema=_SCHEMA)
