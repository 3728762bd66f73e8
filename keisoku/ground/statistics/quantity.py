"""A figure: value, unit, uncertainty, and the budget of the uncertainty. It never formats itself."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from keisoku.frozen import Frozen
from keisoku.language import Text

Covers = Literal["", "resolution", "observed", "repetitions"]
"""What the uncertainty of a figure is that of (`Quantity.covers`)."""


class Contribution(Frozen):
    """One line of an error budget (GUM, JCGM 100:2008, 4 and 5); made by `keisoku/ground/statistics/budget.py`."""

    source: Text
    kind: Literal["A", "B"]
    """Found by statistics of repeated observations (A), or otherwise (B)."""
    distribution: Literal["normal", "rectangular", "triangular"]
    value: float
    """Standard deviation, or half the width, in the unit of the source."""
    divisor: float
    """Turns `value` into a standard uncertainty."""
    sensitivity: float
    """Change of the figure by a change of the source."""
    uncertainty: float
    """Standard uncertainty (k = 1) of the figure from this source alone, in the figure's unit."""


class Interval(Frozen):
    """A confidence interval that need not be symmetrical, in the unit of its figure."""

    lower: float
    upper: float
    confidence: float = 0.95


class Quantity(Frozen):
    """A figure. `uncertainty` is expanded (k = 2) in the same unit; None: not known, which is shown with the figure."""

    value: float
    unit: str
    uncertainty: float | None = None
    interval: Interval | None = None
    """Shown in place of `uncertainty` where the uncertainty is not symmetrical."""
    budget: tuple[Contribution, ...] = ()
    """The contributions to `uncertainty`, where it was combined from several."""
    bound: Literal["", "at least", "at most"] = ""
    """Not empty: the figure itself is not known, only that it is at least or at most `value`, as where the tester and
    not the device was the limit. A bound has no uncertainty and no interval."""
    covers: Covers = ""
    """'resolution': `uncertainty` and `interval` are the resolution of this one run and do not contain how the figure
    varies between runs. 'observed': they are those of one observation, such as the longest one of a run, and say
    nothing of what another run would observe. 'repetitions': they are only how the figure repeats, because what the
    tester adds to it was not calibrated; figures of one tester are compared by them, and none is shown with them."""

    @model_validator(mode="after")
    def _a_bound_is_one_sided(self) -> Self:
        if self.bound and (self.uncertainty is not None or self.interval is not None):
            raise ValueError(f"a figure that is '{self.bound}' its value has no uncertainty and no interval")
        return self

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lower and upper end of where the figure lies in its unit, infinite on the open side of a bound; None if not
        known."""
        if self.bound:
            return (self.value, math.inf) if self.bound == "at least" else (-math.inf, self.value)
        if self.interval is not None:
            return self.interval.lower, self.interval.upper
        if self.uncertainty is None:
            return None
        return self.value - self.uncertainty, self.value + self.uncertainty

    @property
    def negated(self) -> Quantity:
        """The figure with the other sign, without its budget. It must be no bound, which would be one of the other
        side."""
        ends = self.interval and Interval(
            lower=-self.interval.upper, upper=-self.interval.lower, confidence=self.interval.confidence
        )
        return self.model_copy(update={"value": -self.value, "interval": ends, "budget": ()})

    def scaled(self, factor: float, unit: str) -> Quantity:
        """The figure times an exact number above zero, in another unit; without its budget, which is in the old one."""
        changed: dict[str, Any] = {"value": self.value * factor, "unit": unit, "budget": ()}
        if self.uncertainty is not None:
            changed["uncertainty"] = self.uncertainty * factor
        if self.interval is not None:
            ends = {"lower": self.interval.lower * factor, "upper": self.interval.upper * factor}
            changed["interval"] = self.interval.model_copy(update=ends)
        return self.model_copy(update=changed)

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        absent = {name for name in ("budget", "interval", "bound", "covers") if not getattr(self, name)}
        return {key: value for key, value in values.items() if key not in absent}


def count(number: int, unit: str = "") -> Quantity:
    """So many of what the unit says, which is exact."""
    return Quantity(value=number, unit=unit, uncertainty=0.0)
