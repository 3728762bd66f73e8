"""A study file: steps to measure, and published tables with where each figure is found in our results.

It parses and validates; it never measures. The files that come with keisoku are in `keisoku/studies`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import parse_toml, read_text
from keisoku.ground.run.settings import Settings, setting_error
from keisoku.ground.simulated_device.faults import Scatter
from keisoku.running.study.explanation import Explanation
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.uri import is_simulated

MATTERS = 0.2
"""Of a published figure: a difference that matters, where a column does not say more."""


class Step(Settings):
    """One run."""

    name: str
    plan: Plan
    experiment: dict[str, Any] = Field(default_factory=dict)
    """Settings of the step's method as the experiment had them; differences are reported."""
    scatter: Scatter | None = None
    """Of the experiment's samples, whose cause was not published: added to what the simulated device shows."""

    @model_validator(mode="after")
    def _repeatable(self) -> Step:
        if not is_simulated(self.plan.dut):
            raise PlanError(
                f"{self.name}.plan.dut", "is no simulated device", "a study must give the same figures on every host"
            )
        known = type(self.plan.own(self.plan.methods[-1])).model_fields
        unknown = next((name for name in self.experiment if name not in known), None)
        if unknown:
            raise PlanError(f"{self.name}.experiment", f"there is no setting '{unknown}'", f"use {', '.join(known)}")
        return self


class PathStep(Settings):
    """Sources of time compared over one link of the lab, on this host, on which the figures depend."""

    name: str
    rate_bps: int = Field(gt=0)
    """Of the link, both ways."""
    mtu: int = Field(default=1500, ge=576, le=9100)
    ip_bytes: int = Field(default=0, ge=0, le=9100)
    """Of each packet of a pair; 0: the MTU."""
    repetitions: int = Field(default=10, ge=2)
    pairs: int = Field(default=50, ge=10)


class StreamStep(Settings):
    """TCP by message size between two ends on this host, over a link of the lab; the figures depend on this host."""

    name: str
    rate_bps: int | None = Field(default=None, gt=0)
    """Of the link, a token bucket that counts Ethernet frames; None for a bare path: the machine's own ceiling."""
    mtu: int = Field(default=1500, ge=576, le=9100)
    sizes: tuple[int, ...] = Field(min_length=1)
    """Bytes of a message."""
    most_repetitions: int = Field(default=10, ge=3)
    duration_s: float = Field(default=1.0, gt=0)


class TransferStep(Settings):
    """A file transferred over a bare path of this host, with a disk that the kernel limits to the experiment's rate."""

    name: str
    bytes: int = Field(gt=0)
    over: Literal["keisoku", "ftp"] = "keisoku"
    source_bps: float | None = Field(default=None, gt=0)
    sink_bps: float | None = Field(default=None, gt=0)


class LoadStep(Settings):
    """Slow clients and a fast one that send bulk TCP over a switch of the lab, on this host, as in E4.

    E4 is a published experiment (KAKENHI report, 2012–14): web servers, a fast client and slow ones on one switch.
    """

    name: str
    slow_clients: int = Field(default=4, ge=1)
    slow_bps: int = Field(default=1_000_000_000, gt=0)
    """Of each slow client's line, a token bucket that counts Ethernet frames; nothing limits the fast one's."""
    servers: int = Field(default=1, ge=1)
    """Client N sends to server N; with fewer servers they are assigned in turn."""
    server_bps: int | None = Field(default=None, gt=0)
    """Of each server's line; None: nothing limits it."""
    by: Literal["stream", "iperf3"] = "stream"
    duration_s: float = Field(default=2.0, gt=0)
    repetitions: int = Field(default=5, ge=2)
    rest_s: float = Field(default=0.5, ge=0)


class WebStep(Settings):
    """Clients that request files from nginx over a switch of the lab, on this host, each over a line of the same rate.

    The files are equally frequent sizes of a log-normal distribution, or one size.
    """

    name: str
    mean_bytes: int = Field(gt=0)
    size_variation: float = Field(default=0.0, ge=0, le=20)
    """Coefficient of variation; 0: all files have the mean."""
    sizes: int = Field(default=40, ge=2, le=100)
    """Of which the distribution is made, if sizes vary."""
    clients: int = Field(default=1, ge=1, le=8)
    line_bps: int = Field(gt=0)
    """Of each client's line, a token bucket that counts Ethernet frames."""
    concurrency: int = Field(default=10, ge=1)
    duration_s: float = Field(default=5.0, gt=0)
    repetitions: int = Field(default=5, ge=2)


class SystemStep(Settings):
    """E4's system, simulated, with one client's port limited; what is not given is as it was in E4."""

    name: str
    file_bytes: int = Field(default=1430, gt=0)
    size_variation: float = Field(default=0.0, ge=0, le=20)
    """Coefficient of variation of the sizes of files, whose mean is `file_bytes`; 0: all are alike."""
    slow_clients: int = Field(default=4, ge=1)
    slow_connections: int = Field(default=100, ge=1)
    fast_connections: int = Field(default=1000, ge=1)
    request_s: float | None = Field(default=None, gt=0)
    """Of the server's processor for each request."""
    crowd: float | None = Field(default=None, gt=0)
    """Connections at which a request costs the server twice what it costs alone."""
    floor_bps: float = Field(default=20e6, gt=0, lt=10e9)
    limits: int = Field(default=49, ge=3)
    """Swept, from the floor to line rate, in equal ratios."""


class Column(Settings):
    """One figure of every row of a table."""

    name: str
    unit: str
    figure: str
    """A row's figure; of the whole result 'line.slope', 'line.constant', 'largest' (frame without loss) or
    'largest_received' (of which any came). With '.error' or '.error_percent' its standard error instead."""
    case: str | None = None
    """Of our row, '*' for anything; the table row's if not given."""
    error: str | float | None = None
    """Standard error of the published figure: the column that holds it, or a number. Exact figures have 0."""
    relative_error: float | None = Field(default=None, gt=0)
    """In place of `error`: the standard error as a share of the published figure."""
    matters: float | None = Field(default=None, gt=0)
    """A difference that would matter, in the unit; `MATTERS` of the published figure if not given. Where the interval
    of the difference is wider, ours would agree with much else, too."""


class TableRow(Settings):
    """One device, or one size of one."""

    model_config = ConfigDict(allow_inf_nan=True)

    name: str
    step: str
    frame_bytes: int | None = None
    """Of our row; any if not given, which must then be the only one."""
    case: str | None = None
    values: tuple[float, ...] = ()
    """As published, one a column; nan where nothing was; none at all in an open table."""
    errors: tuple[float, ...] = ()
    """Of the values, one a column, where they are in no column of their own: standard errors, or tolerances."""


class Input(Settings):
    """Published cells that our figure was made from, so that their agreement confirms nothing but the way back."""

    into: str
    """Where they went, for a reader."""
    rows: tuple[str, ...] = ()
    """All rows if empty, and so the columns."""
    columns: tuple[str, ...] = ()


class Follows(Settings):
    """Published cells that are computed from others: they agree or differ with them, and are not counted again."""

    of: str
    """From which, for a reader."""
    rows: tuple[str, ...] = ()
    """All rows if empty, and so the columns."""
    columns: tuple[str, ...] = ()


class Table(Settings):
    """A published table."""

    name: str
    title: str
    column: tuple[Column, ...] = Field(min_length=1)
    row: tuple[TableRow, ...] = Field(min_length=1)
    explanation: tuple[Explanation, ...] = ()
    """Competing ones of one cell in order: the first that its checks do not refute counts."""
    input: tuple[Input, ...] = ()
    """What is in none of them is an independent prediction."""
    follows: tuple[Follows, ...] = ()
    open: bool = False
    """The publication asks for these figures and has none: only ours are shown."""
    truth: bool = False
    """The values are not published ones but the true ones of what was measured; `errors` are the tolerances of ours."""

    @model_validator(mode="after")
    def _coherent(self) -> Table:
        names = [column.name for column in self.column]
        for row in self.row:
            if len(row.values) != (0 if self.open else len(names)):
                raise PlanError(
                    f"{self.name}, {row.name}",
                    f"{len(row.values)} values for {len(names)} columns",
                    "give none in an open table" if self.open else "give one a column",
                )
            if row.errors and len(row.errors) != len(names):
                raise PlanError(
                    f"{self.name}, {row.name}",
                    f"{len(row.errors)} errors for {len(names)} columns",
                    "give one a column, or none",
                )
        wanted = [column.error for column in self.column if isinstance(column.error, str)]
        chosen: list[Explanation | Input | Follows] = [*self.explanation, *self.input, *self.follows]
        wanted += [name for one in chosen for name in one.columns]
        unknown = sorted({*wanted} - {*names})
        rows = sorted({name for one in chosen for name in one.rows} - {row.name for row in self.row})
        if unknown or rows:
            raise PlanError(self.name, f"there is no '{(unknown + rows)[0]}'", "correct its spelling")
        return self

    def explanations(self, row: TableRow, column: Column) -> list[Explanation]:
        """Those of one cell, in order."""
        return [one for one in self.explanation if _covers(one, row, column)]

    def input_of(self, row: TableRow, column: Column) -> str:
        """Where a published cell went into what ours is made from; empty for an independent prediction."""
        return next((one.into for one in self.input if _covers(one, row, column)), "")

    def follows_from(self, row: TableRow, column: Column) -> str:
        """From which other cells a published one is computed; empty for one that says something by itself."""
        return next((one.of for one in self.follows if _covers(one, row, column)), "")

    def published_error(self, row: TableRow, column: Column) -> float | None:
        """Standard error of a published value, in the column's unit; None if none was published."""
        names = [column.name for column in self.column]
        if row.errors:
            return row.errors[names.index(column.name)]
        if column.relative_error is not None:
            return column.relative_error * abs(row.values[names.index(column.name)])
        if not isinstance(column.error, str):
            return column.error
        error = row.values[names.index(column.error)]
        return None if math.isnan(error) else error


class Study(Settings):
    """An experiment, or a part of one."""

    name: str
    title: str
    source: str
    note: tuple[str, ...] = ()
    """Differences from the experiment."""
    step: tuple[Step, ...] = ()
    path: tuple[PathStep, ...] = ()
    stream: tuple[StreamStep, ...] = ()
    transfer: tuple[TransferStep, ...] = ()
    load: tuple[LoadStep, ...] = ()
    web: tuple[WebStep, ...] = ()
    system: tuple[SystemStep, ...] = ()
    """Steps of other kinds, by name like the first; there is one of any kind at least."""
    table: tuple[Table, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _steps(self) -> Study:
        kinds = (self.step, self.path, self.stream, self.transfer, self.load, self.web, self.system)
        names = [step.name for kind in kinds for step in kind]
        if not names:
            kinds_ = "[[step]], [[path]], [[stream]], [[transfer]], [[load]], [[web]] or [[system]]"
            raise PlanError("step", "there is none", f"add a {kinds_}")
        if len(set(names)) < len(names):
            raise PlanError("step", "two have one name", "rename one")
        for table in self.table:
            for row in table.row:
                if row.step not in names:
                    raise PlanError(f"{table.name}, {row.name}", f"there is no step '{row.step}'", "correct its name")
        return self

    def cells(self) -> Iterator[tuple[Table, TableRow, Column, float]]:
        """Every published value, in the unit of its column, with its place; nan where an open table has none."""
        for table in self.table:
            for row in table.row:
                values = [math.nan] * len(table.column) if table.open else row.values
                for column, value in zip(table.column, values, strict=True):
                    if table.open or not math.isnan(value):
                        yield table, row, column, value


def _covers(one: Explanation | Input | Follows, row: TableRow, column: Column) -> bool:
    return row.name in (one.rows or [row.name]) and column.name in (one.columns or [column.name])


def parse_study(toml: str, name: str) -> Study:
    """Raises PlanError for the first thing that is wrong."""
    values = parse_toml("study", name, toml)
    try:
        return Study.model_validate({"name": name, **values})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "missing":
            raise PlanError(".".join(map(str, first["loc"])), "is missing", "add it") from error
        raise setting_error(error) from error


def shipped() -> dict[str, Study]:
    """The studies that come with keisoku, by name."""
    folder = files("keisoku").joinpath("studies")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    names = [entry.name.removesuffix(".toml") for entry in found]
    return {name: parse_study(entry.read_text("utf-8"), name) for name, entry in zip(names, found, strict=True)}


def find_studies(name: str) -> list[Study]:
    """A study that comes with keisoku, or all parts of an experiment ('e1'), or a file. Raises PlanError."""
    path = Path(name)
    if path.suffix == ".toml":
        return [parse_study(read_text("study", path), path.stem)]
    every = shipped()
    found = [study for key, study in every.items() if key == name or key.startswith(f"{name}-")]
    if not found:
        experiments = dict.fromkeys(key.split("-")[0] for key in every)
        known = ", ".join(dict.fromkeys([*experiments, *every]))
        raise PlanError("study", f"there is no study '{name}'", f"use one of {known}")
    return found
