"""What of a run passed, failed, or was not measured: the form in which CI asks for results.

A check failed where somebody should look: a criterion that is not met, a regression, a measurement that gave nothing.
Figures themselves neither pass nor fail. It computes no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.ground.report import digits
from keisoku.ground.report.comparison import figure_name, judged_text
from keisoku.ground.report.table import head
from keisoku.ground.report.verdict import verdict_text
from keisoku.ground.run.comparison import Judged
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.result import Result, Row, place

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Check:
    """One line of a test report."""

    group: str
    """What was measured, or 'criteria', or 'regressions'."""
    name: str
    outcome: Outcome
    text: str
    """The figures; or why it failed or was skipped. Never empty."""


def checks(results: Sequence[Result], verdicts: Sequence[Verdict], judged: Sequence[Judged] = ()) -> list[Check]:
    """Those of a run: its rows, then its criteria, then its figures against those of an earlier run (`judged`)."""
    found = [check for result in results for check in _of_result(result)]
    for verdict in verdicts:
        outcome: Outcome = "passed" if verdict.met else "failed"
        found.append(Check("criteria", verdict.text, outcome, f"{verdict.word}: {verdict_text(verdict)}"))
    for one in judged:
        found.append(
            Check("regressions", figure_name(one.method, one.key, one.figure), _outcome(one), judged_text(one))
        )
    return found


def _of_result(result: Result) -> list[Check]:
    name = result.measurement
    if reason := result.failure or result.nothing_because:
        return [Check(name, result.title or name, "failed", reason)]
    missing = {id(row) for row in result.not_measured}
    found = []
    for row in result.rows:
        where = place(row) or result.title or name
        if row.invalid or id(row) in missing:
            reason = row.invalid or row.remark or "no figure"
            found.append(Check(name, where, "skipped", f"not measured: {reason}"))
        else:
            found.append(Check(name, where, "passed", _figures(row) or row.remark or "no figure"))
    return found


def _figures(row: Row) -> str:
    return "; ".join(f"{head(name, bool(row.frame_bytes))}: {digits.text(it)}" for name, it in row.figures.items())


def _outcome(one: Judged) -> Outcome:
    if one.change == "regression":
        return "failed"
    return "skipped" if one.change == "cannot be judged" else "passed"
