"""Trains of a run on disk, written while they are measured, with facts, so that a killed run keeps both.

It measures nothing and computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.path.train.log import TrainLog

TABLE = "packets"
ENDED = "ended"
"""Of the facts: whether the measurement came to its end."""


class TrainRun:
    """Writes a run: trains while they are measured, and the facts whenever more is known."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory

    def append(self, log: TrainLog) -> None:
        """Keeps trains; returns when they are on the disk. Raises KeisokuError if they cannot be written."""
        self._directory.append(TABLE, log.table())

    def know(self, facts: Mapping[str, object]) -> None:
        """Keeps what is known so far in place of what was."""
        self._directory.know(**facts, **{ENDED: False})

    def end(self, facts: Mapping[str, object]) -> None:
        """Keeps all that is known of a measurement that came to its end."""
        self._directory.know(**facts, **{ENDED: True})


def read_trains(directory: RunDirectory) -> tuple[TrainLog, dict[str, Any]]:
    """What a run holds, finished or not. Raises PlanError if it holds no trains, or no facts."""
    if not directory.parts(TABLE):
        raise PlanError("run", f"{directory.path} was stopped before any train was measured", "measure again")
    return TrainLog.from_table(directory.rows(TABLE)), directory.facts
