"""What a method found: rows of quantities, each with unit and uncertainty, and what was deviated from.

A result is computed from trial records alone and can be computed again. It never formats:
digits and layout belong to `report`.
"""

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


class Quantity(_Model):
    """A figure. `uncertainty` is expanded (k = 2) in the same unit; None: not known, said so when shown."""

    value: float
    unit: str
    uncertainty: float | None = None
    budget: tuple[Contribution, ...] = ()
    """What `uncertainty` consists of, where it was put together from parts."""

    @model_serializer(mode="wrap")
    def _without_empty_budget(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        return values if self.budget else {key: value for key, value in values.items() if key != "budget"}


class Row(_Model):
    """All figures of one frame size (or of one load, where a method has several for a size)."""

    frame_bytes: int
    case: str = ""
    """Which row of several of one size this is, for people: '1 to 5', 'bursts of 64'."""
    figures: dict[str, Quantity]
    """Keyed by the name that `--require` uses: 'throughput', 'mean', 'min', 'max', 'loss', …"""
    trial: int | None = None
    """Index of the trial record that shows this row's behaviour over time and its histogram."""
    remark: str = ""


class Line(_Model):
    """Least-squares line y = slope·x + constant, with standard errors (E1)."""

    slope: Quantity
    constant: Quantity
    slope_error: float
    """Asymptotic standard error, in the slope's unit."""
    constant_error: float
    points: list[tuple[float, float]]
    """What was fitted: (frame bytes, latency ns)."""


class Result(_Model):
    """One method's answer for one device."""

    method: str
    """Name of the procedure (`keisoku/plan/procedure.py`)."""
    rows: list[Row]
    line: Line | None = None
    deviations: list[str] = []
    """Where the procedure differs from the standard it is named after, clause first."""
    remarks: list[str] = []
