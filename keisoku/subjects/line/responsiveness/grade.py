"""Grades by how much latency a load adds: A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, F.

These are the bounds of widely used bufferbloat tests of the web, so that grades can be compared; no standard has them.
"""

from __future__ import annotations

from keisoku.ground.statistics.quantity import Quantity

MS = 1e6
BELOW_NS = {"A+": 5 * MS, "A": 30 * MS, "B": 60 * MS, "C": 200 * MS, "D": 400 * MS}
WORST = "F"


def grade(added_ns: float) -> str:
    """Of an added latency."""
    return next((name for name, below in BELOW_NS.items() if added_ns < below), WORST)


def grades(added: Quantity) -> tuple[str, str, str]:
    """The grade, and the best and the worst one that the figure's interval allows."""
    lower, upper = added.bounds or (added.value, added.value)
    return grade(added.value), grade(lower), grade(upper)
