"""The attempts at the runs of a campaign: kept in `runs.jsonl`, counted, told to an observer. It measures nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from keisoku.ground.entry import Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.running.campaign.settings import CampaignSettings, Cell, Planned

RUNS = "runs.jsonl"
"""A line for each attempt, which has failed or finished its run."""


@dataclass(frozen=True)
class Standing:
    """How far a cell has come."""

    cell: Cell
    wanted: int
    finished: int = 0
    failed: int = 0
    """Attempts."""
    now: int = 0
    """Runs that are measured."""


@runtime_checkable
class Standings(Protocol):
    """An observer that shows how far every cell has come."""

    def stands(self, standings: Sequence[Standing]) -> None:
        """Every cell, in the order of the plan."""


class Log:
    """Keeps what becomes of each attempt."""

    def __init__(self, work: Work[CampaignSettings], directory: RunDirectory, every: Sequence[Cell]) -> None:
        self._work, self._directory = work, directory
        self._standings = {cell.name: Standing(cell, work.settings.repetitions) for cell in every}
        self._whole = work.settings.repetitions * len(every)
        directory.drop_half_line(RUNS)
        for line in lines(directory):
            self._count(line["cell"], bool(line["failed"]))
        self._tell()

    @property
    def share(self) -> tuple[float, float]:
        """How much of the campaign is done before and after the next run."""
        finished = sum(each.finished for each in self._standings.values())
        return finished / self._whole, (finished + 1) / self._whole

    def begins(self, run: Planned) -> None:
        """A run is measured now."""
        self._change(run.cell.name, now=self._standings[run.cell.name].now + 1)
        self._tell()

    def ended(self, run: Planned, seconds: float, failed: str = "", worker: str = "") -> None:
        """An attempt is over: it finished the run, or `failed` for this reason; on a `worker` of a cluster."""
        line = {
            "run": run.name,
            "cell": run.cell.name,
            "number": run.number,
            "seconds": round(seconds, 3),
            "failed": failed,
            "worker": worker,
        }
        self._directory.append_line(RUNS, json.dumps(line).encode())
        self._count(run.cell.name, bool(failed))
        if failed:
            self._work.observer.warn(phrase("{run} failed: {why}", run=run.name, why=failed))
        self._work.observer.came_to(self.share[0], 1.0, run.name)
        self._tell()

    def _count(self, cell: str, failed: bool) -> None:
        found = self._standings[cell]
        now = max(0, found.now - 1)
        self._change(cell, failed=found.failed + failed, finished=found.finished + (not failed), now=now)

    def _change(self, cell: str, **changes: Any) -> None:
        self._standings[cell] = replace(self._standings[cell], **changes)

    def _tell(self) -> None:
        if isinstance(details := self._work.observer.details, Standings):
            details.stands(list(self._standings.values()))


def lines(directory: RunDirectory) -> list[dict[str, Any]]:
    """What became of each attempt, in the order of time."""
    return [json.loads(line) for line in directory.lines(RUNS)]
