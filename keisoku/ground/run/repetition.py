"""Results of several repetitions of a whole run as one result: the same rows, each figure from all repetitions.

A row that the tester spoiled in a repetition is left out of it, and said; where it is spoiled in all of them the row is
invalid. It reads no run directory and formats no figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from keisoku.ground.run.result import FittedLine, Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import FROM_ORDER, combined
from keisoku.language import join_texts, phrase, plural

Place = tuple[str, int, str, float, int]
"""Of a row in its result: group, frame size, case, load where rows differ by it, and which of equal ones it is."""


def combine(repetitions: Sequence[Sequence[Result]]) -> list[Result]:
    """One result for each measurement that some repetition has, in the order of the first that has it."""
    names = dict.fromkeys(result.measurement for results in repetitions for result in results)
    return [_one([result for results in repetitions for result in results if result.measurement == n]) for n in names]


def placed(results: Sequence[Result]) -> list[dict[Place, Row]]:
    """The rows of each result of one measurement by their place, which is the same in all of them."""
    by_load = any(
        count > 1
        for result in results
        for count in Counter((row.group, row.frame_bytes, row.case) for row in result.rows).values()
    )
    return [_placed(result, by_load) for result in results]


def _placed(result: Result, by_load: bool) -> dict[Place, Row]:
    found: dict[Place, Row] = {}
    for row in result.rows:
        load = row.figures.get("load") if by_load else None
        number = 0
        while (place := (row.group, row.frame_bytes, row.case, load.value if load else 0.0, number)) in found:
            number += 1
        found[place] = row
    return found


def _one(results: Sequence[Result]) -> Result:
    tables = placed(results)
    rows = [
        _row([table[place] for table in tables if place in table], len(results))
        for place in dict.fromkeys(place for table in tables for place in table)
    ]
    failures = [result.failure for result in results if result.failure]
    remarks = [*_said(results, lambda result: result.remarks), _how(len(results))] if len(results) > 1 else []
    return results[0].model_copy(
        update={
            "rows": rows,
            "line": _line([result.line for result in results if result.line is not None]),
            "flags": _flags(results),
            "deviations": _said(results, lambda result: result.deviations),
            "remarks": remarks or results[0].remarks,
            "sentence": "",
            "failure": failures[0] if len(failures) == len(results) else "",
        }
    )


def _row(rows: Sequence[Row], repetitions: int) -> Row:
    """The row of all repetitions."""
    valid = [row for row in rows if not row.invalid]
    used = valid or rows
    names = dict.fromkeys(name for row in used for name in row.figures)
    figures: dict[str, Quantity] = {}
    remarks = list(dict.fromkeys(row.remark for row in used if row.remark))
    for name in names:
        having = [row.figures[name] for row in used if name in row.figures]
        figures[name] = combined(having)
        bounds = sum(bool(figure.bound) for figure in having)
        if 0 < bounds < len(having):
            remarks.append(
                plural(
                    "{name}: {count} of {having} repetitions gives only a bound",
                    "{name}: {count} of {having} repetitions give only a bound",
                    name=name,
                    count=bounds,
                    having=len(having),
                )
            )
    measured = sum(bool(row.figures) for row in used)
    if valid and len(valid) < len(rows):
        causes = join_texts("; ", dict.fromkeys(row.invalid for row in rows if row.invalid))
        remarks.append(
            plural(
                "{count} of {repetitions} repetitions is left out: {causes}",
                "{count} of {repetitions} repetitions are left out: {causes}",
                count=len(rows) - len(valid),
                repetitions=repetitions,
                causes=causes,
            )
        )
    if figures and measured < len(used):
        remarks.append(
            phrase("measured in {measured} of {repetitions} repetitions", measured=measured, repetitions=repetitions)
        )
    elif len(rows) < repetitions:
        remarks.append(phrase("in {count} of {repetitions} repetitions", count=len(rows), repetitions=repetitions))
    return rows[0].model_copy(
        update={
            "figures": figures,
            "trial": None,
            "invalid": "" if valid else rows[0].invalid,
            "remark": join_texts("; ", remarks),
        }
    )


def _line(lines: Sequence[FittedLine]) -> FittedLine | None:
    if len(lines) < 2:
        return lines[0] if lines else None
    slope, constant = (combined([getattr(line, name) for line in lines]) for name in ("slope", "constant"))
    return FittedLine(
        slope=slope,
        constant=constant,
        slope_error=(slope.uncertainty or 0.0) / 2,
        constant_error=(constant.uncertainty or 0.0) / 2,
        points=[point for line in lines for point in line.points],
    )


def _flags(results: Sequence[Result]) -> list[Flag]:
    """Each flag once, with the number of repetitions that raised it where not all did."""
    raised = Counter(name for result in results for name in {flag.name for flag in result.flags})
    first = {flag.name: flag for result in reversed(results) for flag in result.flags}
    return [
        flag
        if raised[name] == len(results)
        else flag.model_copy(
            update={
                "text": phrase(
                    "{text} (in {some} of {count} repetitions)", text=flag.text, some=raised[name], count=len(results)
                )
            }
        )
        for name, flag in first.items()
    ]


def _said(results: Sequence[Result], said: Callable[[Result], Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(sentence for result in results for sentence in said(result)))


def _how(count: int) -> str:
    interval = (
        phrase("the interval of their median by order statistics")
        if count >= FROM_ORDER
        else phrase("Student's interval of their mean")
    )
    return phrase(
        "Each figure is the median of {count} repetitions of the whole run, with {interval} (95 %).",
        count=count,
        interval=interval,
    )
