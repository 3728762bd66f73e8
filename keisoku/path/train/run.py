"""Trains of a run on disk, as they are seen: parts of packets, and facts, so that a run that is killed keeps both.

It measures nothing and computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from keisoku.errors import PlanError
from keisoku.path.train.log import TrainLog
from keisoku.run.observation_directory import ObservationDirectory

TABLE = "packets"
ENDED = "ended"
"""Of the facts: whether the measurement came to its end. Runs of versions that wrote at the end only have none."""
_FACTS = "facts.json"


class TrainRun:
    """Writes a run: trains while they are measured, and the facts whenever more is known."""

    def __init__(self, directory: ObservationDirectory) -> None:
        self._directory = directory

    def append(self, log: TrainLog) -> None:
        """Keeps trains; returns when they are on the disk. Raises KeisokuError if they cannot be written."""
        self._directory.append(TABLE, log.table())

    def know(self, facts: Mapping[str, object]) -> None:
        """Keeps what is known so far in place of what was."""
        self._write({**facts, ENDED: False})

    def end(self, facts: Mapping[str, object]) -> None:
        """Keeps all that is known of a measurement that came to its end."""
        self._write({**facts, ENDED: True})

    def _write(self, facts: Mapping[str, object]) -> None:
        self._directory.write_text(_FACTS, json.dumps(facts, indent=1) + "\n")


def read_trains(directory: ObservationDirectory) -> tuple[TrainLog, dict[str, Any]]:
    """What a run holds, finished or not. Raises PlanError if it holds no trains, or no facts."""
    if not directory.parts(TABLE):
        raise PlanError("run", f"{directory.path} was stopped before any train was measured", "measure again")
    try:
        facts = json.loads((directory.path / _FACTS).read_bytes())
    except (OSError, ValueError) as error:
        raise PlanError("run", f"{directory.path / _FACTS} is missing or damaged", "measure again") from error
    return TrainLog.of(directory.rows(TABLE)), facts
