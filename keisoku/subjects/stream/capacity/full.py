"""`Full`: what a path carries, from the trial intervals in which it was full. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import deviation, half_width
from keisoku.subjects.stream.capacity.sub_interval import SubIntervalSeen, TrialInterval

FEWEST = 12
"""Trial intervals, with fewer of which it is not sure that the path was full, nor how they scatter."""
_GROUPS, _LEAST_GROUP = 10, 4
"""Of neighbours, as what came late in one trial interval is missing there and too much in the next."""
_DATAGRAM_BITS = 8 * 1500
FASTER = 0.03
"""By which share sub-intervals are faster than what lasts at least, if a token bucket let them through."""
_SPREADS = 6
"""The same in standard deviations of groups, so that a path that varies is no token bucket."""


@dataclass(frozen=True)
class Full:
    """Trial intervals in order."""

    trials: Sequence[TrialInterval]

    @property
    def enough(self) -> bool:
        """Whether there is a figure."""
        return len(self.trials) >= FEWEST

    @property
    def bps(self) -> float:
        """The mean, of any."""
        return _rate(self.trials)

    @property
    def quantity(self) -> Quantity:
        """The mean of enough of them, with Student's interval of groups, and the datagrams that may be counted or not
        at the ends of the times in which the path was full: a part of one each, as often too much as too little."""
        groups = self._groups()
        by_chance = half_width(groups)
        times = 1 + sum(later.number != one.number + 1 for one, later in pairwise(self.trials))
        ends = math.sqrt(times) * _DATAGRAM_BITS / sum(one.lasted_s for one in self.trials)
        return Quantity(value=self.bps, unit="bit/s", uncertainty=by_chance + ends)

    @property
    def beyond_bps(self) -> float:
        """A rate that is too fast to be one of them."""
        groups = self._groups()
        return self.bps + max(FASTER * self.bps, _SPREADS * deviation(groups))

    def _groups(self) -> list[float]:
        """The mean of each group of neighbours."""
        many = min(_GROUPS, len(self.trials) // _LEAST_GROUP)
        ends = [round(place * len(self.trials) / many) for place in range(many + 1)]
        return [_rate(self.trials[first:last]) for first, last in pairwise(ends)]


def lasting(subs: Sequence[SubIntervalSeen]) -> tuple[Full, list[SubIntervalSeen]]:
    """From the end back to a sub-interval that was faster than all that came later: what is full after it; and that
    one with those before it that were too fast, too."""
    found: list[TrialInterval] = []
    for place in range(len(subs) - 1, -1, -1):
        one = subs[place]
        if Full(found).enough and one.bps > (limit := Full(found).beyond_bps):
            return Full(found), [early for early in subs[: place + 1] if early.bps > limit]
        found = [*one.full, *found]
    return Full(found), []


def _rate(trials: Sequence[TrialInterval]) -> float:
    return sum(one.bits for one in trials) / sum(one.lasted_s for one in trials)
