"""Criteria on a result: 'throughput[64] >= 0.5 Mpps', 'throughput >= 95 %', 'latency[64].p99 <= 50 us',
'capacity[forward] > 90 Mb/s', 'convergence <= 5 s in 99 %' (of the repetitions of the whole run).

It parses and judges criteria; the consequence of a missed one is the command's exit code. A criterion is met, missed,
or cannot be decided, which counts as missed: by a bound that leaves it open, or a row that was not measured.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from keisoku.errors import PlanError, instead
from keisoku.ground.run.result import Result, Row, place
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE
from keisoku.language import join_texts, phrase
from keisoku.units import BIT_RATE_UNITS, RATE_UNITS, quantity, unit_of

_FORM = re.compile(
    r"\s*(\w[\w -]*?)\s*(?:\[([^\]]+)\])?\s*(?:\.\s*([\w.]+))?\s*(<=|>=|==|<|>)\s*(.+?)(?:\s+in\s+([\d.]+)\s*%)?\s*"
)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_UNITS = {
    "frames/s": RATE_UNITS,
    "ns": {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "%": {"": 1.0, "%": 1.0},
    "s": {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "bit/s": {unit: factor for unit, factor in BIT_RATE_UNITS.items() if unit[1:]},
    "ns/byte": {"": 1.0, "ns/byte": 1.0},
    "frames": {"": 1.0, "frames": 1.0},
    "byte": {"": 1.0, "byte": 1.0, "bytes": 1.0, "B": 1.0},
    "requests/s": {"": 1.0, "requests/s": 1.0},
    "ppb": {"ppb": 1.0, "ppm": 1e3},
}


_ALSO = {"throughput": ("bit_rate", "line_share")}
"""Figures that are the same in other units, of which one is meant where the unit of a criterion is its."""
ANY_UNIT = "any"
"""Of a figure whose unit is not known beforehand."""
_OPEN = phrase("this bound does not decide the criterion")


@dataclass(frozen=True)
class Verdict:
    """A criterion, whether it is met, and the worst figure for it (None: there is none)."""

    text: str
    met: bool
    measured: Quantity | None
    undecided: str = ""
    """Why the criterion is neither met nor missed; empty if it is either."""

    @property
    def word(self) -> Literal["met", "missed", "undecided"]:
        """The verdict in a word."""
        return "met" if self.met else "undecided" if self.undecided else "missed"


@dataclass(frozen=True)
class Criterion:
    """One comparison. Without a row it must hold for every row of the measurement that has the figure."""

    text: str
    measurement: str
    row: str
    """A frame size in bytes, the case of a row, or the group of rows; empty: every row."""
    figure: str
    comparison: str
    limit: str
    share: float = 0.0
    """Of all repetitions, in %, in which it must hold; 0: it must hold for what all of them say together."""

    def judge_each(self, repetitions: Sequence[Sequence[Result]]) -> Verdict:
        """Judges by the share of repetitions that meet the criterion, as far as these show it: by its interval."""
        from keisoku.ground.statistics.share import share  # few criteria are about shares

        verdicts = [self.judge(results) for results in repetitions]
        met, missed = (
            sum(verdict.word == said and verdict.measured is not None for verdict in verdicts)
            for said in ("met", "missed")
        )
        found, most = share(met, len(verdicts)), share(len(verdicts) - missed, len(verdicts))
        assert found.interval is not None and most.interval is not None, "a share has an interval"
        if found.interval.lower >= self.share:
            return Verdict(self.text, True, found)
        if most.interval.upper < self.share:
            return Verdict(self.text, False, found)
        needed = math.ceil(round(math.log((1 - CONFIDENCE) / 2) / math.log(self.share / 100), 9))
        undecided = phrase(
            "{met} of {count} repetitions meet it; {needed} that all meet it decide",
            met=met,
            count=len(verdicts),
            needed=needed,
        )
        return Verdict(self.text, False, found, undecided)

    def judge(self, results: Sequence[Result]) -> Verdict:
        """Judges the criterion; one on a figure that was not measured is not met.

        Missed by one row it is missed; left open by one, or by one that has no figure at all, it cannot be decided.
        """
        found = [result for result in results if result.measurement == self.measurement]
        lines = [result.line for result in found if result.line is not None]
        rows = [row for result in found for row in result.rows if self._is_meant(row)]
        missing = next((row for result in found for row in result.not_measured if self._is_meant(row)), None)
        figures = [row.figures[self.figure] for row in rows if self.figure in row.figures]
        if lines and self.figure in ("slope", "constant"):
            figures, missing = [getattr(line, self.figure) for line in lines], None
        unit = unit_of(self.limit)
        if strange := next((figure for figure in figures if unit not in units_of(figure)), None):
            # Known only now, and no reason to withhold what was measured.
            return Verdict(self.text, False, strange, join_texts(": ", _other_unit(unit, strange.unit)))
        judged = [(self._holds(figure), figure) for figure in figures]
        if missing is not None and all(holds is not False for holds, _ in judged):
            return Verdict(self.text, False, None, _not_measured(missing))
        if not judged:
            return Verdict(self.text, False, None)
        order = (False, None, True)
        holds, worst = min(judged, key=lambda pair: (order.index(pair[0]), _badness(self.comparison, pair[1].value)))
        return Verdict(self.text, holds is True, worst, _OPEN if holds is None else "")

    def _holds(self, figure: Quantity) -> bool | None:
        """Whether the comparison holds wherever the figure may lie; None where it is a bound that leaves it open."""
        compare, limit = _COMPARE[self.comparison], quantity("require", self.limit, units_of(figure))
        holds = compare(figure.value, limit)
        if not figure.bound:
            return holds
        if self.comparison == "==":
            possible = figure.value <= limit if figure.bound == "at least" else figure.value >= limit
            return None if possible else False
        far = math.inf if figure.bound == "at least" else -math.inf
        return holds if holds == compare(far, limit) else None

    def _is_meant(self, row: Row) -> bool:
        meant = self.row.lower()
        return meant in ("", str(row.frame_bytes), row.case.lower(), row.group.lower())


def _other_unit(unit: str, own: str) -> tuple[str, str]:
    """What is wrong with a limit in `unit` for a figure in its own one, and what to do."""
    written = phrase("write one of {units}", units=", ".join(name for name in _units(own) if name) or "no unit")
    if not unit:
        return phrase("the criterion has no unit, and the figure has"), written
    return phrase("no such figure is in {unit}", unit=unit), written


def _not_measured(row: Row) -> str:
    said = phrase("{place} was not measured", place=place(row) or phrase("the figure"))
    return join_texts(": ", [said, row.remark]) if row.remark else said


def parse(
    text: str,
    figures: Mapping[str, str],
    alone: bool = False,
    columns: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Criterion:
    """A criterion on one of the measurements that `figures` holds: the figure that is meant if none is named, by name.

    `columns` are the figures of measurements, as far as they are known, each with its unit. Where the measurement is
    `alone` in its run, or alone has such a figure, its name may be left out: 'capacity[forward] > 90 Mb/s'. Raises
    PlanError if the form, the measurement, the number or the unit is invalid.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise PlanError("require", f"'{text}' is not a criterion", "write for example 'throughput[64] >= 0.5 Mpps'")
    name, row, figure, comparison, limit, of_all = match.groups()
    known = {_plain(measurement): measurement for measurement in figures}
    measurement = known.get(_plain(name))
    if measurement is None and figure is None:
        having = list(figures) if alone else [one for one in figures if name in columns.get(one, ())]
        if len(having) > 1:
            problem = f"{' and '.join(having)} have a figure '{name}'"
            raise PlanError("require", problem, f"write for example '{text.replace(name, f'{having[0]}.{name}', 1)}'")
        if having:
            measurement, figure = having[0], name
    if measurement is None:
        raise PlanError("require", f"'{name}' is not measured in this run", f"use one of {', '.join(figures)}")
    unit, figure, units = unit_of(limit), figure or figures[measurement], columns.get(measurement, {})
    written = units_of_figures() | ({unit} if figure in units else set())
    quantity("require", limit, dict.fromkeys(written, 1.0))  # `check` knows its unit
    if figure in units and not _fits(unit, units[figure]):
        figure = next((one for one in _ALSO.get(figure, ()) if one in units and _fits(unit, units[one])), figure)
    return Criterion(text.strip(), measurement, (row or "").strip(), figure, comparison, limit, _share(of_all))


def _share(text: str | None) -> float:
    """In %; 0 for none. Raises PlanError for what no number of repetitions can show."""
    if text is None:
        return 0.0
    try:
        percent = float(text)
    except ValueError:
        percent = 0.0
    if not 0 < percent < 100:
        problem = f"repetitions cannot show that a criterion holds in {text} % of all"
        raise PlanError("require", problem, "write for example 'in 99 %', or leave it out")
    return percent


def check(criterion: Criterion, columns: Mapping[str, str], sizes: Sequence[int] = ()) -> None:
    """Raises PlanError if rows of these figures, each with its unit, cannot decide it; `sizes` are the frame sizes, if
    all rows have one."""
    named, unit = criterion.figure, unit_of(criterion.limit)
    if named not in columns:
        problem = f"'{criterion.text}': {criterion.measurement} has no figure '{named}'"
        raise PlanError("require", problem, instead(named, list(columns)))
    if not _fits(unit, columns[named]):
        said = _other_unit(unit, columns[named])
        raise PlanError("require", f"'{criterion.text}': {said[0]}", said[1])
    if sizes and criterion.row.isdecimal() and int(criterion.row) not in sizes:
        problem = f"'{criterion.text}': frames of {criterion.row} byte are not measured in this run"
        raise PlanError("require", problem, f"use one of {', '.join(map(str, sizes))}")


def units_of_figures() -> set[str]:
    """Every unit a figure may be written in."""
    return {unit for units in _UNITS.values() for unit in units}


def units_of(figure: Quantity) -> dict[str, float]:
    """The units in which this figure may be written, and their factors to its own."""
    return _units(figure.unit)


def _fits(unit: str, own: str) -> bool:
    """Whether a figure in its own unit may be written in `unit`, as far as its own one is known."""
    return own == ANY_UNIT or unit in _units(own)


def _units(unit: str) -> dict[str, float]:
    return _UNITS.get(unit, {"": 1.0, unit: 1.0})


def _badness(comparison: str, value: float) -> float:
    return value if comparison in (">=", ">") else -value


def _plain(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").strip()
