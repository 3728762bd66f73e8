"""Carries out a campaign of streams and keeps its rows; and the answer of a run, computed again from its files.

Rows are kept every few seconds, so that little is lost if the process is killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result
from keisoku.stream.analysis import analyse as analyse_rows
from keisoku.stream.flow.report import Row, table
from keisoku.stream.outcome import cell_outcomes
from keisoku.stream.plot import stream_plots
from keisoku.stream.schedule import Cell, CellSchedule
from keisoku.stream.settings import StreamSettings
from keisoku.stream.trial import StreamTrial

TABLE = "streams"
FACTS = "facts.json"
KINDS = {"tcp": "stream-tcp", "udp": "stream-udp"}
KEEP_S = 5.0
_FAILURES = 3

Measure = Callable[[Cell], Sequence[Row]]
"""Carries out one trial of a cell."""


class StreamRun:
    """Rows of a run on their way to its directory."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._waiting: list[Row] = []
        self._kept_s = time.monotonic()
        self._number = 0
        self.facts: dict[str, Any] = {}

    def campaign(
        self, path: str, campaign: CellSchedule, measure: Measure, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Measures until nothing is left; a first trial, which finds caches cold, is kept and does not count.

        Raises EngineError after three trials in a row in which a stream broke.
        """
        first = next(iter(campaign.values))
        self._keep(path, first, measure(first), warm_up=True)
        failures = 0
        while (cell := campaign.next()) is not None:
            rows = self._keep(path, cell, measure(cell))
            errors = [str(row["error"]) for row in rows if row["error"]]
            if errors:
                failures += 1
                if failures >= _FAILURES:
                    raise EngineError(
                        f"three trials in a row broke off ({errors[0]}); see to both hosts and measure again"
                    )
            else:
                failures = 0
                campaign.tell(cell, total_bps(rows))
                told(f"{path}: at least {campaign.left()} trials are left")
        self.flush()

    def know(self, **facts: Any) -> None:
        """Keeps what is no row."""
        self.facts |= facts
        self._directory.write_text(FACTS, json.dumps(self.facts, indent=1, default=str) + "\n")

    def flush(self) -> None:
        """Keeps what waits."""
        if self._waiting:
            self._directory.append(TABLE, table(self._waiting))
            self._waiting.clear()
        self._kept_s = time.monotonic()

    def _keep(self, path: str, cell: Cell, rows: Sequence[Row], warm_up: bool = False) -> Sequence[Row]:
        place = {"number": self._number, "path": path, "setup": cell.setup, "warm_up": warm_up}
        self._number += 1
        self._waiting += [{**row, **place} for row in rows]
        if time.monotonic() - self._kept_s > KEEP_S:
            self.flush()
        return rows


def total_bps(rows: Sequence[Row]) -> float:
    """Received by all streams together, in bit/s."""
    return float(sum(8e9 * row["settled_bytes"] / row["settled_ns"] for row in rows if row["settled_ns"] > 0))


def cells_of(settings: StreamSettings, setups: Sequence[dict[str, str]]) -> list[Cell]:
    """Every set-up with every size."""
    return [Cell(place, size) for place in range(len(setups)) for size in settings.sizes]


def trial_of(settings: StreamSettings, cell: Cell, limited: bool = True) -> StreamTrial:
    """Of a cell; without its rate if not `limited`. Raises PlanError for what cannot be."""
    try:
        trial = settings.trial(settings.setups()[cell.setup], cell.message_bytes)
    except ValueError as error:
        raise PlanError("streams", f"a trial cannot be: {error}", "see docs/stream.md for the limits") from error
    return trial if limited else trial.model_copy(update={"bps": None})


def analyse(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    """From a run's files alone, finished or not. Raises PlanError if they hold nothing."""
    settings = StreamSettings.model_validate(directory.plan)
    try:
        facts = json.loads((directory.path / FACTS).read_bytes())
    except (OSError, ValueError):
        facts = {}
    outcomes = cell_outcomes(directory.rows(TABLE).to_pylist())
    observation, found = analyse_rows(settings, outcomes, facts)
    return observation, stream_plots(settings, outcomes, found)
