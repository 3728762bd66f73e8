"""An entry of the table of measurements: name, settings, and the functions that measure, analyse and draw.

Commands, Python, the server, studies, resuming and analysing are all made from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from keisoku.errors import KeisokuError, PlanError, excerpt
from keisoku.ground.host.context import host_context
from keisoku.ground.observer import Observer
from keisoku.ground.report.part import Part, plain_part
from keisoku.ground.report.plot import Plot
from keisoku.ground.report.sentence import sentence
from keisoku.ground.run.criterion import Criterion, Verdict, check, parse
from keisoku.ground.run.directory import RunDirectory, free_path
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import RunSettings, Settings, parsed

if TYPE_CHECKING:
    from keisoku.ground.report.bars import Spread

Settings_ = TypeVar("Settings_", bound=RunSettings)

ENDS = 0.95
"""Share of the time after which what is still going on is ended, so that it can be analysed in the rest."""
SHOWN = 0.25
"""To write and show an answer that is computed takes as long as this share of the start of the program, at most."""


COMPUTED = 1.5
"""To compute the first answer, with what must be loaded for it, takes as long as this share of the start, at most."""


def for_answers_s(whole_s: float, waited_s: float) -> float:
    """Seconds that are left to measure and to compute the answer if everything must be over after `whole_s`, of which
    the start of the program took `waited_s`: a busy host is as slow again when the answer is shown."""
    return whole_s - (1 + SHOWN) * waited_s


def to_measure_s(whole_s: float, waited_s: float) -> float:
    """The same, without the time to compute an answer after all was measured; half of all at least, as less says
    nothing: then it takes longer."""
    return max(for_answers_s(whole_s, waited_s) - COMPUTED * waited_s, whole_s / 2)


@dataclass(frozen=True)
class Findings:
    """The analysis of a run's raw rows."""

    results: list[Result]
    """One for each procedure of a device run, one for any other run."""
    plots: list[Plot] = field(default_factory=list)
    files: Mapping[str, Iterable[Sequence[object]]] = field(default_factory=dict)
    """Rows for further CSV files, by the name of the file."""
    detail: Any = None
    """Further data for the measurement's own `part`."""


@dataclass(frozen=True)
class PagedFindings:
    """What a run says, its page, and the verdicts on its criteria; none is written yet."""

    findings: Findings
    page: str = ""
    verdicts: Sequence[Verdict] = ()


class Work(Generic[Settings_]):
    """A measurement in progress: the directory of its rows, and its observer."""

    def __init__(
        self,
        measurement: Measurement[Settings_],
        settings: Settings_,
        out: Path | None = None,
        resumed: RunDirectory | None = None,
        observer: Observer | None = None,
        waited_s: float = 0.0,
    ) -> None:
        """Into the directory `out` (default: a new one in `runs`), or on in the directory `resumed`.

        `waited_s`: how many seconds whoever asked has waited already, as for the start of the program.
        """
        self.measurement, self.settings = measurement, settings
        self.observer = observer or Observer()
        """Is told how the measurement goes on."""
        self.resumed = resumed
        """The run that is continued; None: a new one."""
        self.directory: RunDirectory | None = resumed
        """None until `begin`."""
        self.latest: PagedFindings | None = None
        """The last answer; None before the first one."""
        self.answers: Callable[[RunDirectory], PagedFindings] = lambda directory: PagedFindings(
            self.measurement.analyse(directory)
        )
        """What makes an answer of the rows that there are."""
        self.bench: Any = None
        """What `Measurement.bench` opened for several runs; None: the measurement opens what it needs."""
        self.waited_before_s = waited_s
        """Seconds that whoever asked had waited before."""
        self._out, self._since_s = out, monotonic()

    def elapsed_s(self) -> float:
        """Seconds of this host since the measurement was asked for."""
        return monotonic() - self._since_s

    def left_s(self) -> float:
        """Seconds in which measuring has to be over, so that the answer is there in time; infinite without a limit."""
        within_s = self.settings.within_s
        return math.inf if within_s is None else ENDS * to_measure_s(within_s, self.waited_before_s) - self.elapsed_s()

    def waited_s(self) -> float:
        """Seconds that whoever asked has waited by now, the start of the program included."""
        return self.waited_before_s + self.elapsed_s()

    def answer(self) -> None:
        """Answers from the rows that there are, if they are enough: what is given if the time is up before a later
        answer is there (`Measurement.keeps_time`)."""
        assert self.directory is not None, "rows are in a directory"
        with suppress(PlanError):
            self.latest = self.answers(self.directory)

    @property
    def path(self) -> Path:
        """Where the run is or will be."""
        if self.directory is not None:
            return self.directory.path
        self._out = self._out or free_path(self.measurement.run_name(self.settings))
        return self._out

    def begin_elsewhere(self) -> Path:
        """The path at which another process of this host makes the run's directory; `made_elsewhere` follows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.path.resolve()

    def made_elsewhere(self) -> RunDirectory:
        """Takes the directory that the other process made. Raises PlanError if it holds no run."""
        self.directory = RunDirectory.open(self.path)
        self.observer.begun(self.directory)
        return self.directory

    def begin(self, context: Mapping[str, Any], settings: Settings_ | None = None) -> RunDirectory:
        """The run's directory: the one that is resumed, or a new one with this context and the host's.

        `settings` replace the requested ones, where the measurement had to fill some in. Called once, directly before
        measuring, so that an earlier failure leaves no directory.
        """
        if self.directory is None:
            self.settings = settings or self.settings
            started = {"started_at": datetime.now(UTC).isoformat(timespec="seconds")}
            self.directory = RunDirectory.create(
                self.path,
                self.measurement.name,
                self.settings.plain(),
                {**host_context(), **context, **started},
            )
        self.observer.begun(self.directory)
        return self.directory


def without_files(*keys: str) -> Callable[[Mapping[str, Any]], None]:
    """A check of settings that a client of the server sent: `keys`, which name files of the server, are not given."""

    def check(values: Mapping[str, Any]) -> None:
        for key in keys:
            if values.get(key):
                raise PlanError(key, "names a file of the server", "leave it out")

    return check


def unit_of_each(units: Mapping[str, str]) -> dict[str, str]:
    """The unit of each figure, by its name; `units` has the figures of one unit in one text, by the unit."""
    return {name: unit for unit, names in units.items() for name in names.split()}


@dataclass(frozen=True)
class NamedQuery:
    """A question about the tables of a run, which SQL asks as `from NAME()` or `from NAME(parameter := value)`."""

    sql: str
    """A SELECT, in which the parameters stand by their names."""
    columns: Mapping[str, str]
    """What each column of the answer means."""
    parameters: str = ""
    """With their defaults: 'near := 3, of_trial := null'."""
    needs: tuple[str, ...] = ()
    """Other named queries that it asks."""
    reads: Callable[[RunDirectory], Mapping[str, Any]] = lambda directory: {}
    """Tables of a run that only it reads, by name: what opens the rows of each trial (an Arrow reader), which is done
    only where they are needed, or a PlanError as in `Measurement.tables`."""


@dataclass(frozen=True)
class StandIn:
    """The figure that pairs are compared by where the main one is a bound on both sides."""

    figure: str
    because: str
    """What is said of it: why the main figure is only a bound, and what the other one is."""


@dataclass(frozen=True)
class Measurement(Generic[Settings_]):
    """One entry. `measure` does the input and output; `analyse` reads the directory and nothing else."""

    name: str
    """Name as in the command: 'path packet-pair', 'throughput'."""
    title: str
    """Title on the page."""
    settings: type[Settings_]
    measure: Callable[[Work[Settings_]], None]
    """Begins the run, appends raw rows, and returns when enough is measured. Raises PlanError or EngineError."""
    analyse: Callable[[RunDirectory], Findings]
    """Results and plots of a run, finished or not. Raises PlanError if it holds too little."""
    summary: str
    """One sentence, for lists of commands."""
    offers: tuple[type[Settings], ...] = ()
    """Whose settings its command offers; empty: its own."""
    made: Callable[[Mapping[str, Any], Callable[[str], str]], Settings_] | None = None
    """Its settings of those that were given, by the names of `offers`, where they do not have these names themselves;
    with the name by which the user knows each. Raises PlanError."""
    waited_for: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    """What is given besides, if a person waits at a terminal for the answer, or for a side of many pairs."""
    refuses: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Settings that other entries of its kind have and this one has not: what is wrong, and what to do."""
    help: str = ""
    """Further text for the command's help: examples, what is needed at the other end."""
    figure: str = ""
    """The figure of a criterion that names none, and of the sentence at the top of a page."""
    part: Callable[[Sequence[tuple[RunDirectory, Findings]]], Part] | None = None
    """The content of runs on the page, where that is more than results and plots."""
    figures: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    """The `figure` for each result of a run, by its plan, where it has several or depends on the plan."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Every figure that its rows may have, those of one unit in one text, by the unit: what a criterion may name."""
    columns: Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, str]]] | None = None
    """The unit of each figure that a result of a run may have, by the names of result and figure, where that depends on
    the plan or there are several results; of results that are missing it is not known beforehand."""
    sizes: Callable[[Mapping[str, Any]], Mapping[str, Sequence[int]]] = lambda plan: {}
    """The frame sizes of all rows of a result, by its name, where they are known beforehand."""
    stand_ins: Callable[[Mapping[str, Any]], Mapping[str, StandIn]] = lambda plan: {}
    """By the name of a result; a result of the stand-in's name has its figure as well."""
    instead: Callable[[Settings_], Settings_] = lambda settings: settings
    """The settings of one side of a pair that measures the stand-ins alone; the same ones where there are none."""
    tables: Callable[[RunDirectory], Mapping[str, Callable[[], Any] | str | PlanError]] = lambda directory: {}
    """Tables of a run besides its raw ones, by name: the function that makes an Arrow table, or the SELECT of a view.

    A PlanError says why this run has not got a table that others have.
    """
    queries: Mapping[str, NamedQuery] = field(default_factory=dict)
    """Questions about the tables of a run, by name."""
    same: tuple[str, ...] = ()
    """Settings that two runs must have in common to be compared."""
    named: Callable[[Settings_], str] | None = None
    """Name for the directory, where that is not the measurement's name."""
    from_afar: Callable[[Mapping[str, Any]], None] | None = None
    """Checks settings that a client of the server sent; raises PlanError for settings that name files or hosts of the
    server.

    None: the server does not carry it out.
    """
    again: Callable[[Settings_, int, Random], Settings_] = lambda settings, number, chance: settings
    """The settings of the run's n-th repetition, which draws the order of what it measures and has files of its own."""
    near: Callable[[Settings_, Sequence[Result]], Settings_] = lambda settings, results: settings
    """The settings of a run that begins near what earlier runs have found. What it finds does not depend on it."""
    check: Callable[[Settings_], None] = lambda settings: None
    """Raises PlanError or EngineError if what the settings name is not there, as far as that can be known beforehand.

    For whoever measures several things in turn: it costs little, and nothing is sent or kept."""
    possible: Callable[[Settings_], bool] = lambda settings: True
    """Whether what the settings name is able to do it. It may open that, and raises EngineError if it is not there."""
    bench: Callable[[Sequence[Settings_], Observer], AbstractContextManager[Any] | None] = lambda runs, observer: None
    """Opens, once for many runs of these settings in turn, what they have in common, such as ports and their engine;
    None if they have nothing that could stay open. Raises PlanError or EngineError."""
    among: Callable[[Settings_, Sequence[Sequence[Result]]], Settings_] = lambda settings, earlier: settings
    """The settings of a run that is one of many of the same side, with what the latest ones before it show of the host;
    the newest is last."""
    alike: Callable[[Sequence[Sequence[Result]]], Sequence[Sequence[Result]]] = lambda runs: runs
    """The results of many runs of the same side, in their order, without figures that the others show to be the
    host's."""
    incomparable: Callable[[str, str, Sequence[Row | None], Sequence[Row | None]], str] = lambda name, figure, a, b: ""
    """Why this figure of a row of the result of this name cannot be compared, in a phrase, by that row in the runs of
    A and of B (None: one has no such row); empty if nothing is against it."""
    in_pairs: Callable[[Settings_], Settings_] = lambda settings: settings
    """The settings of a run that is one side of a pair: as short as it may be, but for what was given."""
    resumes: bool = False
    """Whether an interrupted run can be continued; if not, what it holds can still be analysed."""
    spread: Callable[[RunDirectory, Sequence[Result]], Spread | None] = lambda directory, results: None
    """A distribution that a terminal draws above the answer; None where there is none."""
    seconds: Callable[[Settings_], float | None] | None = None
    """How long it takes at most, in seconds, by its settings; None: that is not known beforehand."""
    outlined: Callable[[Settings_], Sequence[str]] | None = None
    """What these settings would do, in sentences, where that is more than the title and `seconds`. It may open what
    they name, measures nothing, and raises PlanError or EngineError if it cannot be done."""
    shortens: tuple[str, ...] = ()
    """Settings that may be lowered, where they were not given, so that the measurement fits `within_s`."""
    keeps_time: bool = False
    """`seconds` is a promise, the answer included: it answers now and then (`Work.answer`), and when the time is over
    the last answer is given."""
    ends_in_time: bool = False
    """It plans itself to fit `within_s`, and ends by itself when that is over."""
    keep: Callable[[RunDirectory, Sequence[Result]], str | None] = lambda directory, results: None
    """Stores further parts of a result, such as a calibration; returns a sentence with the place."""

    def findings(self, directory: RunDirectory) -> Findings:
        """What the raw rows of a run say, each result with its sentence. Raises PlanError if it holds too little."""
        try:
            found = self.analyse(directory)
        except KeisokuError:
            raise
        except Exception as error:
            raise _not_understood(directory, error) from error
        figures = [self.figure_of(result.measurement, directory.plan) for result in found.results]
        told = [
            result if result.sentence else result.model_copy(update={"sentence": sentence(result, figure)})
            for result, figure in zip(found.results, figures, strict=True)
        ]
        return replace(found, results=told)

    def settings_of(self, given: Mapping[str, Any], named: Callable[[str], str] = lambda field: field) -> Settings_:
        """Its settings of plain values; `named` gives the name by which the user knows one. Raises PlanError."""
        if self.made is not None:
            return self.made(given, named)
        return parsed(self.settings, given, named)

    def run_name(self, settings: Settings_) -> str:
        """Name of a directory that the user did not name."""
        return self.name if self.named is None else self.named(settings)

    def part_of(self, runs: Sequence[tuple[RunDirectory, Findings]]) -> Part:
        """The content of runs of this measurement on a page."""
        if self.part is not None:
            return self.part(runs)
        found = [(directory, findings.results, findings.plots) for directory, findings in runs]
        return plain_part(found, self.title, self.name, self.figure_of(self.name, runs[0][0].plan))

    def criteria(self, plan: Mapping[str, Any]) -> list[Criterion]:
        """The criteria of a plan. Raises PlanError for an invalid one."""
        if not plan.get("require"):
            return []
        figures, columns = self._figures_of(plan), self.columns_of(plan)
        return [parse(text, figures, len(figures) == 1, columns) for text in plan["require"]]

    def check_criteria(self, plan: Mapping[str, Any]) -> None:
        """Raises PlanError for a criterion that a run of this plan cannot decide, as far as that is known."""
        columns, sizes = self.columns_of(plan), self.sizes(plan)
        for each in self.criteria(plan):
            if each.share and int(plan.get("repeat") or 1) < 2:
                problem = f"'{each.text}' is of several repetitions, and the run has one"
                raise PlanError("require", problem, f"let it repeat, or leave 'in {each.share:g} %' out")
            if own := columns.get(each.measurement):
                check(each, own, sizes.get(each.measurement, ()))

    def results_of(self, plan: Mapping[str, Any]) -> list[str]:
        """Names of the results that a run of this plan has."""
        return list(self._figures_of(plan))

    def columns_of(self, plan: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
        """The unit of each figure that a run of this plan may have, by the names of result and figure."""
        return {self.name: unit_of_each(self.units)} if self.columns is None else self.columns(plan)

    def figure_of(self, result: str, plan: Mapping[str, Any]) -> str:
        """The main figure of a result of a run."""
        return self._figures_of(plan).get(result, self.figure)

    def _figures_of(self, plan: Mapping[str, Any]) -> Mapping[str, str]:
        return {self.name: self.figure} if self.figures is None else self.figures(plan)


def _not_understood(directory: RunDirectory, error: Exception) -> PlanError:
    """For records that no measurement writes, as after a fault of the disk: whoever reads many runs goes on."""
    said = excerpt(f"{type(error).__name__}: {' '.join(str(error).split())}")
    problem = f"{directory.path} holds records that cannot be analysed ({said})"
    return PlanError("run", problem, "measure again if they are damaged, and report it as an error if they are not")
