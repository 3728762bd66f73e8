"""Detects changes of a system: a two-sided cumulative sum (CUSUM) over several series.

Page 1954; the reference is what the first intervals showed, so nothing has to be known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.change_points import noise
from keisoku.ground.statistics.uncertainty import deviation

Floats = NDArray[np.float64]

SLACK = 1.0
"""Slack of each interval in standard deviations: half of the smallest change to be detected."""
ALARM = 10.0
"""Sum of standard deviations beyond the slack that is a change. Of fifty steady runs of a thousand intervals none
alarmed; a step of ten standard deviations was noticed after two to six intervals."""
MOST = 6.0
"""Standard deviations that a single interval may add: one stall of a host is not a change, two in a row may be."""
STEP = 12.0
"""Standard errors, by the scatter between neighbours, that are a step within the reference."""
LEAST_SD = 0.01
"""Natural logarithm: changes of a per cent or two are ignored whatever the noise."""


@dataclass
class ChangeWatch:
    """Given one row of figures (natural logarithms) per interval, returns which of them has changed."""

    names: Sequence[str]
    reference: int = 10
    """Intervals from which mean and noise are taken."""
    alarm: float = ALARM
    least: Sequence[float] = ()
    """Standard deviation of each figure that is known already, as of a host that drifts for longer than the reference
    takes; none given: `LEAST_SD`."""
    _first: list[Floats] = field(default_factory=list)
    _mean: Floats = field(default_factory=lambda: np.zeros(0))
    _sd: Floats = field(default_factory=lambda: np.zeros(0))
    _up: Floats = field(default_factory=lambda: np.zeros(0))
    _down: Floats = field(default_factory=lambda: np.zeros(0))

    def tell(self, figures: Sequence[float] | Floats) -> str | None:
        """The name of the figure that has changed by now, the most changed one; None if there is none. Each is in its
        own unit."""
        row = np.asarray(figures, dtype=np.float64)
        if len(self._first) < self.reference:
            self._first.append(row)
            return self._refer(np.asarray(self._first)) if len(self._first) == self.reference else None
        away = np.clip((row - self._mean) / self._sd, -MOST, MOST)
        # The mean itself is uncertain; what it is off by must not add up.
        slack = SLACK + 1 / math.sqrt(self.reference)
        self._up = np.maximum(0, self._up + away - slack)
        self._down = np.maximum(0, self._down - away - slack)
        sums = np.maximum(self._up, self._down)
        worst = int(np.argmax(sums))
        return self.names[worst] if sums[worst] > self.alarm else None

    def _refer(self, first: Floats) -> str | None:
        """Takes mean and noise of every figure; the name of one that has a step already in these intervals.

        Few intervals give an inexact noise, and a noise that is too small would alarm for ever: so the larger of
        two estimates is used, plus two of its own standard errors.
        """
        count = len(first)
        least = self.least or [LEAST_SD] * first.shape[1]
        steady = np.asarray([noise(*each) for each in zip(first.T, least, strict=True)])
        spread = np.maximum(steady, [deviation(column) for column in first.T])
        self._mean, self._sd = first.mean(axis=0), spread * (1 + 2 / math.sqrt(2 * (count - 1)))
        self._up, self._down = np.zeros(first.shape[1]), np.zeros(first.shape[1])
        # A step would make the mean of two loads the reference, and so large a scatter that nothing ever alarmed.
        worst = steps(first, steady)
        return self.names[int(np.argmax(worst))] if worst.max() > STEP else None


def steps(rows: Floats, sd: Floats) -> Floats:
    """For each column of five rows or more, the largest step anywhere within, in standard errors by that noise, which
    is in the unit of its column."""
    count = len(rows)
    found = [
        np.abs(rows[:split].mean(axis=0) - rows[split:].mean(axis=0))
        / (sd * math.sqrt(1 / split + 1 / (count - split)))
        for split in range(2, count - 1)
    ]
    return np.asarray(np.max(found, axis=0), dtype=np.float64)
