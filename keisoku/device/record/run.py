"""A finished run of a device: the plan, the context, the trial records and the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keisoku.device.record.trial import TrialRecord
from keisoku.device.record.trial_log import TrialLog
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result


@dataclass(frozen=True)
class DeviceRun:
    """What the run's directory holds; `context` says where and with what it was measured."""

    directory: Path
    plan: dict[str, Any]
    context: dict[str, Any]
    records: list[TrialRecord]
    results: list[Result]

    @classmethod
    def of(cls, directory: RunDirectory, results: list[Result] | None = None) -> DeviceRun:
        """Of a directory, with the results that it holds or with these. Raises PlanError if it holds none."""
        found = directory.results() if results is None else results
        return cls(directory.path, directory.plan, directory.context, TrialLog(directory).records(), found)
