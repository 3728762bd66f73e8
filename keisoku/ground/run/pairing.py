"""The figures of two sides, pair by pair, from the results of their runs. It judges nothing and formats nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keisoku.ground.run.repetition import Place, placed
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity

Side = Sequence[Result]
Both = tuple[Quantity, Quantity]
"""A figure of A, and one of B."""
APART = 8
"""Runs of two pairs that are further apart are no pair: what was long ago says little of the host."""


@dataclass
class Series:
    """One figure of one row on both sides, in the order of the pairs."""

    measurement: str
    figure: str
    frame_bytes: int
    case: str
    a: list[Quantity | None] = field(default_factory=list)
    """None: it was not measured, or the tester spoiled it."""
    b: list[Quantity | None] = field(default_factory=list)
    rows_a: list[Row | None] = field(default_factory=list)
    """The rows themselves; None: the run has no such row."""
    rows_b: list[Row | None] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    """Why it was not measured."""

    @property
    def pairs(self) -> list[Both | None]:
        """The pairs of (A, B); None where a side has no figure."""
        both = zip(self.a, self.b, strict=True)
        return [None if a is None or b is None else (a, b) for a, b in both]

    @property
    def matched(self) -> list[Both | None]:
        """`pairs`; and where only one side of a pair has a figure, that one with the last one that the other side had
        alone, at the place of the later one. A host that seldom leaves both runs of a pair alone leaves single ones
        alone far more often."""
        found: list[Both | None] = []
        waiting: list[tuple[int, Quantity | None, Quantity | None]] = []  # all of one side, the last one last
        for number, (a, b) in enumerate(zip(self.a, self.b, strict=True)):
            waiting = [each for each in waiting if number - each[0] <= APART]
            if (a is None) != (b is None):
                if waiting and (waiting[-1][1] is None) != (a is None):
                    _, earlier_a, earlier_b = waiting.pop()
                    a, b = a or earlier_a, b or earlier_b
                else:
                    waiting.append((number, a, b))
            found.append(None if a is None or b is None else (a, b))
        return found


def series(a: Sequence[Side], b: Sequence[Side], figures: Mapping[str, Sequence[str]]) -> list[Series]:
    """Every figure of `figures` (by the name of the result) in every row that some run of either side has.

    The sides may have different numbers of runs.
    """
    found = []
    for measurement, names in figures.items():
        tables = [_tables(side, measurement) for side in (a, b)]
        places = dict.fromkeys(place for table in (*tables[0], *tables[1]) for place in table)
        for place in sorted(places, key=lambda place: (place[0], place[1])):
            for name in names:
                one = Series(measurement, name, place[1], place[2])
                for kept, rows, side in ((one.a, one.rows_a, tables[0]), (one.b, one.rows_b, tables[1])):
                    rows.extend(table.get(place) for table in side)
                    kept.extend(_figure(row, name, one.causes) for row in rows)
                if any(each is not None for each in (*one.a, *one.b)):
                    found.append(one)
    return found


def causes(sides: Sequence[Side]) -> str:
    """Why nothing was measured, in the words of the first result that says it."""
    said = (
        result.failure or result.nothing_because or next((row.remark or row.invalid for row in result.rows), "")
        for side in sides
        for result in side
    )
    return next((cause for cause in said if cause), "")


def _tables(runs: Sequence[Side], measurement: str) -> list[dict[Place, Row]]:
    """A table for each run, empty for one without that result."""
    results = [next((each for each in run if each.measurement == measurement), None) for run in runs]
    tables = iter(placed([result for result in results if result is not None]))
    return [{} if result is None else next(tables) for result in results]


def _figure(row: Row | None, name: str, causes: list[str]) -> Quantity | None:
    if row is None or row.invalid or name not in row.figures:
        if row is not None and (cause := row.invalid or row.remark):
            causes.append(cause)
        return None
    return row.figures[name]
