"""Percentiles and the maximum of the latencies of a load, each with its interval, from buckets.

The interval of a percentile is the wider one of two: of the requests of all runs, as if they were independent (the rank
is binomial; David and Nagaraja, Order Statistics, 7.1), and of the runs' own percentiles (Student's t), as requests of
one run hinder each other. The maximum is of the requests that were made; how it varies between runs it does not say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
_NORMAL = 1.96
Bucket = tuple[int, int, int]
"""Lower ns, upper ns, count."""


def quantile(buckets: Iterable[Bucket], percent: float) -> tuple[float, float] | None:
    """The latency in ns that so many percent of requests did not exceed, and half the width of its bucket."""
    ordered, counts = _ordered(buckets)
    if not counts:
        return None
    low, high = _at_rank(ordered, counts, max(1, math.ceil(counts[-1] * percent / 100 - 1e-9)))
    return (low + high) / 2, (high - low) / 2


def latency_figures(of_runs: Sequence[Sequence[Bucket]]) -> dict[str, Quantity]:
    """`p50` to `p99.9` and `max` in ns of all requests of all runs; empty if none was answered."""
    ordered, counts = _ordered(bucket for run in of_runs for bucket in run)
    if not counts:
        return {}
    figures = {}
    for percent in PERCENTILES:
        own = [found[0] for run in of_runs if (found := quantile(run, percent)) is not None]
        figures[f"p{percent:g}"] = _percentile(ordered, counts, percent, own)
    low, high = ordered[-1][:2]
    figures["max"] = Quantity(
        value=(low + high) / 2,
        unit="ns",
        uncertainty=(high - low) / 2,
        covers="resolution",
    )
    return figures


def _percentile(ordered: Sequence[Bucket], counts: Sequence[int], percent: float, own: Sequence[float]) -> Quantity:
    share, total = percent / 100, counts[-1]
    reach = _NORMAL * math.sqrt(total * share * (1 - share))
    least, most = math.floor(total * share - reach), math.ceil(total * share + reach) + 1
    low, high = _at_rank(ordered, counts, max(1, math.ceil(total * share - 1e-9)))
    value = (low + high) / 2
    lower = float(_at_rank(ordered, counts, least)[0]) if least >= 1 else None
    if most > total or lower is None:
        # The slowest request may be faster than the percentile is, or the fastest one slower.
        if most > total and lower is not None:
            return Quantity(value=lower, unit="ns", bound="at least")
        return Quantity(value=value, unit="ns")
    upper = float(_at_rank(ordered, counts, most)[1])
    if len(own) > 1:
        scatter = 2 * budget.standard_uncertainty(budget.repeatability("runs", own))
        lower, upper = min(lower, max(0.0, value - scatter)), max(upper, value + scatter)
    return Quantity(
        value=value,
        unit="ns",
        uncertainty=max(value - lower, upper - value),
        interval=Interval(lower=lower, upper=upper),
    )


def _ordered(buckets: Iterable[Bucket]) -> tuple[list[Bucket], list[int]]:
    ordered = sorted(bucket for bucket in buckets if bucket[2])
    return ordered, [int(count) for count in np.cumsum([count for _, _, count in ordered])]


def _at_rank(ordered: Sequence[Bucket], counts: Sequence[int], rank: int) -> tuple[int, int]:
    low, high, _ = ordered[int(np.searchsorted(counts, rank))]
    return low, high
