"""Latencies from percentiles, for programs that report nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence

from keisoku.errors import EngineError

_LONGEST_NS = 1e18
RESOLUTION_NS = 1000
"""ns in a µs, in which ab and wrk report; oha reports more digits than its clock readings justify."""


def buckets_of(points: Sequence[tuple[float, float]], completed: int) -> tuple[tuple[int, int, int], ...]:
    """Buckets (lower ns, upper ns, count) that hold `completed` requests, from pairs of percent and ns.

    Request number ⌈completed · percent / 100⌉ took what its percentile says, to a µs; those between two that
    are known took something between them. Those below the lowest known and above the highest are not told. Raises
    EngineError for what are no percentiles.
    """
    ordered = sorted(points)
    times = [at_ns for _, at_ns in ordered]
    possible = all(0 <= percent <= 100 and 0 <= at_ns < _LONGEST_NS for percent, at_ns in ordered)
    if not possible or times != sorted(times):
        raise EngineError("its percentiles are invalid: they do not rise from 0 % to 100 %")
    known: dict[int, int] = {}
    for percent, at_ns in ordered:
        # Later wins: of few requests several percentiles are the same one.
        known[max(1, math.ceil(completed * percent / 100 - 1e-9))] = round(at_ns)
    found: list[tuple[int, int, int]] = []
    before: tuple[int, int] | None = None
    for rank, at_ns in known.items() if completed > 0 else ():
        if before is not None and rank - before[0] > 1:
            found.append((before[1], max(at_ns, before[1] + RESOLUTION_NS), rank - before[0] - 1))
        found.append((at_ns, at_ns + RESOLUTION_NS, 1))
        before = rank, at_ns
    return tuple(found)
