"""Arrivals that were stamped in clusters: interrupt coalescing or receive offload of a NIC.

Prasad, Jain, Dovrolis, "Effects of interrupt coalescence on network measurements" (PAM 2004): dispersion then shows the
interrupt's period instead of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.path.train.log import Train

CLOSE = 0.2
"""Of the mean gap of a train: gaps below this are within a cluster."""
CLUSTERED = 0.5
"""Share of all gaps that are within clusters."""
LEAST_CLUSTERS = 3
"""In a train: a token bucket makes one, at its beginning."""
EQUAL = 0.05
"""Share of gaps that are zero: one stamp for several packets."""
LEAST_PACKETS = 12


@dataclass(frozen=True)
class Coalescence:
    """What was seen."""

    equal_share: float
    """Of the gaps: those of zero."""
    clustered_share: float
    """Of the gaps: those much shorter than the mean."""
    period_ns: float
    """From the beginning of a cluster to that of the next, median."""


def find_coalescence(trains: Sequence[Train]) -> Coalescence | None:
    """From trains of a dozen packets or more; None if most show none."""
    close = equal = gaps = 0
    periods: list[float] = []
    clustered = judged = 0
    for train in trains:
        arrived = train.received_ns[train.received_ns > 0]
        arrived = (arrived - arrived[:1]).astype(float)
        if len(arrived) < LEAST_PACKETS:
            continue
        judged += 1
        gap = np.diff(arrived)
        within = gap < CLOSE * gap.mean()
        starts = np.concatenate(([0], np.flatnonzero(~within) + 1))
        lengths = np.diff(np.concatenate((starts, [len(arrived)])))
        clustered += int((lengths >= 2).sum() >= LEAST_CLUSTERS and within.mean() >= CLUSTERED)
        periods += np.diff(arrived[starts]).tolist()
        close, equal, gaps = close + int(within.sum()), equal + int((gap == 0).sum()), gaps + len(gap)
    if not judged or not gaps:
        return None
    if clustered * 2 <= judged and equal / gaps < EQUAL:
        return None
    return Coalescence(equal / gaps, close / gaps, float(np.median(periods)) if periods else 0.0)
