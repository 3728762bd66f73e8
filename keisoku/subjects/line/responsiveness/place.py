"""Which hop holds the queue: the one from which on packets to hops take longer under load. It does no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.line.responsiveness.outcome import Outcome

MOST_OF_IT = 0.5
"""The hop that holds the queue adds more than this share of all that is added."""


@dataclass(frozen=True)
class Added:
    """What a load added to the round trips of each hop in one round; ns."""

    by_hop: Mapping[int, float]
    """Beyond what it added to the hop before, by TTL in order."""

    @property
    def whole_ns(self) -> float:
        """To the farthest hop."""
        return sum(self.by_hop.values())

    @property
    def hop(self) -> int | None:
        """The one that holds the queue; None if no hop adds most of it."""
        if not self.by_hop:
            return None
        ttl = max(self.by_hop, key=lambda one: self.by_hop[one])
        return ttl if self.by_hop[ttl] > MOST_OF_IT * self.whole_ns > 0 else None


def added(idle: Sequence[Outcome], loaded: Outcome) -> Added:
    """Medians under load above the least of all idle times, hop by hop; hops that answered in one only are left out."""
    least: dict[int, float] = {}
    for one in idle:
        for ttl, times in one.hops_ns.items():
            least[ttl] = min(least.get(ttl, np.inf), float(times.min()))
    totals = {ttl: float(np.median(times)) - least[ttl] for ttl, times in loaded.hops_ns.items() if ttl in least}
    found, before = {}, 0.0
    for ttl in sorted(totals):
        found[ttl] = totals[ttl] - before
        before = totals[ttl]
    return Added(found)
