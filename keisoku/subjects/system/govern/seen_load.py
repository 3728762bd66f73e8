"""A load as the network shows it without a limit: each client's rate with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.change_points import noise
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.subjects.system.govern.change_watch import LEAST_SD, STEP, steps
from keisoku.subjects.system.observation import Observation

FEW = 100
"""Requests in an interval below which changes do not count: as logarithms, one after none is a great change."""
FRAME_BYTES = 1514
"""Counts as a request where none is completed: datagrams, or persistent connections."""
ALIKE = 0.05
"""Natural logarithm by which rates may differ for two loads to count as the same, however well they are known."""
SURE = 3.0
"""Standard errors by which they must differ, too."""
INEXACT = 3.0
"""Standard errors by which a scatter that was estimated from few rows is enlarged."""
APART = 0.35
"""Natural logarithm from which on two loads are never the same: a load that changes while it is observed has so
large an error that it would equal any other."""


@dataclass(frozen=True)
class SeenLoad:
    """Means over some intervals of each client's requests/s, in natural logarithms, and their standard error."""

    rates: tuple[float, ...]
    error: float

    def scattering(self, sds: Sequence[float], looks: int) -> SeenLoad:
        """The same, known no better than by a look of so many intervals at a load that scatters like this, each figure
        in its unit."""
        least = math.sqrt(float(np.mean(np.square(sds)))) / math.sqrt(looks)
        return SeenLoad(self.rates, max(self.error, least))

    def alike(self, other: SeenLoad, least: float = ALIKE) -> bool:
        """True if the two cannot be distinguished. Loads of different numbers of clients always can.

        `least` is the natural logarithm by which rates may differ however well they are known.
        """
        if len(self.rates) != len(other.rates):
            return False
        most = min(max(least, SURE * math.hypot(self.error, other.error)), APART)
        return float(np.max(np.abs(np.subtract(self.rates, other.rates)), initial=0.0)) < most


def scatter(rows: Sequence[Sequence[float]]) -> list[float]:
    """Standard deviation of each column of some rows that were not taken one after the other, in its unit; from three
    rows on.

    From neighbours, so that a change of the load is not taken for scatter.
    """
    return [noise(column, LEAST_SD) for column in np.asarray(rows, dtype=np.float64).T]


def changed(observations: Sequence[Observation]) -> bool:
    """Whether the load changed somewhere within these, all under the same limit; five at least.

    A host that drifts makes neighbours differ, too, and what differs no more than they do is no change of the load.
    """
    rows = np.asarray([rates(observation) for observation in observations])
    if len(rows) < 5:
        return False
    found = np.asarray(scatter(rows.tolist()))
    # A scatter of few rows is inexact, and one that is too small would make a step of any drift.
    sd = np.maximum(found, np.median(found)) * (1 + INEXACT / math.sqrt(2 * (len(rows) - 1)))
    return bool(steps(rows, sd).max() > STEP)


def seen_load(observations: Sequence[Observation]) -> SeenLoad:
    """The load of intervals without a limit, two at least. Clients are taken to scatter alike, so few intervals do."""
    rows = np.asarray([rates(observation) for observation in observations])
    variance = float(np.mean([deviation(column) ** 2 for column in rows.T]))
    return SeenLoad(tuple(rows.mean(axis=0).tolist()), math.sqrt(variance / len(rows)))


def rates(observation: Observation) -> list[float]:
    """Each client's requests/s, in natural logarithms, so far as there are enough of them to tell."""
    amounts = [client.completed or client.sent_bytes / FRAME_BYTES for client in observation.clients]
    return [math.log((amount + FEW) / observation.seconds) for amount in amounts]
