"""`CellSchedule`: which cell is measured next, until each was measured often enough, and then around the best ones.

It measures nothing and reads no clock. A round holds every cell that is not settled once, in random order, so
that what changes slowly on the host meets all cells alike.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.subjects.stream.best_set import best_set
from keisoku.subjects.stream.confidence import Confidence
from keisoku.subjects.stream.sizes import between


@dataclass(frozen=True, order=True)
class Cell:
    """A set-up (its place in a list) and a message size in bytes."""

    setup: int
    message_bytes: int


class CellSchedule:
    """Ask `next`, measure, `tell`. `refinements` times sizes halfway to the neighbours of the best set are added."""

    def __init__(self, cells: Sequence[Cell], rule: Confidence, seed: int, refinements: int = 0) -> None:
        if not cells:
            raise ValueError("there is nothing to measure")
        self.rule = rule
        self.values: dict[Cell, list[float]] = {cell: [] for cell in dict.fromkeys(cells)}
        self._random = random.Random(seed)
        self._round: list[Cell] = []
        self._refinements = refinements

    def next(self) -> Cell | None:
        """The cell to measure; None when all is settled."""
        while not self._round:
            open_ = [cell for cell, values in self.values.items() if not self.rule.settled(values)]
            if not open_:
                if self._refinements == 0 or not self._refine():
                    return None
                continue
            self._random.shuffle(open_)
            self._round = open_
        return self._round.pop()

    def tell(self, cell: Cell, value: float) -> None:
        """The figure that was measured for a cell, in any one unit; greater is better."""
        self.values[cell].append(value)

    @property
    def unsettled(self) -> list[Cell]:
        """Cells that did not meet the rule within the greatest number of trials."""
        return [cell for cell, values in self.values.items() if not self.rule.met(values)]

    def remaining(self) -> int:
        """Least number of further trials, by what is known now."""
        return sum(
            0 if self.rule.settled(values) else max(self.rule.least - len(values), 1) for values in self.values.values()
        )

    def _refine(self) -> bool:
        self._refinements -= 1
        added = False
        for best in best_set(self.values):
            sizes = [cell.message_bytes for cell in self.values if cell.setup == best.setup]
            for size in between(sizes, best.message_bytes):
                added |= self.values.setdefault(Cell(best.setup, size), []) == []
        return added
