"""What a measurement of a clock or a path found: rows of figures, flags, remarks.

An observation is computed from the raw rows of its directory alone (`keisoku/run/observation_directory.py`) and
can be computed again. It never formats: digits and layout belong to `report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from keisoku.analysis.quantity import Quantity


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Interval(_Model):
    """A confidence interval, in the unit of its figure; for figures whose interval is not symmetrical."""

    lower: float
    upper: float
    confidence: float = 0.95


class ObservedRow(_Model):
    """One row of a table: a hop, a packet size, a source of time, an averaging time."""

    name: str
    figures: dict[str, Quantity]
    """Keyed by a name such as 'forward_rate'; a table's head is made from it."""
    intervals: dict[str, Interval] = {}
    """Of those figures whose uncertainty is an interval; shown in place of `Quantity.uncertainty`."""
    at: Quantity | None = None
    """Where the row stands on a plot's axis, if it has a place there: a size, an averaging time."""
    group: str = ""
    """Rows of one group make one table, whose first column has this head: 'Hop', 'Averaging time'."""
    remark: str = ""

    @model_validator(mode="after")
    def _intervals_have_figures(self) -> Self:
        if strange := sorted(set(self.intervals) - set(self.figures)):
            raise ValueError(f"an interval without a figure: {', '.join(strange)}")
        return self


class Flag(_Model):
    """Something found that changes what the figures mean: a token bucket, a circular reference, a step."""

    name: str
    """Short and fixed, for programs: 'token-bucket'."""
    text: str
    """One sentence for people."""
    figures: dict[str, Quantity] = {}


class Observation(_Model):
    """The answer of one measurement."""

    kind: str
    """Which command measured: 'clock-stability', 'path-one-packet'."""
    title: str
    """What was measured, for people: 'TSC against CLOCK_MONOTONIC_RAW'."""
    rows: tuple[ObservedRow, ...] = ()
    flags: tuple[Flag, ...] = ()
    remarks: tuple[str, ...] = ()

    def groups(self) -> dict[str, Sequence[ObservedRow]]:
        """Rows by group, both in the order in which they were given."""
        found: dict[str, list[ObservedRow]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return dict(found)

    def flagged(self, name: str) -> bool:
        """True if a flag of that name was raised."""
        return any(flag.name == name for flag in self.flags)
