"""Percentiles and packet delay variation from a histogram, each with a bound on its error.

A percentile that the histogram cannot give is None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keisoku.device.record.counts import Buckets, Latency

PDV_PERCENT = 99.9
"""RFC 8219 §7.3.1 takes the 99.9th percentile for the upper end of the delay variation."""


@dataclass(frozen=True)
class Percentile:
    """A value in ns that is off by at most `bound_ns` (the width of its bucket)."""

    value_ns: float
    bound_ns: float


def percentile(
    buckets: Buckets, percent: float, min_ns: float | None = None, max_ns: float | None = None
) -> Percentile | None:
    """The latency in ns that `percent` of all frames do not exceed (nearest rank, RFC 2330 §11.3).

    Within its bucket the value is interpolated by rank; the true one lies in the same bucket, so the
    error is at most the bucket's width: 1 ns below 256 ns, 1/128 of the value above. The exact
    extremes `min_ns` and `max_ns`, where known, narrow the outermost buckets.

    None if there are no frames, or if the rank falls among latencies below zero, which the
    histogram only counts. Raises ValueError for a percentage outside 0…100.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile lies between 0 and 100, not at {percent}")
    total = buckets.negative + sum(buckets.counts)
    rank = max(1.0, percent / 100 * total)
    if total == 0 or rank <= buckets.negative:
        return None
    cumulative = buckets.negative + np.cumsum(np.asarray(buckets.counts, dtype=np.int64))
    # A rank such as 99.9 % of 1000 must not slip to the next frame by a rounding of the product.
    index = min(int(np.searchsorted(cumulative, rank * (1 - 1e-12))), len(buckets.counts) - 1)
    before = int(cumulative[index]) - buckets.counts[index]
    lower, upper = float(buckets.lower_ns[index]), float(buckets.upper_ns[index])
    if min_ns is not None:
        lower = min(max(lower, min_ns), upper)
    if max_ns is not None:
        upper = max(min(upper, max_ns), lower)
    share = min((rank - before) / buckets.counts[index], 1.0)
    return Percentile(lower + share * (upper - lower), upper - lower)


def latency_percentile(latency: Latency, percent: float) -> Percentile | None:
    """`percentile` over all frames of a trial, narrowed by their exact extremes."""
    return percentile(latency.histogram, percent, latency.min_ns, latency.max_ns)


def packet_delay_variation(latency: Latency) -> Percentile | None:
    """PDV in ns: D99.9 − Dmin (RFC 5481 §4.2; RFC 8219 §7.3.1). The minimum is exact."""
    high = latency_percentile(latency, PDV_PERCENT)
    return None if high is None else Percentile(high.value_ns - latency.min_ns, high.bound_ns)
