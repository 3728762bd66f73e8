"""The calm level of batch times: what a batch takes while nothing else slows its core down.

A core has a few speeds: its own, and a lower one while another hardware thread of the same core works, which takes 20
to 40 % (docs/guards.md). Times of batches therefore lie in clusters. The lowest cluster is the same on a quiet and on a
busy host, as long as the core is undisturbed for a few ms now and then; means and medians move from one cluster to
another with the host's other work. `benchmarks/accuracy/cost.py` shows how true the level is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOWEST = 0.01
"""This quantile of all batches is in the lowest cluster."""
REACH = 1.08
"""The lowest cluster ends at so many times that quantile."""
LEAST_CALM = 0.05
"""A run with a smaller share of calm batches says nothing: what it has in the cluster may be stray."""


@dataclass(frozen=True)
class Calm:
    """What the runs of one load say."""

    levels_ns: tuple[float, ...]
    """The median of the calm batches of each run that has enough of them, in ns a batch."""
    shares: tuple[float, ...]
    """Of each run the share of its batches that are calm."""

    @property
    def slow_runs(self) -> int:
        """Runs without enough calm batches."""
        return len(self.shares) - len(self.levels_ns)

    @property
    def share(self) -> float:
        """Of all runs, the mean share of calm batches; 0 without any run."""
        return sum(self.shares) / len(self.shares) if self.shares else 0.0


def calm(runs: Sequence[Sequence[tuple[int, int]]], known_ns: float = math.inf) -> Calm:
    """Of the batches of each run as (ns, how many); runs without batches count as slow.

    `known_ns` is the level of earlier runs of the same load, ns a batch: where these runs met no calm moment, they are
    all slow, and not calm among themselves.
    """
    times = [_repeated(run) for run in runs]
    if not any(own.size for own in times):
        return Calm((), (0.0,) * len(runs))
    reach_ns = REACH * min(known_ns, float(np.quantile(np.concatenate(times), LOWEST)))
    within = [own[own <= reach_ns] for own in times]
    shares = [some.size / own.size if own.size else 0.0 for some, own in zip(within, times, strict=True)]
    levels = [float(np.median(some)) for some, share in zip(within, shares, strict=True) if share >= LEAST_CALM]
    return Calm(tuple(levels), tuple(shares))


def _repeated(run: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    pairs = np.asarray(run, dtype=np.float64).reshape(-1, 2)
    return np.repeat(pairs[:, 0], pairs[:, 1].astype(int))
