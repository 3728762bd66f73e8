"""A finished run of a device: the plan, the context, the trial records and the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True)
class DeviceRun:
    """Contents of the run's directory; `context` describes the host and the tester."""

    directory: Path
    plan: dict[str, Any]
    context: dict[str, Any]
    records: list[TrialRecord]
    results: list[Result]

    @classmethod
    def from_directory(cls, directory: RunDirectory, results: list[Result] | None = None) -> DeviceRun:
        """The run in a directory, with its results or with those given. Raises PlanError if it holds no run."""
        found = directory.results() if results is None else results
        return cls(directory.path, directory.plan, directory.context, TrialLog(directory).records(), found)
