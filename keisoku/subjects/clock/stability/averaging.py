"""Averaging times, as a user names them: octave, decade, all, or a list such as 1s,10s,100s."""

from __future__ import annotations

import math

from keisoku.errors import PlanError
from keisoku.units import TIME_UNITS_NS, quantity

OCTAVE, DECADE, ALL = "octave", "decade", "all"
ALL_MOST = 5000
"""More averaging times are no table that anybody reads, and take minutes."""
_TOLERANCE = 1e-6
"""Of a ratio to the interval, for numbers that have no exact binary fraction."""


def octaves(longest: int) -> list[int]:
    """Powers of two up to `longest`; at least 1."""
    return [1 << power for power in range(max(1, longest).bit_length())]


def factors(named: str, tau0_s: float, longest: int) -> list[int]:
    """How many intervals of `tau0_s` each averaging time is, in order, up to `longest` of them.

    Raises PlanError for a name that there is not, a time that is no whole number of intervals, or too many.
    """
    if named == OCTAVE:
        return octaves(longest)
    if named == DECADE:
        decades = (step * 10**power for power in range(len(str(max(1, longest)))) for step in (1, 2, 4))
        return [m for m in decades if m <= max(1, longest)]
    if named == ALL:
        if longest > ALL_MOST:
            problem = f"all would be {longest} averaging times, of which {ALL_MOST} are too many to show"
            raise PlanError("tau", problem, f"use {OCTAVE}, {DECADE} or a list")
        return list(range(1, max(1, longest) + 1))
    return sorted(m for m in listed(named, tau0_s) if m <= max(1, longest))


def check(named: str, tau0_s: float) -> None:
    """Raises PlanError if it is no name and no list of multiples of `tau0_s`."""
    if named not in (OCTAVE, DECADE, ALL):
        listed(named, tau0_s)


def listed(named: str, tau0_s: float) -> set[int]:
    """The averaging times of a list, in intervals, however long the log is. Raises PlanError if one is none."""
    found = set()
    for text in named.split(","):
        if not text.strip()[:1].isdigit() and not text.strip().startswith((".", "-", "+")):
            raise PlanError("tau", f"'{text.strip()}' is no averaging time", f"use {OCTAVE}, {DECADE}, {ALL} or 1s,10s")
        ratio = quantity("tau", text, TIME_UNITS_NS) * 1e-9 / tau0_s
        m = round(ratio)
        if m < 1 or not math.isclose(ratio, m, rel_tol=_TOLERANCE):
            problem = f"{text.strip()} is no whole number of the {tau0_s:.12g} s from one reading to the next"
            raise PlanError("tau", problem, f"give multiples of {tau0_s:.12g} s")
        found.add(m)
    return found
