"""The limits among which a search chooses: log-spaced rates from a floor to line rate, and no limit. Sets none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keisoku.errors import PlanError
from keisoku.language import phrase

Limit = float | None
"""Bit/s at the switch port; None is no limit at all, which is not the same as a limit at line rate: shaping costs."""

JUST_BELOW = 0.95
"""Share of the rate without a limit at which a limit surely takes effect."""


def limit_text(limit: Limit) -> str:
    """A limit as text."""
    if limit is None:
        return phrase("no limit")
    return f"{limit / 1e6:,.0f} Mb/s" if limit >= 1e9 else f"{limit / 1e6:.4g} Mb/s"


@dataclass(frozen=True)
class Candidates:
    """Rates from `floor_bps`, below which nothing is ever tried, up to the port's `line_bps`; then no limit."""

    floor_bps: float
    line_bps: float
    count: int = 97
    delivered_bps: float | None = None
    """Rate delivered to the client without a limit, if it was observed."""

    def __post_init__(self) -> None:
        if not 0 < self.floor_bps < self.line_bps:
            raise PlanError("floor", f"{self.floor_bps:g} b/s is not between zero and line rate", "give a lower floor")
        if self.count < 3:
            raise PlanError("candidates", f"{self.count} rates are too few for a search", "give three or more")

    @property
    def limits(self) -> list[Limit]:
        """All candidates, lowest rate first, no limit last."""
        return [*np.geomspace(self.floor_bps, self.line_bps, self.count).tolist(), None]

    @property
    def positions(self) -> list[float]:
        """Natural logarithms of the rates in bit/s; no limit stands where line rate stands."""
        return [math.log(limit or self.line_bps) for limit in self.limits]

    @property
    def binding(self) -> int | None:
        """The rate that just begins to hold back what is delivered; None if that was not seen.

        A limit there costs nearly nothing and moves the queue from the server to the port. That may be the whole gain,
        in a peak narrower than the distance of the first points.
        """
        if self.delivered_bps is None or not self.floor_bps < JUST_BELOW * self.delivered_bps < self.line_bps:
            return None
        positions = self.positions
        wanted = math.log(JUST_BELOW * self.delivered_bps)
        return min(range(self.count), key=lambda index: abs(positions[index] - wanted))

    @property
    def unlimited(self) -> int:
        """The index of no limit."""
        return self.count
