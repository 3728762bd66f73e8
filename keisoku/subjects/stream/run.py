"""Writes rows and facts of a measurement of streams to the run's directory, each trial at once.

A run that is continued replays the trials that it holds, as the schedule depends on the results alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from keisoku.errors import EngineError, KeisokuError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.stream.flow.report import Row
from keisoku.subjects.stream.flow.table import table
from keisoku.subjects.stream.schedule import Cell, CellSchedule

TABLE = "streams"
ENDED = "ended"
"""Of the facts: whether the measurement came to its end."""
_FAILURES = 3

Measure = Callable[[Cell], Sequence[Row]]
"""Carries out one trial of a cell."""


class StreamRun:
    """Writes a run; trials that its directory holds already are not measured again."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._held: dict[str, deque[list[Row]]] = {}
        self._number = 0
        for rows in _trials(directory):
            self._held.setdefault(str(rows[0]["path"]), deque()).append(rows)
            self._number = int(rows[0]["number"]) + 1

    @property
    def facts(self) -> dict[str, Any]:
        """The facts known so far, besides the rows."""
        return self._directory.facts

    def know(self, **facts: Any) -> None:
        """Keeps facts."""
        self._directory.know(**facts)

    def campaign(
        self, path: str, campaign: CellSchedule, measure: Measure, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Measures until nothing is left; a first trial, which finds caches cold, is kept and does not count.

        Raises EngineError after three trials in a row in which a stream broke, and KeisokuError if trials that the
        directory holds are not those of this campaign.
        """
        held = self._held.pop(path, deque())
        first = next(iter(campaign.values))
        if held:
            _same(held.popleft(), first)
        else:
            self._keep(path, first, measure(first), warm_up=True)
        failures = 0
        while (cell := campaign.next()) is not None:
            is_held = bool(held)
            rows = _same(held.popleft(), cell) if is_held else self._keep(path, cell, measure(cell))
            errors = [str(row["error"]) for row in rows if row["error"]]
            failures = failures + 1 if errors and not is_held else 0
            if failures >= _FAILURES:
                raise EngineError(f"three trials in a row failed ({errors[0]}); check both hosts and measure again")
            if not errors:
                campaign.tell(cell, total_bps(rows))
                if not is_held:
                    told(f"{path}: at least {campaign.remaining()} trials are left")

    def _keep(self, path: str, cell: Cell, rows: Sequence[Row], warm_up: bool = False) -> Sequence[Row]:
        place = {"number": self._number, "path": path, "setup": cell.setup, "warm_up": warm_up}
        self._number += 1
        self._directory.append(TABLE, table([{**row, **place} for row in rows]))
        return rows


def total_bps(rows: Sequence[Row]) -> float:
    """Received by all streams together, in bit/s."""
    return float(sum(8e9 * row["settled_bytes"] / row["settled_ns"] for row in rows if row["settled_ns"] > 0))


def _trials(directory: RunDirectory) -> list[list[Row]]:
    """Rows of each trial that is kept, in the order in which they were measured."""
    found: dict[int, list[Row]] = {}
    for part in directory.batches(TABLE):
        for row in part.to_pylist():
            found.setdefault(row["number"], []).append(row)
    return list(found.values())


def _same(rows: Sequence[Row], cell: Cell) -> Sequence[Row]:
    """The rows, if they are of that cell."""
    if (rows[0]["setup"], rows[0]["message_bytes"]) != (cell.setup, cell.message_bytes):
        raise KeisokuError(
            f"run: trial {rows[0]['number']} was of {rows[0]['message_bytes']} byte, and this version would have"
            f" measured {cell.message_bytes} byte; continue it with the version that began it"
        )
    return rows
