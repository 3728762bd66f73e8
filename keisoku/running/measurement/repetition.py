"""`--repeat`: any entry of the table, measured several times as a whole. Each repetition is a complete run.

Its results are those of the entry; each figure is the median of all repetitions, with an interval that contains how
runs differ (`keisoku/ground/statistics/repeated.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.report import digits
from keisoku.ground.report.part import Part, Section, plain_part, result_tables
from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.ground.report.table import head
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.figure_table import figures
from keisoku.ground.run.repetition import combine, placed
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings
from keisoku.language import phrase, plural
from keisoku.running.measurement.part_run import again, carried_out, results_of

if TYPE_CHECKING:
    import pyarrow as pa

REPETITIONS = "repetitions.jsonl"
"""A line for each finished repetition."""


def repeated(measurement: Measurement[Any], times: int | None) -> Measurement[Any]:
    """The entry that measures another one as often as its settings say; that one itself if that is once."""
    if times is None or times < 2:
        return measurement
    return replace(
        measurement,
        measure=partial(_measure, measurement),
        analyse=partial(_analyse, measurement),
        part=partial(_part, measurement),
        tables=partial(_tables, measurement),
        resumes=True,
        keeps_time=False,  # each repetition ends by itself
        seconds=partial(_seconds, measurement),
        keep=lambda directory, results: None,  # each repetition keeps what it has to
    )


def _seconds(measurement: Measurement[Any], settings: RunSettings) -> float | None:
    """All repetitions together; None if it is not known how long one takes."""
    one_s = None if measurement.seconds is None else measurement.seconds(settings)
    return None if one_s is None else one_s * (settings.repeat or 1)


def _measure(measurement: Measurement[Any], work: Work[RunSettings]) -> None:
    """Carries out the repetitions that are not finished yet."""
    settings, count = work.settings, work.settings.repeat or 1
    done = {line["number"] for line in _finished(work.directory)} if work.directory else set()
    for number in range(1, count + 1):
        if number in done:
            continue
        started = time.monotonic()
        name, said = (
            f"repetition-{number:0{len(str(count)) + 1}d}",
            phrase("repetition {number} of {count}", number=number, count=count),
        )
        part = again(measurement, settings, number, getattr(settings, "seed", 1))
        carried_out(work, measurement, part, name, ((number - 1) / count, number / count), said)
        line = {"number": number, "run": name, "seconds": round(time.monotonic() - started, 3)}
        assert work.directory is not None, "a part that is measured has begun the whole"
        work.directory.append_line(REPETITIONS, json.dumps(line).encode())


def _analyse(measurement: Measurement[Any], directory: RunDirectory) -> Findings:
    """The medians of all finished repetitions. Raises PlanError if there are none."""
    found = _results(measurement, directory)
    wanted = directory.plan["repeat"]
    results = [in_order(result, directory.plan) for result in combine(list(found.values()))]
    said = (
        [
            plural(
                "{count} of {wanted} repetitions is finished.",
                "{count} of {wanted} repetitions are finished.",
                count=len(found),
                wanted=wanted,
            )
        ]
        if len(found) < wanted
        else []
    )
    if empty := sum(not results for results in found.values()):
        said.append(
            phrase("{empty} of {count} repetitions measured too little for any result.", empty=empty, count=len(found))
        )
    results = [each.model_copy(update={"remarks": [*each.remarks, *said]}) for each in results]
    plots = [
        plot
        for result in results
        if (
            plot := repetitions_plot(
                result.measurement, measurement.figure_of(result.measurement, directory.plan), found
            )
        )
    ]
    return Findings(results, plots)


def repetitions_plot(name: str, figure: str, found: Mapping[str, list[Result]]) -> Plot | None:
    """The figure of every row in each repetition, in the order of time; None if no row has it."""
    tables = placed([result for results in found.values() for result in results if result.measurement == name])
    values = [(number, place, row) for number, table in enumerate(tables, 1) for place, row in table.items()]
    shown = [(number, place, row.figures[figure]) for number, place, row in values if figure in row.figures]
    if not shown:
        return None
    divisor, unit = digits.scale(shown[0][2].unit, max(abs(each.value) for _, _, each in shown))
    axes = {
        "xaxis": axis(phrase("repetition")),
        "yaxis": axis(f"{head(figure)}, {unit}", [each.value / divisor for _, _, each in shown]),
    }
    plot = Plot(
        f"repetitions-{name.replace(' ', '-')}",
        phrase("{figure} in each repetition of the whole run.", figure=head(figure)),
        axes,
    )
    for index, place in enumerate(dict.fromkeys(place for _, place, _ in shown)):
        mine = [(number, each) for number, other, each in shown if other == place]
        trace = {
            "mode": "lines+markers",
            "name": hover(
                ", ".join(part for part in (f"{place[1]} byte" if place[1] else "", place[2]) if part) or figure
            ),
            "x": [number for number, _ in mine],
            "y": [each.value / divisor for _, each in mine],
            "line": {"color": device_colour(index)},
            "marker": {
                "color": device_colour(index),
                "symbol": [
                    {"at least": "triangle-up", "at most": "triangle-down"}.get(e.bound, "circle") for _, e in mine
                ],
            },
        }
        plot.add(trace)
    return plot


def _part(measurement: Measurement[Any], runs: Sequence[tuple[RunDirectory, Findings]]) -> Part:
    """A section for each result, with its plot."""
    figure = measurement.figure_of(measurement.name, runs[0][0].plan)
    plain = plain_part([(directory, found.results, []) for directory, found in runs], measurement.title, "", figure)
    sections: list[Section] = []
    for run, (directory, found) in zip(plain.runs, runs, strict=True):
        for result in found.results:
            name = result.measurement.replace(" ", "-")
            sections.append(
                Section(
                    f"{name}-{len(sections) + 1}",
                    result.title or measurement.title,
                    phrase("{count} repetitions of {name}", count=directory.plan["repeat"], name=run.name),
                    [plot for plot in found.plots if plot.name == f"repetitions-{name}"],
                    [(run.name, result_tables(result))],
                    [],
                )
            )
    return replace(plain, sections=sections)


def _results(measurement: Measurement[Any], directory: RunDirectory) -> dict[str, list[Result]]:
    """Results of each finished repetition by its name."""
    names = [str(line["run"]) for line in _finished(directory)]
    if not names:
        raise PlanError("run", f"{directory.path} holds no finished repetition", "continue it with --resume")
    found = {name: results_of(measurement, RunDirectory.open(directory.path / name)) for name in names}
    if not any(found.values()):
        measurement.analyse(RunDirectory.open(directory.path / names[0]))  # says why
    return found


def kept_results(measurement: Measurement[Any], directory: RunDirectory) -> list[list[Result]]:
    """Results of each finished repetition, or of the run itself if it is not repeated."""
    if directory.plan.get("repeat", 1) > 1:
        return list(_results(measurement, directory).values())
    return [measurement.analyse(directory).results]


def _finished(directory: RunDirectory) -> list[dict[str, Any]]:
    return [json.loads(line) for line in directory.lines(REPETITIONS)]


def in_order(result: Result, plan: Mapping[str, Any]) -> Result:
    """The rows in the plan's order of sizes, not in the order that the first repetition drew."""
    sizes = plan.get("frame_bytes", ())
    places = {size: place for place, size in enumerate(sizes if isinstance(sizes, list | tuple) else ())}
    rows = sorted(result.rows, key=lambda row: places.get(row.frame_bytes, len(places)))
    return result.model_copy(update={"rows": rows})


def _tables(
    measurement: Measurement[Any], directory: RunDirectory
) -> Mapping[str, Callable[[], Any] | str | PlanError]:
    """`repetitions`: the figures of every repetition."""

    def table() -> pa.Table:
        import pyarrow as pa

        parts = [
            figures(results).add_column(0, "run", [[name] * figures(results).num_rows])
            for name, results in _results(measurement, directory).items()
        ]
        return pa.concat_tables(parts)

    return {"repetitions": table}
