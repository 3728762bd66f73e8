"""The trials of a run on disk: a line of JSON each in trials.jsonl, and the rows of frames where they are kept."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.record.packed import STORED
from keisoku.subjects.device.record.trial_record import TrialRecord

FRAMES = "frames"
"""Folder of the rows of frames, a file for each trial that kept them."""
_TRIALS = "trials.jsonl"


class TrialLog:
    """The trials of one run. A trial is stored when `append` returns, and never changed."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory

    def records(self) -> list[TrialRecord]:
        """All finished trials in order; one that was written only partly is left out. Raises PlanError if one is
        damaged."""
        try:
            return [TrialRecord.model_validate_json(line) for line in self._directory.lines(_TRIALS)]
        except ValidationError as error:
            raise PlanError(
                "run", f"{self._directory.path / _TRIALS} is damaged or from another version", "start a new run"
            ) from error

    def repair(self) -> None:
        """Removes a trial that was written only partly, so that the next one begins a line of its own."""
        self._directory.drop_half_line(_TRIALS)

    def append(self, record: TrialRecord) -> None:
        """Keeps a finished trial; returns when it is on the disk."""
        self._directory.append_line(_TRIALS, record.model_dump_json(context=STORED).encode())

    def frames_of(self, index: int) -> Path:
        """Where the rows of a trial's frames are kept."""
        return self._directory.path / FRAMES / f"{index:06d}.parquet"
