"""The machine's own limit: throughput on a bare path, with which that of a device is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.language import phrase
from keisoku.subjects.stream.outcome import CellOutcome
from keisoku.subjects.stream.schedule import Cell

BARE = phrase("own ceiling: both ends run on this machine, joined by a veth, and share its CPUs")


@dataclass(frozen=True)
class Ceiling:
    """The ceiling of each cell in bit/s."""

    measured: Mapping[Cell, Sequence[float]]
    source: str

    @classmethod
    def from_outcomes(cls, outcomes: Sequence[CellOutcome], earlier: Mapping[str, Any] | None = None) -> Ceiling | None:
        """From the trials on the bare path, or from those of an earlier run (`values`: [setup, bytes, bit/s …])."""
        if earlier:
            values = {Cell(int(row[0]), int(row[1])): [float(bps) for bps in row[2:]] for row in earlier["values"]}
            return cls(values, phrase("own ceiling: the best of {run}", run=earlier["run"]))
        values = {one.cell: one.values for one in outcomes if one.path == "bare" and one.values}
        return cls(values, BARE) if values else None

    @property
    def fastest_cell(self) -> Cell:
        """The cell at which the machine is fastest."""
        return max(self.measured, key=lambda cell: float(np.mean(self.measured[cell])))

    def values(self, cell: Cell) -> Sequence[float]:
        """The throughput of the single trials in bit/s."""
        return self.measured[cell]

    def bps(self, cell: Cell) -> float:
        """At a cell's size, between the nearest ones that were measured of its set-up (of all, if of none)."""
        same = {one.message_bytes: np.mean(values) for one, values in self.measured.items() if one.setup == cell.setup}
        if not same:
            return float(np.mean(self.measured[self.fastest_cell]))
        sizes = sorted(same)
        return float(np.interp(np.log(cell.message_bytes), np.log(sizes), [float(same[size]) for size in sizes]))

    def limits(self, cell: Cell, bps: float, near: float) -> bool:
        """True if a throughput comes as near to the ceiling as the share `near`, or above it."""
        return bps >= (1 - near) * self.bps(cell)

    def figure(self, cell: Cell) -> Quantity:
        """The ceiling at a cell."""
        values = self.measured.get(cell, ())
        reach = half_width(values) if len(values) > 1 else None
        return Quantity(value=self.bps(cell), unit="bit/s", uncertainty=reach)
