"""The calm level of batch times: what a batch takes while nothing else slows its core down.

The batches are those at one pace of the core (`pace.py`). What still disturbs it, such as stops between two pieces of
work, and other programs, makes clusters of longer ones. The lowest cluster is the same on a quiet and on a busy host,
as long as the core is undisturbed for a few ms now and then; means and medians move from one cluster to another with
the host's other work. `benchmarks/accuracy/cost.py` shows how true the level is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LOWEST = 0.01
"""This quantile of all batches is in the lowest cluster."""
REACH = 1.08
"""The lowest cluster ends at so many times that quantile."""
NEAR = 1.03
"""A run whose level is beyond so many times that of the others is slow as a whole: openings of ports differ by 1 %."""
NEAR_KNOWN = 1.05
"""The same, where the level is known of many runs: these scatter by 1 to 2 %, and the next cluster begins at 1.1."""
CONFIRMED = 1.02
"""A figure that is at most so many times a lower one confirms it."""
LEAST_CALM, LEAST_KNOWN = 0.05, 0.01
"""A run with a smaller share of calm batches says nothing: what it has in the cluster may be stray. Where the level is
known, less is enough."""
SLOWER = 0.6
"""By how much longer work takes on a core that a neighbour slows all the time, as a share (median of what was seen)."""
SPREAD = 0.2
"""How far the mean slowdown of runs lies beyond what their share of calm batches explains, where they were calm."""


@dataclass(frozen=True)
class Calm:
    """What the runs of one load say."""

    levels_ns: tuple[float | None, ...]
    """Of each run the median of its calm batches, in ns a batch; None if it has too few of them, or if they are slower
    than those of the others."""
    shares: tuple[float, ...]
    """Of each run the share of its batches that are calm."""
    reach_ns: float = 0.0
    """The longest batch that is calm."""

    @property
    def slow_runs(self) -> int:
        """Runs without enough calm batches."""
        return sum(level is None for level in self.levels_ns)

    @property
    def calm_runs(self) -> int:
        """The others."""
        return len(self.levels_ns) - self.slow_runs

    @property
    def share(self) -> float:
        """Of all runs, the mean share of calm batches; 0 without any run."""
        return sum(self.shares) / len(self.shares) if self.shares else 0.0


def calm(
    runs: Sequence[Sequence[tuple[float, int]]],
    slowdowns: Sequence[float] = (),
    known_ns: float = math.inf,
    beside_ns: float = 0.0,
) -> Calm:
    """Of the batches of each run as (ns, how many); runs without batches count as slow.

    `known_ns` is the level of earlier runs, ns a batch: where these runs met no calm moment, they are all slow. Without
    it `slowdowns` is used, which says of each run how much longer the same work took on its core than at the core's
    full speed: runs that look calm to each other on a core that was slow are slow.

    `beside_ns` is what the frames of a batch take in other threads: times that differ little beside it are alike, and
    where it is most of the time, how fast the batches' own core was says nothing.
    """
    times = [_repeated(run) + beside_ns for run in runs]
    finite = [own[np.isfinite(own)] for own in times]
    if not any(own.size for own in finite):
        return Calm((None,) * len(runs), (0.0,) * len(runs))
    known_ns += beside_ns
    lowest_ns = float(np.quantile(np.concatenate(finite), LOWEST))
    reach_ns = REACH * min(known_ns, lowest_ns)
    within = [own[own <= reach_ns] for own in times]
    shares = [some.size / own.size if own.size else 0.0 for some, own in zip(within, times, strict=True)]
    known = math.isfinite(known_ns)
    most = 1 + SLOWER * (1 - sum(shares) / len(shares)) + SPREAD
    mostly_elsewhere = beside_ns >= lowest_ns / 2
    if not mostly_elsewhere and not known and slowdowns and sum(slowdowns) / len(slowdowns) > most:
        return Calm((None,) * len(runs), (0.0,) * len(runs))
    least = LEAST_KNOWN if known else LEAST_CALM
    medians = [
        float(np.median(some)) if share >= least else math.inf for some, share in zip(within, shares, strict=True)
    ]
    near_ns = min(NEAR_KNOWN * known_ns, NEAR * float(np.quantile(medians, 0.25, method="lower")))
    levels = tuple(level - beside_ns if level < math.inf and level <= near_ns else None for level in medians)
    return Calm(levels, tuple(shares), reach_ns - beside_ns)


def level_of(figures: Sequence[float]) -> float:
    """What calm runs have, in the figures' unit, of runs of which most may have been slow as a whole: the lowest figure
    that another one confirms, or the lowest one."""
    ordered = sorted(figures)
    return next((low for low, above in pairwise(ordered) if above <= CONFIRMED * low), ordered[0])


def _repeated(run: Sequence[tuple[float, int]]) -> NDArray[np.float64]:
    pairs = np.asarray(run, dtype=np.float64).reshape(-1, 2)
    return np.repeat(pairs[:, 0], pairs[:, 1].astype(int))
