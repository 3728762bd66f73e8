"""Carries out any measurement from its settings to its report, and makes result and report of a run again.

It prints nothing: commands, Python and the server each show the outcome in their own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.ground.entry import Findings, Measurement, PagedFindings, Work, for_answers_s, to_measure_s
from keisoku.ground.observer import Observer
from keisoku.ground.report.csv import write_csv
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.language import phrase
from keisoku.running.measurement.table import find, of_run, with_repetition
from keisoku.running.measurement.time_limit import TimeIsUp, fitted, no_longer_than, said_before
from keisoku.units import time_text

if TYPE_CHECKING:
    from keisoku.ground.report.finding import Finding


def carry_out(work: Work[Any]) -> Outcome:
    """Measures what the work is, and analyses it.

    Raises PlanError if the settings cannot be carried out, EngineError if a port or a far end fails, and KeisokuError
    when interrupted, with what is kept and how to continue.
    """
    wanted, observer = work.settings, work.observer
    measurement = work.measurement = with_repetition(work.measurement, wanted.repeat)
    measurement.check_criteria(wanted.plain())  # an impossible criterion is reported before measuring
    if work.resumed is None and not measurement.ends_in_time:
        work.settings = fitted(measurement, wanted, work.waited_before_s)
        if beforehand := said_before(measurement, wanted, work.settings):
            observer.tell(beforehand)
    work.answers = _answer
    whole_s = _whole_s(measurement, work.settings)
    rest = for_answers_s if measurement.keeps_time else to_measure_s
    left_s = None if whole_s is None else rest(whole_s, work.waited_before_s)
    if left_s is not None and left_s <= 0:  # the measurement itself says that nothing is left, and ends
        left_s = None
    try:
        with no_longer_than(left_s):
            measurement.measure(work)
            if measurement.keeps_time and work.directory is not None:
                work.latest = _answer(work.directory)
    except TimeIsUp as error:
        assert whole_s is not None
        over = phrase("the time of {time} is over", time=time_text(whole_s))
        if work.directory is None or not work.directory.holds_rows:
            raise KeisokuError(f"within: {over}, and nothing was measured; give more time") from error
        if not measurement.keeps_time:
            observer.warn(phrase("{over}: what was measured until now is analysed", over=over))
        elif work.latest is None:
            kept = f"'keisoku analyse {work.directory.path}' shows what was measured"
            raise KeisokuError(f"{over}, and this host was too slow for an answer; {kept}") from error
        else:
            observer.warn(
                phrase(
                    "{over}: this is the last answer before; 'keisoku analyse {path}' takes more time, for all that was"
                    " measured",
                    over=over,
                    path=work.directory.path,
                )
            )
    except (EngineError, KeyboardInterrupt) as error:
        directory = work.directory
        if directory is None or not (directory.holds_rows or measurement.resumes):
            raise
        kind, problem = (EngineError, str(error)) if isinstance(error, EngineError) else (KeisokuError, "interrupted")
        kept = f"what was measured is kept, 'keisoku analyse {directory.path}' shows what it says"
        on = f"'keisoku run --resume {directory.path}' goes on"
        parts = [problem, kept if directory.holds_rows else "", on if measurement.resumes else ""]
        raise kind("; ".join(part for part in parts if part)) from error
    assert work.directory is not None, "a measurement that ends without an error has called begin"
    outcome = analyse(work.directory) if work.latest is None else _written(work.directory, work.latest)
    if said := measurement.keep(outcome.directory, outcome.results):
        observer.warn(said)
    return outcome


def _whole_s(measurement: Measurement[Any], settings: RunSettings) -> float | None:
    """The time after which the measurement is ended; None: it ends by itself."""
    if measurement.ends_in_time:
        return None
    promised_s = measurement.seconds(settings) if measurement.keeps_time and measurement.seconds is not None else None
    return min((limit for limit in (settings.within_s, promised_s) if limit is not None), default=None)


def resume(
    path: Path, changes: dict[str, Any] | None = None, observer: Observer | None = None, waited_s: float = 0.0
) -> Outcome:
    """Continues an interrupted run; `changes` are settings that may differ now. Raises as `carry_out` does."""
    directory = RunDirectory.open(path)
    measurement = find(directory.measurement)
    if not of_run(directory).resumes:
        raise KeisokuError(
            f"run: a run of {measurement.name} cannot be continued; analyse what it holds with 'keisoku analyse {path}'"
        )
    for name in changes or {}:
        if name not in measurement.settings.model_fields:
            raise PlanError(name, f"{path} is a run of {measurement.name}, which has no such setting", "leave it out")
    settings = parsed(measurement.settings, {**directory.plan, **(changes or {})})
    return carry_out(Work(measurement, settings, resumed=directory, observer=observer, waited_s=waited_s))


def analyse(directory: RunDirectory) -> Outcome:
    """Result, report and CSV of a run from its raw rows. Raises PlanError if it holds too little."""
    return _written(directory, _answer(directory))


def keep(directory: RunDirectory, findings: Findings) -> Outcome:
    """Writes result, report and CSV of a run. Raises KeisokuError if they cannot be written."""
    return _written(directory, _paged(directory, findings))


def _answer(directory: RunDirectory) -> PagedFindings:
    return _paged(directory, findings_of(directory))


def _paged(directory: RunDirectory, findings: Findings) -> PagedFindings:
    verdicts = _judged(directory, findings.results)
    return PagedFindings(findings, page([(directory, findings)], verdicts), verdicts)


def _written(directory: RunDirectory, answer: PagedFindings) -> Outcome:
    findings = answer.findings
    directory.finish(findings.results)
    directory.write_text("report.html", answer.page)
    try:
        write_csv(directory.path, findings.results, findings.files)
    except OSError as error:
        raise directory.disk_error("*.csv", error) from error
    return Outcome(directory, findings.results, list(answer.verdicts))


def findings_of(directory: RunDirectory) -> Findings:
    """What the raw rows of a run say, each result with its sentence. Raises PlanError if it holds too little."""
    return of_run(directory).findings(directory)


def load(path: Path) -> Outcome:
    """A finished run with its last analysis. Raises PlanError if it is not finished."""
    directory = RunDirectory.open(path)
    results = directory.results()
    return Outcome(directory, results, _judged(directory, results))


def page(
    runs: Sequence[tuple[RunDirectory, Findings]],
    verdicts: Sequence[Verdict] = (),
    findings: Sequence[Finding] = (),
    title: str = "",
    paper: bool = False,
) -> str:
    """One page of one or several runs of any measurements; runs of the same measurement are side by side.

    The title names the runs if none is given; `paper` is for print.
    """
    from keisoku.ground.report.page import render  # templates and plots, which nobody waits for before the first frame

    by_name: dict[tuple[str, bool], list[tuple[RunDirectory, Findings]]] = {}
    for directory, found in runs:
        by_name.setdefault((directory.measurement, int(directory.plan.get("repeat", 1)) > 1), []).append(
            (directory, found)
        )
    return render([of_run(alike[0][0]).part_of(alike) for alike in by_name.values()], verdicts, findings, title, paper)


def _judged(directory: RunDirectory, results: list[Result]) -> list[Verdict]:
    criteria = of_run(directory).criteria(directory.plan)
    repetitions: list[list[Result]] = []
    if any(each.share for each in criteria):
        from keisoku.running.measurement.repetition import kept_results  # few runs are repeated

        repetitions = kept_results(find(directory.measurement), directory)
    return [each.judge_each(repetitions) if each.share else each.judge(results) for each in criteria]
