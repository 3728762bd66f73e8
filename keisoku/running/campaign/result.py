"""What the runs of a campaign say together: a result for each thing that was measured, with the rows of every device
and setting, and an account of the runs. It does no I/O and formats no figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from keisoku.ground.report.plot import Plot
from keisoku.ground.report.row_plot import row_plot
from keisoku.ground.report.table import DEVICE, LINE
from keisoku.ground.run.repetition import combine
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.running.campaign.settings import NAME, Cell
from keisoku.running.measurement.repetition import in_order


@dataclass
class CellOutcome:
    """A cell, with the results of its finished runs and why others failed."""

    cell: Cell
    runs: list[list[Result]] = field(default_factory=list)
    """Of each finished run, in the order of their numbers."""
    failed: list[str] = field(default_factory=list)
    """Why an attempt failed, for each that did."""


def summarised(found: Sequence[CellOutcome], repetitions: int) -> tuple[list[Result], list[Plot]]:
    """A result for each name of a result, in the order of the plan, then the account; and their plots."""
    every = [(each, {result.measurement: result for result in combine(each.runs)}) for each in found]
    results, plots = [], []
    for name in dict.fromkeys(name for each in found for name in _names(each)):
        having = [(each, results) for each, results in every if name in _names(each)]
        where = _where([each.cell for each, _ in having])
        parts = [_Part(where[each.cell.name], each, results.get(name)) for each, results in having]
        results.append(_one(name, parts))
        first = having[0][0].cell
        figure, anchor = first.entry.figure_of(name, first.of.plain()), plot_name(name)
        series = [(part.where, part.result.rows) for part in parts if part.result is not None]
        plot = row_plot(anchor, figure, series) or row_plot(anchor, figure, [("", results[-1].rows)])
        plots += [plot] if plot is not None else []
    return [*results, _account(found, repetitions)], plots


def plot_name(result: str) -> str:
    """The name of a result's plot."""
    return f"campaign-{result.replace(' ', '-')}"


@dataclass(frozen=True)
class _Part:
    """What one cell gives to a result."""

    where: str
    """The cell in words."""
    found: CellOutcome
    result: Result | None
    """None: no run of it is finished, or none has this result."""


def _names(found: CellOutcome) -> list[str]:
    """Names of the results that a cell has, or would have."""
    expected = found.cell.entry.results_of(found.cell.of.plain())
    return list(dict.fromkeys([*expected, *(result.measurement for run in found.runs for result in run)]))


def _where(cells: Sequence[Cell]) -> dict[str, str]:
    """Each cell in words: its device, and its measurement and setting where not all have the same."""
    parts = [(cell.device, cell.measurement, cell.setting) for cell in cells]
    differ = [True, *(len({part[place] for part in parts}) > 1 for place in (1, 2))]
    return {
        cell.name: ", ".join(word for word, needed in zip(part, differ, strict=True) if word and needed)
        for cell, part in zip(cells, parts, strict=True)
    }


def _one(name: str, parts: Sequence[_Part]) -> Result:
    """One result of those of all cells."""
    known = [(part.where, part.result) for part in parts if part.result is not None]
    titles = {result.title for _, result in known}
    rows = [row for part in parts for row in _rows(part)]
    flags = [
        flag.model_copy(update={"text": join_texts(": ", [where, flag.text])})
        for where, result in known
        for flag in result.flags
    ]
    return Result(
        measurement=name,
        title=titles.pop() if len(titles) == 1 else "",
        rows=rows,
        flags=flags,
        deviations=_said([(where, result.deviations) for where, result in known]),
        remarks=_said([(where, result.remarks) for where, result in known]),
        failure="" if any(row.figures for row in rows) else rows[0].remark,
    )


def _rows(part: _Part) -> list[Row]:
    """The rows of a cell under its name, in the order of its plan; those that say why, if it has none."""
    plan, result = part.found.cell.of.plain(), part.result
    if result is None or not (result.rows or result.line):
        why = (result.failure if result else "") or _why(part.found)
        sizes = plan.get("frame_bytes") or [0]
        return [Row(figures={}, frame_bytes=size, case=part.where, group=DEVICE, remark=why) for size in sizes]
    rows = [
        row.model_copy(
            update={
                "case": join_texts(", ", [part.where, row.case]) if row.case else part.where,
                "group": row.group or DEVICE,
                "trial": None,
            }
        )
        for row in in_order(result, plan).rows
    ]
    if result.line is not None:
        line = {"slope": result.line.slope, "constant": result.line.constant}
        rows.append(Row(figures=line, case=part.where, group=LINE))
    return rows


def _why(found: CellOutcome) -> str:
    if found.failed:
        return found.failed[-1]
    return phrase("its runs measured too little for any result") if found.runs else phrase("no run is finished")


def _said(parts: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Each sentence once; with the cell's name where not all cells say it."""
    every = Counter(sentence for _, sentences in parts for sentence in dict.fromkeys(sentences))
    said = [
        sentence if every[sentence] == len(parts) else join_texts(": ", [where, sentence])
        for where, sentences in parts
        for sentence in sentences
    ]
    return list(dict.fromkeys(said))


def _account(found: Sequence[CellOutcome], repetitions: int) -> Result:
    """How many runs of each cell are finished, missing and failed."""
    finished, failed = sum(len(each.runs) for each in found), sum(len(each.failed) for each in found)
    said = plural(
        "{count} of {wanted} runs is finished",
        "{count} of {wanted} runs are finished",
        count=finished,
        wanted=repetitions * len(found),
    )
    if failed:
        said = plural("{said}; {count} attempt failed", "{said}; {count} attempts failed", said=said, count=failed)
    rows = [
        Row(
            case=each.cell.name,
            group=phrase("Runs of"),
            figures={
                "finished": _count(len(each.runs)),
                "missing": _count(repetitions - len(each.runs)),
                "failed": _count(len(each.failed)),
            },
            remark=join_texts("; ", dict.fromkeys(each.failed)),
        )
        for each in found
    ]
    return Result(
        measurement=NAME,
        title=phrase("Runs of the campaign"),
        rows=rows,
        sentence=phrase("{said}.", said=said),
        failure="" if finished else _why(found[0]),
    )


def _count(value: int) -> Quantity:
    return Quantity(value=value, unit="", uncertainty=0.0)
