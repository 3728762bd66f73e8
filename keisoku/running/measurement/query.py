"""A run as tables, and SQL queries, which DuckDB answers from the files of its directory. It changes nothing.

Every run has the table `figures`, if it is finished, and one for each of its raw tables; runs of devices have
`trials`, `streams`, `lost`, `changes`, `latencies`, and `frames` where a row for each frame was kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from keisoku.errors import PlanError
from keisoku.ground.entry import NamedQuery
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.figure_table import figures
from keisoku.running.measurement.table import of_run

_Found = TypeVar("_Found")
_Content = Callable[[], pa.Table] | str | PlanError
"""What makes a table, the SELECT that a view is made of, or why there is none."""
_Standing = _Content | Mapping[int, Callable[[], pa.RecordBatchReader]]
"""The same in a query, or what opens the rows of each trial."""
_MEMORY = "1500MB"
"""Of DuckDB for one query, so that a run with many frames can be asked on a small machine; more goes to a file."""


@dataclass(frozen=True)
class QueryRows:
    """Rows as tuples, with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query(path: Path, sql: str, *others: Path) -> QueryRows:
    """The answer of DuckDB; the name of a named query alone is a query, too.

    With others each table has the rows of all, with the run's directory in the column `directory`; named queries
    are asked of one run. Raises PlanError if there is no such run or the query is wrong.
    """

    def take(connection: duckdb.DuckDBPyConnection, sql: str) -> QueryRows:
        found = connection.execute(sql)
        if found is None:  # DuckDB found no statement, which its types do not say
            raise PlanError("query", "it is empty", "write for example 'select * from figures'")
        return QueryRows([column[0] for column in found.description or ()], found.fetchall())

    return _answered([path, *others], sql, take)


def arrow(path: Path, sql: str) -> pa.Table:
    """The answer as an Arrow table; a statement without an answer gives one without columns."""

    def take(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
        found = connection.sql(sql)
        return pa.table({}) if found is None else found.to_arrow_table()

    return _answered([path], sql, take)


def table(path: Path, name: str) -> pa.Table:
    """One table of a run. Raises PlanError if the run has no such table."""
    tables = _tables(RunDirectory.open(path))
    content = tables.get(name, PlanError("table", f"this run has no table '{name}'", f"use {_listed(tables)}"))
    if isinstance(content, PlanError):
        raise content
    return arrow(path, f"select * from {name}") if isinstance(content, str) else content()


def names(directory: RunDirectory) -> list[str]:
    """The tables that a finished run has."""
    return [name for name, content in _tables(directory).items() if not isinstance(content, PlanError)]


def _tables(directory: RunDirectory) -> dict[str, _Content]:
    """Every table by name."""
    found: dict[str, _Content] = {
        name: f"select * from read_parquet({[str(part) for part in directory.parts(name)]!r})"
        for name in directory.tables()
    }
    found |= of_run(directory).tables(directory)
    return {"figures": lambda: figures(directory.results()), **found}


def _answered(paths: Sequence[Path], sql: str, take: Callable[[duckdb.DuckDBPyConnection, str], _Found]) -> _Found:
    runs = [RunDirectory.open(path) for path in paths]
    for run in runs:
        if not run.holds_rows:
            problem = f"{run.path} holds no finished trial"
            raise PlanError("run", problem, "give the directory of a run that measured something")
    tables, named = [_tables(run) for run in runs], of_run(runs[0]).queries
    if sql.strip() in named:
        sql = f"from {sql.strip()}()"
    asked = _asked(named, sql)
    if asked and len(runs) > 1:
        raise PlanError("query", f"{next(iter(asked))} is asked of one run", "give one run")
    text = " ".join([sql, *(query.sql for query in asked.values())])
    standing: list[dict[str, _Standing]] = [dict(own) for own in tables]
    for query in asked.values():
        standing[0] |= query.reads(runs[0])
    with (
        TemporaryDirectory(prefix="keisoku-query-") as spilled,
        duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": spilled}) as connection,
    ):
        for name in dict.fromkeys(name for own in standing for name in own):
            if re.search(rf"\b{name}\b", text, re.IGNORECASE):
                contents = [(str(run.path), own.get(name)) for run, own in zip(runs, standing, strict=True)]
                _stand(connection, name, contents)
        try:
            for name, query in asked.items():
                connection.execute(f"create macro {name}({query.parameters}) as table {query.sql}")
            return take(connection, sql)
        except duckdb.Error as error:
            said = str(error).splitlines()[0].partition(" Detail: Python exception")[0]
            for name, content in ((name, content) for own in standing for name, content in own.items()):
                if isinstance(content, PlanError) and f"name {name} does not exist" in said:
                    raise content from error
            raise PlanError("query", said, f"this run has the tables {_listed(tables[0])}") from error


def _stand(connection: duckdb.DuckDBPyConnection, name: str, contents: Sequence[tuple[str, _Standing | None]]) -> None:
    """A table of that name, of the runs that have it: of one run as it is, of several with their directories."""
    parts = []
    for number, (directory, content) in enumerate(contents):
        if content is None or isinstance(content, PlanError):
            continue
        own = name if len(contents) == 1 else f"{name}_of_run_{number}"
        if isinstance(content, str):
            connection.execute(f"create view {own} as {content}")
        elif isinstance(content, Mapping):
            for trial, opens in content.items():
                connection.register(f"{own}_of_trial_{trial}", _Opened(opens))
            of_trials = (
                f"select cast({trial} as integer) as trial, * from {own}_of_trial_{trial}" for trial in content
            )
            connection.execute(f"create view {own} as {' union all '.join(of_trials)}")
        else:
            connection.register(own, content())
        quoted = directory.replace("'", "''")
        parts.append(f"select '{quoted}' as directory, * from {own}")
    if len(contents) > 1 and parts:
        connection.execute(f"create view {name} as {' union all by name '.join(parts)}")


@dataclass(frozen=True)
class _Opened:
    """Rows as DuckDB asks for them: each time that it reads them they are opened anew."""

    opens: Callable[[], pa.RecordBatchReader]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.opens().__arrow_c_stream__(requested_schema)


def _asked(named: Mapping[str, NamedQuery], sql: str) -> dict[str, NamedQuery]:
    """The named queries that an SQL query mentions, those that they need before them."""
    found: dict[str, NamedQuery] = {}
    for name, query in named.items():
        if re.search(rf"\b{name}\b", sql, re.IGNORECASE):
            found |= {**{needed: named[needed] for needed in query.needs}, name: query}
    return found


def _listed(tables: Mapping[str, _Content]) -> str:
    return ", ".join(name for name, content in tables.items() if not isinstance(content, PlanError))
