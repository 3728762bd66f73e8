"""The run directory: plan.toml, context.json, trials.jsonl, result.json, and what reports are made from.

Trials are appended and synced one by one, so a finished trial survives `kill -9`; nothing written
is ever changed. Resuming replays the recorded trials into the methods. A half-written last line
(the trial that was cut off) is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from keisoku.device.plan.plan import Plan
from keisoku.device.plan.plan import read as read_plan
from keisoku.device.record.trial import TrialRecord
from keisoku.errors import KeisokuError, PlanError
from keisoku.run.result import Result
from keisoku.run.run import Run

FRAMES = "frames"
"""Folder of the rows of frames, a file for each trial that kept them."""


class RunDirectory:
    """One run on disk. Raises KeisokuError with the remedy when the disk is full or not writable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, plan: Plan, context: dict[str, object]) -> RunDirectory:
        """A new directory; an existing run is never written over."""
        if (path / "plan.toml").exists():
            raise PlanError(
                "out", f"{path} already holds a run", "choose another directory, or continue it with --resume"
            )
        directory = cls(path)
        directory._write("plan.toml", plan.to_toml())
        directory._write("context.json", json.dumps(context, indent=1, default=str) + "\n")
        return directory

    def plan(self) -> Plan:
        """The plan as it was when the run began."""
        return read_plan(self.path / "plan.toml")

    def records(self) -> list[TrialRecord]:
        """All finished trials in order."""
        try:
            lines = (self.path / "trials.jsonl").read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        complete = lines[:-1]  # what follows the last newline is a trial that was cut off, or nothing
        try:
            return [TrialRecord.model_validate_json(line) for line in complete]
        except ValidationError as error:
            raise PlanError(
                "run", f"{self.path / 'trials.jsonl'} is damaged or from another version", "start a new run"
            ) from error

    def repair(self) -> None:
        """Drops a half-written last line, so that the next record begins on its own."""
        trials = self.path / "trials.jsonl"
        if trials.exists():
            text = trials.read_bytes()
            os.truncate(trials, text.rfind(b"\n") + 1)

    def append(self, record: TrialRecord) -> None:
        """Keeps a finished trial; returns when it is on the disk."""
        line = record.model_dump_json().encode() + b"\n"
        try:
            with (self.path / "trials.jsonl").open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                self.repair()
            raise self.disk_error("trials.jsonl", error) from error

    def frames_of(self, index: int) -> Path:
        """Where the rows of a trial's frames are kept."""
        return self.path / FRAMES / f"{index:06d}.parquet"

    def finish(self, results: Sequence[Result]) -> None:
        """Writes result.json."""
        self._write("result.json", json.dumps([result.model_dump(mode="json") for result in results], indent=1) + "\n")

    def run(self) -> Run:
        """Everything a report needs. Raises PlanError if this is no finished run."""
        try:
            context = json.loads((self.path / "context.json").read_bytes())
            results = [Result.model_validate(result) for result in json.loads((self.path / "result.json").read_bytes())]
        except (OSError, ValueError) as error:
            raise PlanError(
                "run",
                f"{self.path} is not the directory of a finished run",
                "give one that holds result.json, or finish it with --resume",
            ) from error
        return Run(
            directory=self.path,
            plan=self.plan().model_dump(mode="json", exclude_none=True),
            context=context,
            records=self.records(),
            results=results,
        )

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file beside the records (a report, say); its path."""
        self._write(name, text)
        return self.path / name

    def _write(self, name: str, text: str) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise self.disk_error(name, error) from error

    def disk_error(self, name: str, error: OSError) -> KeisokuError:
        """What to raise, with the remedy, when a file of the run cannot be written."""
        return KeisokuError(
            f"run directory: cannot write {self.path / name}: {error.strerror}; make room or choose another --out;"
            f" finished trials are kept, continue with 'keisoku run --resume {self.path}'"
        )
