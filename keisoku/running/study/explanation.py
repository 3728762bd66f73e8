"""Why a published cell and ours differ: a sentence, and the computations that would refute it.

An explanation is *refuted* if one of its figures lies outside its range with both ends of its interval (k = 2), *held*
if all lie inside with both, and *undecided* otherwise, or where a figure was not measured. One that no run of ours
could refute is never held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.running.study.arithmetic import Expression, Lookup, Value

Verdict = Literal["held", "refuted", "undecided"]
NAMES = frozenset({"published", "printed", "ours", "difference", "error", "figure", "value"})
_OF_A_RUN = frozenset({"ours", "difference", "figure", "value"})
_COVERAGE = 2.0


class Check(Settings):
    """A figure, and the range outside which it refutes its explanation."""

    says: str
    """What the figure is, for a reader."""
    figure: str
    """An expression (`arithmetic.py`) over 'published', 'ours', 'difference' (ours minus published) and 'error' (of the
    difference) of the cell that is explained; published("row", "column") and ours("row", "column") of the same table;
    'printed' and printed("row", "column") for the published figure without its standard error
    ("" is the row of the cell that is explained); figure("step", "case", "name") or figure("step", "case", "name",
    frame_bytes) of any of our rows, 'value' in place of 'figure' without its standard error."""
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _can_fail(self) -> Check:
        if self.at_least is None and self.at_most is None:
            raise PlanError(f"check '{self.says}'", "no figure would refute it", "give at_least, at_most, or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise PlanError(f"check '{self.says}'", "at_least is above at_most", "exchange them")
        Expression(self.figure, NAMES)
        return self

    @property
    def is_of_a_run(self) -> bool:
        """Whether a run of ours goes into it."""
        return any(name in _OF_A_RUN for name, _ in Expression(self.figure, NAMES).asked)

    def carried_out(self, lookup: Lookup) -> Checked:
        """With the figures that are there."""
        found = Expression(self.figure, NAMES).value(lookup)
        return Checked(self, found, _verdict(self, found))


class Explanation(Settings):
    """Why certain cells differ, with at least one figure that would refute it."""

    text: str
    rows: tuple[str, ...] = ()
    """All rows if empty, and so the columns."""
    columns: tuple[str, ...] = ()
    check: tuple[Check, ...] = Field(min_length=1)
    untested: str = ""
    """Why no run of ours could refute it; empty: one of the figures is of a run."""

    @model_validator(mode="after")
    def _tried_by_a_run(self) -> Explanation:
        if not self.untested and not any(one.is_of_a_run for one in self.check):
            problem = "published figures alone are compared, which no run refutes"
            raise PlanError(f"explanation '{self.text[:40]}…'", problem, "add a check of a run, or say untested")
        return self


@dataclass(frozen=True)
class Checked:
    """A check that was carried out; `found` is None where a figure was not measured."""

    check: Check
    found: Value | None
    verdict: Verdict


@dataclass(frozen=True)
class Explained:
    """An explanation, applied to one cell."""

    text: str
    checks: tuple[Checked, ...]
    untested: str = ""

    @property
    def verdict(self) -> Verdict:
        """That of the worst check."""
        found = worst([one.verdict for one in self.checks])
        return "undecided" if self.untested and found == "held" else found


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """'refuted' before 'undecided' before 'held'."""
    for verdict in ("refuted", "undecided"):
        if verdict in verdicts:
            return verdict
    return "held"


def _verdict(check: Check, found: Value | None) -> Verdict:
    if found is None:
        return "undecided"
    low = -math.inf if check.at_least is None else check.at_least
    high = math.inf if check.at_most is None else check.at_most
    begin, end = found.value - _COVERAGE * found.error, found.value + _COVERAGE * found.error
    if low <= begin and end <= high:
        return "held"
    return "refuted" if end < low or begin > high else "undecided"
