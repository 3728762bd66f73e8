"""The distribution of latencies as their exact mean, standard deviation and extremes give it: a beta distribution.

A histogram says nothing of what lies within a bucket. Where the whole distribution is hardly wider than one of them,
these four numbers say more than the counts: the beta distribution that has them is even for even latencies, and close
to a normal one for latencies that crowd about their mean (method of moments; Johnson, Kotz, Balakrishnan 1995, 25.4).
It reaches as far beyond the extremes as so many frames may be expected to fall short of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from keisoku.subjects.device.record.counts import Latency

REACH_MOST = 20.0
"""Parts by which the ends may lie beyond the extremes: farther out, the distribution is a normal one to the eye."""

EVEN = 0.1
"""Even latencies have parameters of 1, but for what a limited number of frames makes of them."""


@dataclass(frozen=True)
class Moments:
    """Of the latencies of all frames of some trials, in ns."""

    count: int
    mean_ns: float
    deviation_ns: float
    min_ns: float
    max_ns: float


def moments(latencies: Sequence[Latency]) -> Moments:
    """Raises ZeroDivisionError if no trial has a frame."""
    count = sum(one.count for one in latencies)
    mean = sum(one.mean_ns * one.count for one in latencies) / count
    square = sum(one.count * (one.deviation_ns**2 + (one.mean_ns - mean) ** 2) for one in latencies) / count
    ends = min(one.min_ns for one in latencies), max(one.max_ns for one in latencies)
    return Moments(count, mean, math.sqrt(square), *ends)


@dataclass(frozen=True)
class Shape:
    """A beta distribution between two latencies in ns."""

    min_ns: float
    max_ns: float
    alpha: float
    beta: float

    def below(self, latency_ns: float) -> float:
        """The share of latencies below this one."""
        place = (latency_ns - self.min_ns) / (self.max_ns - self.min_ns)
        from keisoku.ground.statistics.distribution import beta_below  # not needed before the first frame

        return beta_below(self.alpha, self.beta, place)

    def beyond(self, lower_ns: float, upper_ns: float) -> float:
        """The share of latencies that are not between these."""
        return 1 - self.below(upper_ns) + self.below(lower_ns)

    def between(self, lower_ns: float, upper_ns: float, share: float) -> float | None:
        """The latency below which this share of those between two others lies; None where the shape has none there."""
        below, until = self.below(lower_ns), self.below(upper_ns)
        if not until - below >= 1e-9:
            return None
        from keisoku.ground.statistics.distribution import beta_quantile  # not needed before the first frame

        place = beta_quantile(self.alpha, self.beta, below + share * (until - below))
        return min(max(self.min_ns + (self.max_ns - self.min_ns) * place, lower_ns), upper_ns)


@lru_cache(maxsize=256)  # each percentile of a trial asks for it
def shape_of(found: Moments) -> Shape | None:
    """None where the distribution has no single peak (that would need a parameter below 1), as where frames take one of
    two latencies, or all the same: then moments do not tell where a percentile is."""
    low, high = 0.0, REACH_MOST
    shape = _reaching(found, low)
    if shape is None:
        return None
    beyond = 2 / (found.count + 1)
    for _ in range(30):
        middle = (low + high) / 2
        wider = _reaching(found, middle)
        if wider is None or wider.beyond(found.min_ns, found.max_ns) > beyond:
            high = middle
        else:
            low, shape = middle, wider
    return shape


def _reaching(found: Moments, reach: float) -> Shape | None:
    """With ends that are farther from the mean than the extremes, by so many times their distance."""
    above, below = ((1 + reach) * abs(end - found.mean_ns) for end in (found.min_ns, found.max_ns))
    variance = found.deviation_ns**2
    if above <= 0 or below <= 0 or not 0 < variance < above * below:
        return None
    size = above * below / variance - 1
    share = above / (above + below)
    if min(share, 1 - share) * size < 1 - EVEN:
        return None
    return Shape(found.mean_ns - above, found.mean_ns + below, share * size, (1 - share) * size)
