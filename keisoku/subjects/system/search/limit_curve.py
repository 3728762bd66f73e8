"""The curve of a search or sweep: every limit with its scores and rates, and the model between them.

Recommends nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from keisoku.subjects.system.interval_log import KeptInterval
from keisoku.subjects.system.objective import Objective
from keisoku.subjects.system.search.asking import SearchResult
from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.gaussian_process import Beliefs, beliefs
from keisoku.subjects.system.search.search import DEPTH, SETTLES, LimitFound

DRAWS = 2000


@dataclass
class CurvePoint:
    """One limit, with an entry for each evaluation of it."""

    limit: Limit
    scores: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    """Per second, of all clients."""
    governed: list[float] = field(default_factory=list)
    """Requests/s of the clients behind the governed ports."""
    bps: list[float] = field(default_factory=list)
    """Forwarded to all clients."""
    margins: list[float] = field(default_factory=list)
    """How far the worst constraint was kept (natural logarithm); none without constraints."""


def curve(intervals: Sequence[KeptInterval], objective: Objective, ports: Collection[str]) -> list[CurvePoint]:
    """A point for each limit, lowest first, no limit last."""
    points: dict[Limit, CurvePoint] = {}
    for kept in intervals:
        at = kept.observation
        point = points.setdefault(kept.commanded_bps, CurvePoint(kept.commanded_bps))
        point.scores.append(objective.score(at))
        point.requests.append(at.requests_per_second)
        point.governed.append(sum(client.completed for client in at.clients if client.name in ports) / at.seconds)
        point.bps.append(at.bits_per_second)
        point.margins += [min(margins)] if (margins := objective.margins(at)) else []
    return sorted(points.values(), key=lambda point: float("inf") if point.limit is None else point.limit)


def settled(intervals: Sequence[KeptInterval], answer: SearchResult | None) -> list[KeptInterval]:
    """All but those of no limit and of the confirmed one from before the system was given the time to settle."""
    if not isinstance(answer, LimitFound) or answer.gain is None or not answer.gain.unsure(SETTLES):
        return list(intervals)
    confirming = [at for at, kept in enumerate(intervals) if kept.purpose == "confirm"]
    first = confirming[-4 * answer.gain.blocks]
    both = {intervals[at].commanded_bps for at in confirming}
    return [kept for at, kept in enumerate(intervals) if at >= first or kept.commanded_bps not in both]


def believed(intervals: Sequence[KeptInterval], objective: Objective, candidates: Candidates, seed: int) -> Beliefs:
    """The score at every candidate, by all evaluations; each of them must be of a candidate."""
    index = {limit: place for place, limit in enumerate(candidates.limits)}
    scores = np.asarray([objective.score(kept.observation) for kept in intervals])
    at = [_nearest(index, kept.commanded_bps) for kept in intervals]
    deep = np.maximum(scores, scores.max() - DEPTH)
    return beliefs(at, deep, candidates.positions, candidates.unlimited, DRAWS, seed)


def _nearest(index: dict[Limit, int], limit: Limit) -> int:
    """A rate read from a file is the candidate that it was, to the last digit or nearly."""
    if limit in index:
        return index[limit]
    rates = [known for known in index if known is not None]
    return index[min(rates, key=lambda rate: abs(rate - (limit or 0.0)))]
