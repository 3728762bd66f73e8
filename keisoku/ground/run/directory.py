"""The directory of a run: plan.toml, context.json, raw rows, facts.json, result.json, and the report.

Raw rows are appended and synced at once, as lines of JSON or as tables of Parquet parts, so they survive `kill -9`;
appended rows are never changed. Every other file is written completely or not at all. Everything except the raw rows,
the plan, the context and the facts can be computed again. It computes nothing itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from pydantic import ValidationError

from keisoku.errors import KeisokuError, PlanError, to_write
from keisoku.ground.host.text_file import read_bytes, read_toml, unreadable
from keisoku.ground.run.result import Result

if TYPE_CHECKING:  # Arrow loads slowly, and runs of devices do not need it
    import pyarrow as pa

FORMAT = 1
"""Version of everything in the directory; a run of another one is refused."""
RUNS = Path("runs")
"""Folder of runs for which no directory is given."""
_PLAN, _CONTEXT, _FACTS, _RESULT = "plan.toml", "context.json", "facts.json", "result.json"
_MOST_BYTES = 1 << 26
"""Of a plan and a context, which we wrote ourselves: lists of addresses and gaps are written out in them."""
_PART = re.compile(r"\d{8}\.parquet")


class RunDirectory:
    """One run on disk. Writing raises KeisokuError with the remedy when the disk is full or not writable."""

    def __init__(self, path: Path, measurement: str, plan: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Use `create` or `open`."""
        self.path = path
        self.measurement = measurement
        """Name of what is measured, in the table of measurements."""
        self.plan = dict(plan)
        """The settings, as plain values."""
        self.context = dict(context)
        """The host and the instrument of the measurement."""

    @property
    def about(self) -> dict[str, str]:
        """What the plan says of the run; empty where it says nothing."""
        return self.plan.get("about") or {}

    @classmethod
    def create(cls, path: Path, measurement: str, plan: Mapping[str, Any], context: Mapping[str, Any]) -> RunDirectory:
        """A new directory; an existing run is never overwritten. The plan holds values of TOML, without None.

        Raises PlanError if the directory holds a run, or files that are no run's, among which one would be lost.
        """
        if _is_there(path / _PLAN):
            raise PlanError(
                "out", f"{path} already holds a run", "choose another directory, or continue it with --resume"
            )
        if _is_there(path) and not path.is_dir():
            raise PlanError("out", f"{path} is a file", "choose a directory, which need not exist yet")
        if foreign := _foreign(path):
            raise PlanError("out", f"{path} holds {foreign}, which is no run's", "choose a new or an empty directory")
        directory = cls(path, measurement, _without_none(plan), context)
        directory.write_text(_CONTEXT, json.dumps(directory.context, indent=1, default=str) + "\n")
        # Last, because this file makes the directory a run.
        directory.write_text(_PLAN, tomlkit.dumps({"format": FORMAT, "measurement": measurement, **directory.plan}))
        return directory

    @classmethod
    def open(cls, path: Path, *measurements: str) -> RunDirectory:
        """An existing run, finished or not, of one of `measurements` (of any if none is given). Raises PlanError."""
        try:
            plan = read_toml("run", path / _PLAN, _MOST_BYTES)
            context = json.loads(read_bytes("run", path / _CONTEXT, _MOST_BYTES))
        except (PlanError, ValueError, RecursionError) as error:
            if isinstance(error, PlanError) and isinstance(error.__cause__, PermissionError):
                raise
            raise PlanError("run", f"{path} holds no run", "give a directory that a run was written to") from error
        if not isinstance(context, dict):
            raise PlanError("run", f"{path / _CONTEXT} is damaged", "measure again")
        version, measurement = plan.pop("format", None), plan.pop("measurement", None)
        if version != FORMAT or not isinstance(measurement, str):
            raise PlanError(
                "run",
                f"{path} has format {version or 'none'}, and this version of keisoku reads format {FORMAT}",
                "read it with the version that wrote it",
            )
        if measurements and measurement not in measurements:
            raise PlanError(
                "run",
                f"{path} holds a run of {measurement}, not of {' or '.join(measurements)}",
                "give the directory of another run",
            )
        return cls(path, measurement, plan, context)

    def append(self, table: str, rows: pa.Table) -> Path:
        """Stores rows as the next part of a table; returns when they are on the disk. Without rows no part is
        written."""
        import pyarrow.parquet as pq

        folder = self.path / table
        parts = self.parts(table)
        number = int(parts[-1].stem) + 1 if parts else 0
        path = folder / f"{number:08d}.parquet"
        if rows.num_rows == 0:
            return path
        partial = path.with_suffix(".partial")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                pq.write_table(rows, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            partial.rename(path)
            _sync_folder(folder)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise self.disk_error(f"{table}/{path.name}", error) from error
        return path

    def parts(self, table: str) -> list[Path]:
        """The finished parts of a table in order; empty if nothing was appended."""
        return sorted(path for path in (self.path / table).glob("*.parquet") if _PART.fullmatch(path.name))

    def tables(self) -> list[str]:
        """Names of the tables that have parts."""
        folders = sorted(path.name for path in self.path.iterdir() if path.is_dir()) if self.path.is_dir() else []
        return [name for name in folders if self.parts(name)]

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of a table, part by part, so that long runs need no memory for all.

        Raises PlanError if a part is damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self.parts(table):
            try:
                yield pq.ParquetFile(path).read(columns=None if columns is None else list(columns))
            except (OSError, pa.ArrowException) as error:
                raise PlanError("run", f"{path} is damaged", "remove that file, or start a new run") from error

    def rows(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a table. Raises PlanError if there are none."""
        import pyarrow as pa

        parts = list(self.batches(table, columns))
        if not parts:
            raise PlanError("run", f"{self.path} holds no rows of {table}", "measure again")
        return pa.concat_tables(parts, promote_options="default")

    def append_line(self, name: str, line: bytes) -> None:
        """Stores a line of JSON in the file `name`; returns when it is on the disk."""
        path = self.path / name
        try:
            with path.open("ab") as file:
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                self.drop_half_line(name)
            raise self.disk_error(name, error) from error

    def lines(self, name: str) -> list[bytes]:
        """All complete lines of a file; one that was written only partly is left out."""
        try:
            return (self.path / name).read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []

    def drop_half_line(self, name: str) -> None:
        """Removes a last line that was written only partly, so that the next one begins on a new line."""
        path = self.path / name
        if path.exists():
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Facts of the run besides its rows; empty if none were stored. Raises PlanError if the file is damaged."""
        try:
            found: dict[str, Any] = json.loads((self.path / _FACTS).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise PlanError("run", f"{self.path / _FACTS} is damaged", "measure again") from error
        return found

    def know(self, **facts: Any) -> None:
        """Adds facts and replaces those with the same names."""
        self.facts.update(facts)
        self.write_text(_FACTS, json.dumps(self.facts, indent=1, default=str) + "\n")

    @property
    def holds_rows(self) -> bool:
        """Whether the run holds any rows."""
        return bool(self.tables()) or any(self.lines(path.name) for path in self.path.glob("*.jsonl"))

    def finish(self, results: Sequence[Result]) -> None:
        """Writes result.json."""
        self.write_text(_RESULT, json.dumps([result.model_dump(mode="json") for result in results], indent=1) + "\n")

    def results(self) -> list[Result]:
        """The results. Raises PlanError if the run is not finished."""
        try:
            return [Result.model_validate(result) for result in json.loads((self.path / _RESULT).read_bytes())]
        except PermissionError as error:
            raise unreadable("run", self.path / _RESULT, error) from error
        except (OSError, ValueError, TypeError, RecursionError, ValidationError) as error:
            raise PlanError(
                "run",
                f"{self.path} is not the directory of a finished run",
                "finish it with 'keisoku run --resume', or analyse what it holds with 'keisoku analyse'",
            ) from error

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file beside the rows, completely or not at all; returns its path."""
        path, partial = self.path / name, self.path / f"{name}.partial"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.rename(path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise self.disk_error(name, error) from error
        return path

    def disk_error(self, name: str, error: OSError) -> KeisokuError:
        """What to raise, with the remedy, when a file of the run cannot be written."""
        kept = _is_there(self.path / _PLAN)
        others = kept and isinstance(error, PermissionError)
        return KeisokuError(
            f"run directory: cannot write {self.path / name}: {error.strerror}; "
            + ("do it as the owner of the run, or with a copy" if others else to_write(error, "choose another --out"))
            + (
                f"; what was measured is kept, continue with 'keisoku run --resume {self.path}'"
                if kept and not others
                else ""
            )
        )


def free_path(name: str, folder: Path = RUNS) -> Path:
    """A directory in `folder` that does not exist yet: the time, then the name."""
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}"
    path, number = folder / stem, 1
    while _is_there(path):
        number += 1
        path = folder / f"{stem}-{number}"
    return path


def _is_there(path: Path) -> bool:
    """Whether there is such a file or directory. One whose folder may not be looked into, or whose name no file can
    have, counts as none: writing it will say why not."""
    try:
        return path.exists()
    except OSError:
        return False


def _foreign(path: Path) -> str:
    """What lies in a directory besides a run that was killed as it began; empty if nothing does."""
    begun = {_CONTEXT, f"{_CONTEXT}.partial", f"{_PLAN}.partial"}
    try:
        return min((entry.name for entry in path.iterdir() if entry.name not in begun), default="")
    except OSError:  # it is not there, or writing into it will say why not
        return ""


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value is not None
    }


def _sync_folder(folder: Path) -> None:
    """Syncs the folder: only then is a rename on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
