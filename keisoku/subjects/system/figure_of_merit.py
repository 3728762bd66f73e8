"""Scores as figures with a unit: a score is the natural logarithm of such a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.system.objective import Goal


@dataclass(frozen=True)
class FigureOfMerit:
    """How the figure of a goal is named and counted."""

    name: str
    """As a figure of a row; without '_' for a plot's axis."""
    unit: str
    """Of `keisoku.ground.report.digits`."""
    scale: float
    """What a figure in the objective's own unit is multiplied by."""
    less_is_better: bool = False

    def value(self, score: float) -> float:
        """The figure, in `unit`."""
        return self.scale * math.exp(-score if self.less_is_better else score)

    def mean(self, scores: Sequence[float]) -> Quantity:
        """Of some evaluations (their geometric mean), with twice its standard error; unknown after a single one."""
        value = self.value(float(np.mean(scores)))
        if len(scores) < 2:
            return Quantity(value=value, unit=self.unit)
        error = float(np.std(scores, ddof=1)) / math.sqrt(len(scores))
        return Quantity(value=value, unit=self.unit, uncertainty=2 * value * error)


FIGURES = {
    Goal.SUM_REQUESTS: FigureOfMerit("requests", "requests/s", 1.0),
    Goal.SUM_BYTES: FigureOfMerit("total_rate", "bit/s", 1.0),
    Goal.SUM_LOGS: FigureOfMerit("geometric_mean_rate", "bit/s", 1.0),
    Goal.WORST_P99: FigureOfMerit("worst_99_%", "ns", 1e9, less_is_better=True),
}
"""By goal."""
