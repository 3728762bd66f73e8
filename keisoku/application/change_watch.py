"""Whether a system is still the one it was: a two-sided cumulative sum over several series. Pure; it decides nothing.

Page 1954; the reference is what the first intervals showed, so nothing has to be known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keisoku.analysis.change_points import noise

Floats = NDArray[np.float64]

SLACK = 1.0
"""Standard deviations that are let pass in each interval: half of the smallest change worth noticing."""
ALARM = 10.0
"""Sum of standard deviations beyond the slack that is a change. Of fifty steady runs of a thousand intervals none
alarmed; a step of ten standard deviations was noticed after two to six intervals."""
MOST = 6.0
"""Standard deviations that a single interval may add: one stall of a host is not a change, two in a row may be."""
LEAST_SD = 0.01
"""Natural logarithm: changes of a per cent or two are left alone whatever the noise."""


@dataclass
class ChangeWatch:
    """Told one row of figures (natural logarithms) an interval; says which of them has changed."""

    names: Sequence[str]
    reference: int = 10
    """Intervals from which mean and noise are taken."""
    alarm: float = ALARM
    _first: list[Floats] = field(default_factory=list)
    _mean: Floats = field(default_factory=lambda: np.zeros(0))
    _sd: Floats = field(default_factory=lambda: np.zeros(0))
    _up: Floats = field(default_factory=lambda: np.zeros(0))
    _down: Floats = field(default_factory=lambda: np.zeros(0))

    def tell(self, figures: Sequence[float] | Floats) -> str | None:
        """The name of the figure that has changed by now, the most changed one; None if there is none."""
        row = np.asarray(figures, dtype=np.float64)
        if len(self._first) < self.reference:
            self._first.append(row)
            if len(self._first) == self.reference:
                self._refer(np.asarray(self._first))
            return None
        away = np.clip((row - self._mean) / self._sd, -MOST, MOST)
        # The mean itself is uncertain; what it is off by must not add up.
        slack = SLACK + 1 / math.sqrt(self.reference)
        self._up = np.maximum(0, self._up + away - slack)
        self._down = np.maximum(0, self._down - away - slack)
        sums = np.maximum(self._up, self._down)
        worst = int(np.argmax(sums))
        return self.names[worst] if sums[worst] > self.alarm else None

    def _refer(self, first: Floats) -> None:
        """Takes mean and noise of every figure.

        Few intervals tell the noise badly, and noise that was taken too small would alarm for ever: so the larger of
        two estimates, and two of its own standard errors more.
        """
        self._mean = first.mean(axis=0)
        spread = np.asarray([max(noise(series, LEAST_SD), float(series.std(ddof=1))) for series in first.T])
        self._sd = spread * (1 + 2 / math.sqrt(2 * (self.reference - 1)))
        self._up, self._down = np.zeros(first.shape[1]), np.zeros(first.shape[1])
