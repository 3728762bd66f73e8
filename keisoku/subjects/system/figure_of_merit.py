"""Scores as figures with a unit: a score is the natural logarithm of such a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.ground.entry import unit_of_each
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.system.objective import Goal

_MOST = 700.0
"""Natural logarithm of about the largest number there is."""


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
        return self.scale * math.exp(min(_MOST, -score if self.less_is_better else score))

    def mean(self, scores: Sequence[float]) -> Quantity:
        """Of some evaluations: their geometric mean, with Student's interval of the scores, which are natural
        logarithms of it as a ratio to its unit; unknown of a single one."""
        score, reach = math.fsum(scores) / len(scores), half_width(scores)
        value = self.value(score)
        if not math.isfinite(reach):
            return Quantity(value=value, unit=self.unit)
        lower, upper = sorted((self.value(score - reach), self.value(score + reach)))
        interval = Interval(lower=lower, upper=upper)
        return Quantity(value=value, unit=self.unit, uncertainty=max(value - lower, upper - value), interval=interval)


FIGURES = {
    Goal.SUM_REQUESTS: FigureOfMerit("requests", "requests/s", 1.0),
    Goal.SUM_BYTES: FigureOfMerit("total_rate", "bit/s", 1.0),
    Goal.SUM_LOGS: FigureOfMerit("geometric_mean_rate", "bit/s", 1.0),
    Goal.WORST_P99: FigureOfMerit("worst_99_%", "ns", 1e9, less_is_better=True),
}
"""By goal."""


def merit_units(units: Mapping[str, str], plan: Mapping[str, Any]) -> dict[str, str]:
    """The unit of each figure of these, which are listed by their unit, and of the plan's goal."""
    merit = FIGURES[Goal(plan["objective"])]
    return unit_of_each(units) | {merit.name: merit.unit}
