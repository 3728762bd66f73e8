"""The share of clean trials against load, as a posterior: where the curve falls, how steeply, how often it lapses.

A trial of a fixed duration is clean if no frame was lost. The probability of this at a load x is
`(1 - lapse) * Phi(3 * (1 - (x / centre)**(1/3)) / spread)`: the device's limit is scattered about a centre, relative to
which the spread is, and some trials lose a frame however low the load is. By the cube root (Wilson and Hilferty, PNAS
17, 1931) one family holds for a sharp limit, for one with noise (spread below 0.1, where the root makes no difference),
and for losses of single frames at random (spread 1), where a trial is clean with the probability exp(-x / constant).

The model and the way in which loads are chosen are those of psychometric functions (Kontsevich and Tyler, Vision
Research 39, 1999). The idea to describe a device by them is that of PLRsearch (draft-vpolak-bmwg-plrsearch), which fits
loss ratios. Only whether a trial was clean is used here: how much a lossy one lost depends on how the device fails,
which no model knows beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

Array = npt.NDArray[np.float64]

LOADS, SPREADS = 121, 33
"""Points of the grid."""
WIDEST = 1.2
"""Largest spread: a loss of single frames at random, the widest curve that is known, has about 1."""
LAPSES = np.array([0, 0.005, 0.015, 0.035, 0.07, 0.13, 0.22, 0.4])
_LAPSE_PRIOR = 30
"""The prior of the lapse share is (1 - share)**(this - 1): one trial in thirty on average."""
_SPREAD_PRIOR = 0.5
"""The prior of the spread's logarithm is spread**this: a search that ends when its interval is narrow errs towards
small spreads, and so towards intervals that are too narrow (`benchmarks/accuracy/critical_load.py`)."""
_HINT_WIDTH = 0.05
"""Relative half width of the prior at the hint. It decides which loads are tried first, but hardly the estimate, whose
interval is far narrower."""
_QUANTILES = (0.025, 0.5, 0.975)
_NEVER = -1e3
"""Logarithm of a load that is never reached."""
_TAIL = 2e-3
"""Probability outside of which the grid may end."""
_ZOOM = 1.5
"""A grid is replaced by a finer one when it is so many times wider than that one."""


@dataclass(frozen=True)
class Estimate:
    """Median and 95 % credible interval."""

    lower: float
    median: float
    upper: float


class CleanCurve:
    """The posterior on a grid of critical load, spread and lapse share, which follows the critical load as it is
    learnt."""

    def __init__(self, least_fps: float, most_fps: float, narrowest: float, hint_fps: float | None = None) -> None:
        """Loads are tried from `least_fps` to `most_fps`; a spread below `narrowest` cannot be told from none."""
        self.least, self.most = math.log(least_fps), math.log(most_fps)
        self.hint = None if hint_fps is None else math.log(hint_fps)
        self.spreads = np.geomspace(narrowest, WIDEST, SPREADS)
        self.trials: list[tuple[float, bool]] = []
        """Natural logarithm of the load, and whether the trial was clean."""
        # The limit may be beyond the loads that can be tried: then trials say on which side it is.
        self.ends = self.least - 1.0, self.most + 1.0
        self._lay(*self.ends)

    def add(self, load_fps: float, clean: bool) -> None:
        """Learns from one trial."""
        self.trials.append((math.log(load_fps), clean))
        self._learn(*self.trials[-1])
        self._weigh()
        self._follow()

    def limit(self, most_fps: float) -> None:
        """Lowers the highest load that can be tried."""
        self.most = max(self.least, math.log(most_fps))

    def load_fps(self, share: float) -> float:
        """The load at which this share of the trials that do not lapse is expected to be clean, among those that can
        be tried."""
        weight = self.weight @ (1 - LAPSES)
        weight /= weight.sum()
        low, high = self.least, self.most
        for _ in range(20):
            middle = (low + high) / 2
            expected = float((weight * ndtr(self._deviates(middle))).sum())
            low, high = (middle, high) if expected > share else (low, middle)
        return math.exp(high if high == self.most else low)

    def critical_fps(self) -> Estimate:
        """The load at which half of all trials are clean, in frames/s."""
        return self._at(self.halves, self.half_order)

    def clean_fps(self, share: float) -> Estimate:
        """The load at which this share of all trials is clean, in frames/s; 0 where more trials than this lapse."""
        logs = self._logs_at(share)
        return self._at(logs, np.argsort(logs, axis=None))

    def spread(self) -> Estimate:
        """Standard deviation of the limit, relative to it."""
        return Estimate(*np.exp(_between(np.log(self.spreads), self.weight.sum(axis=(0, 2)))))

    def lapses(self) -> Estimate:
        """Share of the trials that lose a frame at any load."""
        return Estimate(*_between(LAPSES, self.weight.sum(axis=(0, 1))))

    def above(self, load_fps: float) -> float:
        """Probability that the critical load is above a load."""
        return float(self.weight[self.halves > math.log(load_fps)].sum())

    def _lay(self, low: float, high: float) -> None:
        self.centres = np.linspace(low, high, LOADS)[:, None]
        logs = np.zeros((LOADS, 1, 1))
        if self.hint is not None:
            # Half of the prior knows nothing.
            peak = 1 / (math.pi * _HINT_WIDTH * (1 + ((self.centres - self.hint) / _HINT_WIDTH) ** 2))
            logs = np.log(peak + 1 / (self.ends[1] - self.ends[0]))[..., None]
        edges = np.concatenate([[0], (LAPSES[1:] + LAPSES[:-1]) / 2, [0.5]])
        prior = -np.diff((1 - edges) ** _LAPSE_PRIOR)
        self.logs: Array = logs + _SPREAD_PRIOR * np.log(self.spreads)[:, None] + np.log(prior)
        self.halves = self._logs_at(0.5)
        self.half_order = np.argsort(self.halves, axis=None)
        for log_load, clean in self.trials:
            self._learn(log_load, clean)
        self._weigh()

    def _learn(self, log_load: float, clean: bool) -> None:
        below = self._deviates(log_load)
        if clean:
            self.logs += log_ndtr(below)[..., None] + np.log1p(-LAPSES)
        else:
            self.logs += np.log(np.maximum(LAPSES + (1 - LAPSES) * ndtr(-below)[..., None], 1e-300))

    def _weigh(self) -> None:
        weight = np.exp(self.logs - self.logs.max())
        self.weight: Array = weight / weight.sum()

    def _follow(self) -> None:
        """Lays a new grid where the present one is far too wide or too narrow."""
        marginal = self.weight.sum(axis=(1, 2))
        cumulated, logs = np.cumsum(marginal), self.centres[:, 0]
        low, high = (float(logs[np.searchsorted(cumulated, at)]) for at in (_TAIL, 1 - _TAIL))
        step = float(logs[1] - logs[0])
        margin = max(high - low, step) / 2
        wanted = max(self.ends[0], low - margin), min(self.ends[1], high + margin)
        cut = [
            logs[0] > self.ends[0] + step and marginal[:4].sum() > _TAIL,
            logs[-1] < self.ends[1] - step and marginal[-4:].sum() > _TAIL,
        ]
        if any(cut) or logs[-1] - logs[0] > _ZOOM * (wanted[1] - wanted[0]):
            self._lay(*wanted)

    def _deviates(self, log_load: float) -> Array:
        """Standard deviations by which a load is below the centre."""
        found: Array = 3 * (1 - np.exp((log_load - self.centres) / 3)) / self.spreads
        return found

    def _logs_at(self, share: float) -> Array:
        """Logarithm of the load with this share of clean trials, at each point of the grid."""
        possible = np.minimum(share / (1 - LAPSES), 1.0)
        root = 1 - self.spreads[:, None] * ndtri(np.minimum(possible, 1 - 1e-6)) / 3
        found: Array = self.centres[..., None] + 3 * np.log(np.maximum(root, 1e-9))
        return np.where(possible < 1, found, _NEVER)

    def _at(self, logs: Array, order: npt.NDArray[np.intp]) -> Estimate:
        ordered = self.weight.ravel()[order]
        found = np.interp(_QUANTILES, np.cumsum(ordered) - ordered / 2, logs.ravel()[order])
        return Estimate(*np.where(found > self.ends[0] - 5, np.exp(found), 0.0).tolist())


def _between(points: Array, weight: Array) -> list[float]:
    """Quantiles of a density that is known at points, each of which stands for the values around it."""
    edges = np.concatenate([[points[0]], (points[1:] + points[:-1]) / 2, [points[-1]]])
    found: list[float] = np.interp(_QUANTILES, np.concatenate([[0], np.cumsum(weight)]), edges).tolist()
    return found
