"""A run of a clock or path measurement on disk: settings.toml, context.json, raw rows, result.json.

Raw rows come in tables of Parquet parts: a part is written, synced and only then given its name, so that what was
appended survives `kill -9` and nothing half-written is ever read. It computes nothing and never changes a part.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomlkit
from pydantic import ValidationError

from keisoku.errors import KeisokuError, PlanError
from keisoku.run.observation import Observation

_SETTINGS, _CONTEXT, _RESULT = "settings.toml", "context.json", "result.json"
_PART = re.compile(r"\d{8}\.parquet")


class ObservationDirectory:
    """One run on disk. Raises KeisokuError with the remedy when the disk is full or not writable."""

    def __init__(self, path: Path, kind: str, settings: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Use `create` or `open`."""
        self.path, self.kind, self.settings, self.context = path, kind, dict(settings), dict(context)

    @classmethod
    def create(
        cls, path: Path, kind: str, settings: Mapping[str, Any], context: Mapping[str, Any]
    ) -> ObservationDirectory:
        """A new directory; an existing run is never written over. Settings hold what TOML can; None is left out."""
        if any((path / name).exists() for name in (_SETTINGS, "plan.toml")):
            raise PlanError("out", f"{path} already holds a run", "choose another directory")
        directory = cls(path, kind, {name: value for name, value in settings.items() if value is not None}, context)
        directory.write_text(_CONTEXT, json.dumps(directory.context, indent=1, default=str) + "\n")
        # Last, because its presence says that this is a run.
        directory.write_text(_SETTINGS, tomlkit.dumps({"kind": kind, **directory.settings}))
        return directory

    @classmethod
    def open(cls, path: Path, *kinds: str) -> ObservationDirectory:
        """An existing run, finished or not, of one of `kinds` (of any if none is given)."""
        try:
            settings = tomllib.loads((path / _SETTINGS).read_text(encoding="utf-8"))
            context = json.loads((path / _CONTEXT).read_bytes())
            kind = str(settings.pop("kind"))
        except (OSError, ValueError, KeyError) as error:
            raise PlanError(
                "run", f"{path} holds no measurement of a clock or path", "give a directory that one was written to"
            ) from error
        if kinds and kind not in kinds:
            raise PlanError("run", f"{path} holds a run of {kind}, not of {' or '.join(kinds)}", "give another one")
        return cls(path, kind, settings, context)

    def append(self, table: str, rows: pa.Table) -> Path:
        """Keeps rows as the next part of a table; returns when they are on the disk. No rows make no part."""
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
        folder = self.path / table
        return sorted(path for path in folder.glob("*.parquet") if _PART.fullmatch(path.name))

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of a table, part by part, so that long runs need no memory for all."""
        for path in self.parts(table):
            try:
                yield pq.ParquetFile(path).read(columns=None if columns is None else list(columns))
            except (OSError, pa.ArrowException) as error:
                raise PlanError("run", f"{path} is damaged", "remove that file, or start a new run") from error

    def rows(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a table. Raises PlanError if there are none."""
        parts = list(self.batches(table, columns))
        if not parts:
            raise PlanError("run", f"{self.path} holds no rows of {table}", "measure again")
        return pa.concat_tables(parts, promote_options="default")

    def finish(self, observation: Observation) -> None:
        """Writes result.json."""
        self.write_text(_RESULT, observation.model_dump_json(indent=1) + "\n")

    def observation(self) -> Observation:
        """What was found. Raises PlanError if the run is not finished."""
        try:
            return Observation.model_validate_json((self.path / _RESULT).read_bytes())
        except (OSError, ValidationError) as error:
            raise PlanError(
                "run", f"{self.path} holds no result of this version", "make it again by analysing the run"
            ) from error

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file beside the rows, whole or not at all; its path."""
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
        return KeisokuError(
            f"run directory: cannot write {self.path / name}: {error.strerror}; make room or choose another --out;"
            " what was appended before is kept"
        )


def _sync_folder(folder: Path) -> None:
    """A rename is on the disk when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
