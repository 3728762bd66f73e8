"""A figure: value, unit, uncertainty, and the budget of the uncertainty. It never formats itself."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Contribution(_Model):
    """One line of an error budget (GUM, JCGM 100:2008, 4 and 5); made by `keisoku/analysis/budget.py`."""

    source: str
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


class Interval(_Model):
    """A confidence interval that need not be symmetrical, in the unit of its figure."""

    lower: float
    upper: float
    confidence: float = 0.95


class Quantity(_Model):
    """A figure. `uncertainty` is expanded (k = 2) in the same unit; None: not known, which is shown with the figure."""

    value: float
    unit: str
    uncertainty: float | None = None
    interval: Interval | None = None
    """Shown in place of `uncertainty` where the uncertainty is not symmetrical."""
    budget: tuple[Contribution, ...] = ()
    """The contributions to `uncertainty`, where it was combined from several."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lower and upper end of the figure's interval; None if that is not known."""
        if self.interval is not None:
            return self.interval.lower, self.interval.upper
        if self.uncertainty is None:
            return None
        return self.value - self.uncertainty, self.value + self.uncertainty

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        absent = {name for name in ("budget", "interval") if not getattr(self, name)}
        return {key: value for key, value in values.items() if key not in absent}
