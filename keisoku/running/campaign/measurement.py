"""`keisoku campaign`: devices × measurements × settings × repetitions, in random order.

Each run is complete, in a directory of its own (`bridge.throughput.short.001`), and draws what a repetition of the same
number draws, so that all devices get the same frames at the same times. A run that fails is made again, and the log has
a line for each attempt; one that is finished is never made again.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.report.part import Part, Section, plain_part, result_tables
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.figure_table import figures
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.language import join_texts, phrase, plural
from keisoku.running.campaign.cluster import on_cluster
from keisoku.running.campaign.log import Log, lines
from keisoku.running.campaign.result import CellOutcome, plot_name, summarised
from keisoku.running.campaign.settings import NAME, CampaignSettings, Cell, Planned, cells, ordered
from keisoku.running.measurement.dry_run import outlined
from keisoku.running.measurement.part_run import again, carried_out, may_do_better, results_of
from keisoku.running.measurement.plan_values import Find
from keisoku.running.measurement.repetition import repeated
from keisoku.running.measurement.time_limit import TimeIsUp, fitted, no_longer_than
from keisoku.units import time_text

_TITLE = "Campaign"


def _measure(find: Find, work: Work[CampaignSettings]) -> None:
    """Every run that is not finished yet, until all are, or the time is over."""
    settings = work.settings
    every = cells(settings, find)
    done = set() if work.directory is None else {line["run"] for line in lines(work.directory) if not line["failed"]}
    left = [run for run in ordered(settings, every) if run.name not in done]
    work.observer.tell(_said_before(settings, left))
    log = Log(work, work.begin({}), every)
    share_s = None if settings.within_s is None else settings.within_s / _in_a_row(settings, every)
    try:
        with no_longer_than(settings.within_s):
            if settings.cluster is None:
                _in_turn(work, log, left, lambda run: drawn(settings, run, share_s))
            else:
                on_cluster(work, log, left, lambda run: drawn(settings, run, share_s), find)
    except TimeIsUp:
        assert settings.within_s is not None
        over = phrase("the time of {time} is over", time=time_text(settings.within_s))
        work.observer.warn(phrase("{over}: what was measured until now is analysed", over=over))


def _in_a_row(settings: CampaignSettings, every: Sequence[Cell]) -> int:
    """Runs that are made one after the other: all, or on a cluster those that need the same."""
    if settings.cluster is None:
        return settings.repetitions * len(every)
    return settings.repetitions * max(Counter(name for cell in every for name in cell.resources).values())


def drawn(settings: CampaignSettings, run: Planned, share_s: float | None) -> RunSettings:
    """The settings of a run, which is the same whoever carries it out; `share_s` is its part of the time."""
    entry, of = run.cell.entry, run.cell.of
    found = again(entry, of, run.number, settings.seed, repeat=of.repeat)
    limits = [limit for limit in (of.within_s, share_s) if limit is not None]
    if limits:
        found = found.model_copy(update={"within_s": min(limits)})
    return found if entry.ends_in_time else fitted(entry, found)


def _in_turn(
    work: Work[CampaignSettings], log: Log, left: Sequence[Planned], settings_of: Callable[[Planned], RunSettings]
) -> None:
    """Carries out the runs in this process; one that failed is made again after all others."""
    waiting, attempts = deque(left), Counter[str]()
    while waiting:
        run, since = waiting.popleft(), time.monotonic()
        attempts[run.name] += 1
        log.begins(run)
        try:
            settings = settings_of(run)
            entry = repeated(run.cell.entry, settings.repeat)
            carried_out(work, entry, settings, run.name, log.share, run.name)
        except (PlanError, EngineError) as error:
            log.ended(run, time.monotonic() - since, str(error))
            if attempts[run.name] < work.settings.attempts and may_do_better(error):
                waiting.append(run)
        else:
            log.ended(run, time.monotonic() - since)


def _analyse(find: Find, directory: RunDirectory) -> Findings:
    """The results of all runs that are finished, and an account of the others."""
    settings = parsed(CampaignSettings, directory.plan)
    found = {cell.name: CellOutcome(cell) for cell in cells(settings, find)}
    for line in sorted(lines(directory), key=lambda line: line["number"]):
        of = found[line["cell"]]
        if line["failed"]:
            of.failed.append(line["failed"])
        else:
            of.runs.append(_results(of.cell, directory, line))
    return Findings(*summarised(list(found.values()), settings.repetitions))


def _results(cell: Cell, directory: RunDirectory, line: Mapping[str, Any]) -> list[Result]:
    part = RunDirectory.open(directory.path / line["run"])
    return results_of(repeated(cell.entry, part.plan.get("repeat")), part)


def _said_before(settings: CampaignSettings, left: Sequence[Planned]) -> str:
    """How many runs are made, and how long that takes at most, as far as it is known."""
    said = phrase(
        "{runs} of {devices} × {measurements} × {settings} × {times}",
        runs=plural("{count} run", "{count} runs", count=len(left)),
        devices=plural("{count} device", "{count} devices", count=len(settings.devices)),
        measurements=plural("{count} measurement", "{count} measurements", count=len(settings.measurements)),
        settings=plural("{count} setting", "{count} settings", count=len(settings.settings) or 1),
        times=plural("{count} repetition", "{count} repetitions", count=settings.repetitions),
    )
    seconds = _seconds(left) if settings.cluster is None else None  # its ports are not this host's
    if settings.within_s is not None:
        return join_texts(": ", [said, phrase("ends after {limit} at the latest", limit=time_text(settings.within_s))])
    if seconds is None:
        return phrase("{what}: how long it takes is not known beforehand", what=said)
    return join_texts(": ", [said, phrase("at most {time}", time=time_text(seconds))]) if seconds else said


def _outlined(find: Find, settings: CampaignSettings) -> list[str]:
    """Its runs, and what each kind of them does."""
    every = cells(settings, find)
    own = [(cell.name, line) for cell in every for line in outlined(cell.entry, cell.of)]
    return [*(join_texts(": ", pair) for pair in own), _said_before(settings, ordered(settings, every))]


def _seconds(left: Sequence[Planned]) -> float | None:
    """How long these runs take at most together; None if that is not known of all.

    Raises PlanError if one of them is not possible.
    """
    counts = Counter(run.cell.name for run in left)
    each: list[float | None] = []
    for cell in {run.cell.name: run.cell for run in left}.values():
        try:
            one_s = None if cell.entry.seconds is None else cell.entry.seconds(cell.of)
        except PlanError as error:
            raise cell.blamed(error) from error
        each.append(None if one_s is None else counts[cell.name] * one_s * (cell.of.repeat or 1))
    known = [seconds for seconds in each if seconds is not None]
    return sum(known) if len(known) == len(each) else None


def _part(runs: Sequence[tuple[RunDirectory, Findings]]) -> Part:
    """A section for each result, with its plot."""
    plain = plain_part([(directory, found.results, []) for directory, found in runs], _TITLE, "", "")
    sections = [
        Section(
            f"{plot_name(result.measurement)}-{number}",
            result.title or result.measurement,
            run.name if len(runs) > 1 else "",
            [plot for plot in found.plots if plot.name == plot_name(result.measurement)],
            [(run.name, result_tables(result))],
            [],
        )
        for number, (run, (_, found)) in enumerate(zip(plain.runs, runs, strict=True), 1)
        for result in found.results
    ]
    return replace(plain, sections=sections)


def _figures(find: Find, plan: Mapping[str, Any]) -> Mapping[str, str]:
    """The main figure of each result of the cells, and that of the account."""
    found = {NAME: "missing"}
    for cell in cells(parsed(CampaignSettings, plan), find):
        own = cell.of.plain()
        found |= {name: cell.entry.figure_of(name, own) for name in cell.entry.results_of(own)}
    return found


def _columns(find: Find, plan: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """The figures of each result of the cells, with the line of those that have one, and those of the account."""
    found: dict[str, dict[str, str]] = {NAME: {"finished": "", "missing": "", "failed": ""}}
    for cell in cells(parsed(CampaignSettings, plan), find):
        for name, units in cell.entry.columns_of(cell.of.plain()).items():
            found.setdefault(name, {}).update(units)
    return found


def _tables(find: Find, directory: RunDirectory) -> Mapping[str, Callable[[], Any] | str | PlanError]:
    """`runs`: the figures of every finished run; `attempts`: every attempt at a run."""
    settings = parsed(CampaignSettings, directory.plan)

    def runs() -> Any:
        import pyarrow as pa

        of = {cell.name: cell for cell in cells(settings, find)}
        parts = []
        for line in lines(directory):
            if line["failed"]:
                continue
            cell = of[line["cell"]]
            table = figures(_results(cell, directory, line))
            named = {
                "run": line["run"],
                "device": cell.device,
                "plan": cell.measurement,
                "setting": cell.setting or None,
                "repetition": line["number"],
            }
            for place, (name, value) in enumerate(named.items()):
                kind = pa.int64() if name == "repetition" else pa.string()
                table = table.add_column(place, name, pa.array([value] * table.num_rows, kind))
            parts.append(table)
        return pa.concat_tables(parts) if parts else pa.table({"run": pa.array([], pa.string())})

    def attempts() -> Any:
        import pyarrow as pa

        return pa.Table.from_pylist(lines(directory))

    return {"runs": runs, "attempts": attempts}


def of_runs(find: Find) -> Measurement[CampaignSettings]:
    """The entry, which measures by runs of the entries that `find` gives."""
    return Measurement(
        name=NAME,
        title=_TITLE,
        settings=CampaignSettings,
        measure=partial(_measure, find),
        analyse=partial(_analyse, find),
        summary="Measures devices by plans and settings, as often as the plan says, in random order.",
        figure="missing",
        figures=partial(_figures, find),
        columns=partial(_columns, find),
        part=_part,
        tables=partial(_tables, find),
        resumes=True,
        outlined=partial(_outlined, find),
        ends_in_time=True,
        named=lambda settings: f"campaign-{'-'.join(settings.devices)}"[:60],
    )
