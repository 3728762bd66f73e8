"""The page of one or several runs: one HTML file that loads nothing.

Each measurement's content is a `Part` (`part.py`), made by `plain_part`, or by the domain where it has more to show.
It neither computes nor rounds figures. A content security policy in the page forbids every request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from typing import Any

import tomlkit

from keisoku.ground.report import digits
from keisoku.ground.report.answer import MEANING
from keisoku.ground.report.finding import Finding
from keisoku.ground.report.part import LONG_TABLE, Part, RunPart, Section
from keisoku.ground.report.picture import on_paper, picture
from keisoku.ground.report.plot import Plot
from keisoku.ground.report.table import flag_text, is_words
from keisoku.ground.report.template import environment
from keisoku.ground.report.verdict import JUDGED, judgement, verdict_text
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.start import instant
from keisoku.language import join_texts, phrase, recorded

LONG_CARD = 5
"""Beside cards with more rows there is room for a second plot."""
COLOURS = 6
"""Of runs, after which they begin again (`style.css`)."""
COVERAGE = phrase(
    "A figure reads value ± U, with the expanded uncertainty U = 2u: a coverage factor of k = 2, about 95 % "
    "if the errors are normal (GUM, JCGM 100:2008). A figure that reads value (lower … upper) has a confidence "
    "interval of 95 % that is not symmetrical. The value is rounded to its uncertainty; no digit below it is "
    "shown. A figure that is 'at least' or 'at most' a value is only a bound, as where the tester and not the device "
    "was the limit, and has no uncertainty. An uncertainty that is named resolution is that of one run and does not "
    "contain how much the figure varies between runs. Standard errors of fitted lines are k = 1. Where a figure is "
    "combined from parts, its error budget lists them: type A from repetitions and fits, type B from data of clocks, "
    "cables, link and calibration."
)

MONTHS = (
    phrase("January"),
    phrase("February"),
    phrase("March"),
    phrase("April"),
    phrase("May"),
    phrase("June"),
    phrase("July"),
    phrase("August"),
    phrase("September"),
    phrase("October"),
    phrase("November"),
    phrase("December"),
)


def render(
    parts: Sequence[Part],
    verdicts: Sequence[Verdict] = (),
    findings: Sequence[Finding] = (),
    title: str = "",
    paper: bool = False,
) -> str:
    """One self-contained page; opens offline. On `paper` everything is unfolded, and each choice of a menu is drawn.

    `verdicts` are shown first, `findings` come next. The title names the runs if none is given. Raises ValueError for
    no runs, or if two plots of a section have one name.
    """
    runs = [run for part in parts for run in part.runs]
    if not runs:
        raise ValueError("a page needs at least one run")
    sections = _with_own_names([section for part in parts for section in part.sections])
    leading = _leading(parts, sections)
    shown = {plot.name for plots in leading for plot in plots if not (paper and plot.choices)}
    colours = [{run.name: colour for run, colour in _coloured(part)} for part in parts for _ in part.sections]
    groups = {row.group for run in runs for result in run.results for row in result.rows}
    templates = environment()
    templates.globals["picture"] = picture
    templates.globals["choices"] = on_paper
    templates.tests["words"] = lambda heading: is_words(heading, groups)
    return templates.get_template("page.html").render(
        marks=digits.MARKS,
        paper=paper,
        long_table=LONG_TABLE,
        title=title or join_texts(", ", dict.fromkeys(run.name for run in runs)),
        when=_when(runs),
        version=version("keisoku"),
        runs=[(run, colour) for part in parts for run, colour in _coloured(part)],
        judged=JUDGED,
        operators=", ".join(
            dict.fromkeys(
                str(said["operator"]) for run in runs if (said := run.plan.get("about") or {}).get("operator")
            )
        ),
        judgement=judgement(verdicts),
        verdicts=[(verdict, verdict_text(verdict)) for verdict in verdicts],
        findings=findings,
        flags=[(flag, flag_text(flag)) for run in runs for result in run.results for flag in result.flags],
        sections=list(zip((_without(section, shown) for section in sections), colours, strict=True)),
        answers=[(_coloured(part), plots, part.conclusion) for part, plots in zip(parts, leading, strict=True)],
        meaning=MEANING,
        extras=[extra for part in parts for extra in part.extras],
        deviations=_said(parts, "deviations"),
        no_deviation=list(dict.fromkeys(part.no_deviation for part in parts if _deviates_in_nothing(part))),
        remarks=_said(parts, "remarks"),
        coverage=[COVERAGE, *(note for part in parts for note in part.notes)],
        context=_context(runs),
        plans=[(run.name, tomlkit.dumps(run.plan)) for run in runs],
    )


def _leading(parts: Sequence[Part], sections: Sequence[Section]) -> list[list[Plot]]:
    """The plots of each part that the first screen shows: the main one of its first section with plots, and that of the
    next one with tables beside long cards."""
    found, rest = [], iter(sections)
    for part in parts:
        own = [next(rest) for _ in part.sections]
        rows = sum(len(table.rows) for run in part.runs for table in run.answer.tables)
        drawn = [section for section in own if section.plots]
        second = [section for section in drawn[1:] if section.tables][:1] if rows > LONG_CARD else []
        found.append([section.plots[0] for section in (*drawn[:1], *second)])
    return found


def _without(section: Section, shown: Collection[str]) -> Section:
    return replace(section, plots=[plot for plot in section.plots if plot.name not in shown])


def _with_own_names(sections: Sequence[Section]) -> list[Section]:
    """The sections; a plot whose name occurs in several of them is named after its section too."""
    if any(len({plot.name for plot in section.plots}) < len(section.plots) for section in sections):
        raise ValueError("plots of a section need different names")
    often = Counter(plot.name for section in sections for plot in section.plots)
    return [
        replace(
            section,
            plots=[
                replace(plot, name=f"{section.anchor}-{plot.name}") if often[plot.name] > 1 else plot
                for plot in section.plots
            ],
        )
        for section in sections
    ]


def flattened(content: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested keys joined by dots, with values as text, in the order they are kept."""
    rows: list[tuple[str, str]] = []
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            rows += flattened({str(index): item for index, item in enumerate(value)}, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(str(item) for item in value)))
        else:
            rows.append((name, phrase("not known") if value is None else str(value)))
    return rows


def _coloured(part: Part) -> list[tuple[RunPart, int]]:
    """Runs with the number of the colour that plots of the part draw them in."""
    return [(run, place % COLOURS) for place, run in enumerate(part.runs)]


def _deviates_in_nothing(part: Part) -> bool:
    results = [result for run in part.runs for result in run.results]
    return bool(part.no_deviation and results) and not any(result.deviations for result in results)


def _said(parts: Sequence[Part], kind: str) -> list[tuple[str, str]]:
    """Every sentence once, with the measurements that it holds for, and the runs if not for all."""
    found: dict[str, dict[str, list[str]]] = {}
    ran: dict[str, set[str]] = {}
    for part in parts:
        for run in part.runs:
            for result in run.results:
                title = part.titles.get(result.measurement, result.measurement)
                ran.setdefault(title, set()).add(run.name)
                for text in getattr(result, kind):
                    names = found.setdefault(text, {}).setdefault(title, [])
                    if run.name not in names:
                        names.append(run.name)
    return [
        (
            text,
            join_texts(
                ", ",
                [
                    title if set(names) == ran[title] else join_texts("", [title, f" ({', '.join(names)})"])
                    for title, names in where.items()
                ],
            ),
        )
        for text, where in found.items()
    ]


def _when(runs: Sequence[RunPart]) -> str:
    """The day and the span in UTC in which the runs began."""
    starts = [run.started_at for run in runs if run.started_at]
    times = sorted(time for start in starts if (time := instant(start)))
    if len(times) < len(starts) or not times:
        return ", ".join(starts)
    first, last = times[0], times[-1]
    if first.date() == last.date():
        return phrase("{day}, {time} UTC", day=_day(first), time=f"{first:%H:%M}")
    return phrase("{first} to {last}", first=_day(first), last=_day(last))


def _day(at: datetime) -> str:
    return phrase("{day} {month} {year}", day=at.day, month=MONTHS[at.month - 1], year=at.year)


def _context(runs: Sequence[RunPart]) -> list[tuple[str, list[str]]]:
    """One row per key; one cell that spans all runs where they agree, else one for each."""
    flat = [dict(flattened(run.context)) for run in runs]
    rows = []
    for key in dict.fromkeys(key for context in flat for key in context):
        cells = [recorded(context.get(key, "")) for context in flat]
        rows.append((key, cells[:1] if len(set(cells)) == 1 else cells))
    return rows
