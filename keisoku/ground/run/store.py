"""The store of a laboratory's runs: a folder of run directories. There is no index and no server: the directories are
read when somebody asks, and what is written in one is read again only when its files have changed.

A directory that is damaged or cut off is listed with one sentence of what cannot be read; it never raises.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal

from keisoku.errors import KeisokuError, PlanError
from keisoku.ground.run.directory import RUNS, RunDirectory
from keisoku.ground.run.start import NEVER, instant

MOST_KEPT = 4096
"""Runs that are kept in memory after they were read."""
MAY_RUN = timedelta(days=1)
"""An unfinished run that was written to within this time may still be measured, and is never removed."""
State = Literal["finished", "unfinished", "damaged"]


@dataclass(frozen=True)
class StoredRun:
    """One run of the store."""

    path: Path
    state: State
    """'unfinished': it has no result; 'damaged': its plan, context or result cannot be read."""
    measurement: str = ""
    """Its name in the table of measurements; empty if it is damaged."""
    device: str = ""
    """What was measured, where the context says it."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What its plan says of it."""
    started_at: str = ""
    """ISO 8601, as it was recorded; empty if it is not known."""
    sentences: list[str] = field(default_factory=list)
    """The results in words."""
    problem: str = ""
    """Why it cannot be read; empty if it can."""

    @property
    def began(self) -> datetime:
        """Its start as an instant; `NEVER` if it is not known."""
        return instant(self.started_at) or NEVER

    @property
    def name(self) -> str:
        """That of its directory."""
        return self.path.name

    @property
    def what(self) -> str:
        """What was measured, for the user; empty if it is damaged."""
        return self.device or self.measurement


def listed(folder: Path = RUNS) -> list[StoredRun]:
    """All runs of a folder, the newest first; those without a known start are last. Empty if there is no folder."""
    try:
        paths = [path for path in folder.iterdir() if (path / "plan.toml").is_file()]
    except OSError:
        paths = []
    return sorted((stored_run(path) for path in paths), key=lambda run: (run.began, run.name), reverse=True)


def stored_run(path: Path) -> StoredRun:
    """The run in this directory, as its files are now."""
    return _read(path, tuple(_written_ns(path / name) for name in ("plan.toml", "context.json", "result.json")))


@dataclass(frozen=True)
class Rows:
    """Raw rows of a run: a file of lines, or a folder of Parquet files."""

    name: str
    rows: int
    """Complete ones, in all files that can be read."""
    size_bytes: int
    damaged: list[str] = field(default_factory=list)
    """Names of files that cannot be read."""


def raw_rows(path: Path) -> list[Rows]:
    """What raw rows a run holds, and which of their files are damaged. A line that was cut is no row."""
    found = []
    for file in sorted(path.glob("*.jsonl")):
        content = file.read_bytes()
        found.append(Rows(file.name, content.count(b"\n"), len(content)))
    for folder in sorted({file.parent for file in path.glob("*/*.parquet")}):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows, size, damaged = 0, 0, []
        for file in sorted(folder.glob("*.parquet")):
            size += _status(file).st_size
            try:
                rows += pq.read_metadata(file).num_rows
            except (OSError, pa.ArrowException):
                damaged.append(file.name)
        found.append(Rows(folder.name, rows, size, damaged))
    return found


@dataclass(frozen=True)
class Prune:
    """Which runs are to be removed: all that one of the rules names."""

    keep: int | None = None
    """Of each measurement of each device only so many finished runs, the newest, are kept."""
    older: timedelta | None = None
    """Runs that began longer ago."""
    states: Sequence[State] = ()
    """Runs in these states."""


def prunable(runs: Sequence[StoredRun], rules: Prune, now: datetime) -> list[StoredRun]:
    """Those of `runs`, newest first, that the rules name; a run that may still be measured is never among them."""
    newer: dict[tuple[str, str], int] = {}
    found = []
    for run in runs:
        named = run.state in rules.states
        if rules.older is not None and run.began != NEVER:
            named = named or run.began < now - rules.older
        if rules.keep is not None and run.state == "finished":
            alike = (run.measurement, run.device)
            newer[alike] = newer.get(alike, 0) + 1
            named = named or newer[alike] > rules.keep
        if named and (run.state == "finished" or last_written(run.path) < now - MAY_RUN):
            found.append(run)
    return found


def remove(run: StoredRun) -> None:
    """Removes the directory with all that it holds. Raises KeisokuError if that is not possible."""
    try:
        # First what makes it a run, so that one that was removed only partly is not taken for one.
        (run.path / "plan.toml").unlink()
        shutil.rmtree(run.path)
    except OSError as error:
        raise KeisokuError(f"run: cannot remove {run.path}: {error.strerror}; remove it as its owner") from error


def size_bytes(path: Path) -> int:
    """Bytes of all files of a run; of those that can be read."""
    return sum(_status(entry).st_size for entry in _files(path))


def last_written(path: Path) -> datetime:
    """When the newest file of a run was written."""
    newest = max((_status(entry).st_mtime for entry in _files(path)), default=0.0)
    return datetime.fromtimestamp(newest, UTC)


def _files(path: Path) -> list[Path]:
    return [Path(folder) / name for folder, _, names in os.walk(path) for name in names]


def _status(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except OSError:  # removed meanwhile
        return os.stat_result((0,) * 10)


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=MOST_KEPT)
def _read(path: Path, written_ns: tuple[int, ...]) -> StoredRun:
    """Of a run whose files were written at these times; an open page asks every other second while something runs."""
    try:
        directory = RunDirectory.open(path)
    except PlanError as error:
        return StoredRun(path, "damaged", problem=error.problem)
    said = directory.about
    about = (directory.measurement, str(said.get("device") or directory.context.get("device") or ""), said)
    started_at = str(directory.context.get("started_at") or "")
    if not written_ns[-1]:
        return StoredRun(path, "unfinished", *about, started_at)
    try:
        results = directory.results()
    except PlanError:
        problem = "its result cannot be read; 'keisoku analyse' makes it again"
        return StoredRun(path, "damaged", *about, started_at, problem=problem)
    return StoredRun(path, "finished", *about, started_at, [result.sentence for result in results if result.sentence])
