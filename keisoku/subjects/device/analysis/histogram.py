"""Sums histograms of several trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from keisoku.subjects.device.record.counts import Buckets


def merged(histograms: Sequence[Buckets]) -> Buckets:
    """One histogram with the counts of all; they share one layout of buckets (`core/src/latency/histogram.rs`)."""
    counts: Counter[tuple[int, int]] = Counter()
    for histogram in histograms:
        for lower, upper, count in zip(histogram.lower_ns, histogram.upper_ns, histogram.counts, strict=True):
            counts[lower, upper] += count
    edges = sorted(counts)
    return Buckets(
        negative=sum(histogram.negative for histogram in histograms),
        lower_ns=[lower for lower, _ in edges],
        upper_ns=[upper for _, upper in edges],
        counts=[counts[edge] for edge in edges],
    )
