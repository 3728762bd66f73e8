"""Questions to a run in SQL, answered by DuckDB from the files of its directory. Changes nothing.

Three tables: `trials`, a row for each trial; `streams`, a row for each stream of each trial; `frames`, a row for
each frame where the run kept them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from keisoku.device.record.frames import CORRUPT, DUPLICATE, LOST, REORDERED
from keisoku.device.record.tables import streams, trials
from keisoku.errors import PlanError
from keisoku.run.directory import FRAMES, RunDirectory

_Found = TypeVar("_Found")
_FRAMES_VIEW = f"""
create view frames as select
    cast(regexp_extract(filename, '([0-9]+)[.]parquet$', 1) as integer) as trial,
    stream, sequence, transmit_ns, receive_ns, receive_ns - transmit_ns as latency_ns, port, flags,
    flags & {LOST} <> 0 as lost, flags & {CORRUPT} <> 0 as corrupt,
    flags & {DUPLICATE} <> 0 as duplicate, flags & {REORDERED} <> 0 as reordered
from read_parquet($files, filename = true)
"""


@dataclass(frozen=True)
class Answer:
    """Rows as tuples, with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query(path: Path, sql: str) -> Answer:
    """What DuckDB answers. Raises PlanError if there is no such run or the question is wrong."""

    def take(connection: duckdb.DuckDBPyConnection) -> Answer:
        found = connection.execute(sql)
        return Answer([column[0] for column in found.description or ()], found.fetchall())

    return _answered(path, take)


def arrow(path: Path, sql: str) -> pa.Table:
    """The same as an Arrow table; a statement that answers nothing gives one without columns."""

    def take(connection: duckdb.DuckDBPyConnection) -> pa.Table:
        found = connection.sql(sql)
        return pa.table({}) if found is None else found.to_arrow_table()

    return _answered(path, take)


def _answered(path: Path, take: Callable[[duckdb.DuckDBPyConnection], _Found]) -> _Found:
    records = RunDirectory(path).records()
    if not records:
        raise PlanError("run", f"{path} holds no finished trial", "give the directory of a run")
    with duckdb.connect() as connection:
        connection.register("trials", trials(records))
        connection.register("streams", streams(records))
        files = sorted(str(file) for file in (path / FRAMES).glob("*.parquet"))
        if files:
            connection.execute(_FRAMES_VIEW.replace("$files", repr(files)))
        try:
            return take(connection)
        except duckdb.Error as error:
            remedy = (
                "ask of the tables trials, streams and frames" if files else "measure with --frames for a table frames"
            )
            raise PlanError("query", str(error).splitlines()[0], remedy) from error
