"""Places of a log's times on a grid of equal intervals: the interval, gaps, and readings that have no place.

The times of the file decide; an interval that the user gives must agree with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.errors import PlanError
from keisoku.subjects.clock.stability.phase_log import LEAST_TAU0_S, Integers
from keisoku.subjects.clock.stability.power_law import Floats

AGREE = 0.005
"""Share by which a given interval may differ from that of the times, which stamps of coarse steps need."""
_OFF = 0.25
"""In intervals: a step that is so far from a whole number of them is uneven."""
_UNEVEN_MOST = 0.1
"""Share of uneven steps above which times have no interval."""
_PLACES_MOST = 2.0**53
"""Beyond it, numbers of places are not exact."""


@dataclass(frozen=True)
class Grid:
    """Where on a grid of `tau0_s` each time is."""

    tau0_s: float
    place: Integers
    since_s: Floats
    """Of each time, since the first."""
    late_s: Floats
    """How much later than its place each time is; 0 where the last digit of the times explains it."""


def grid(times: Floats, units_s: tuple[float, ...], resolution: float, tau0_s: float | None) -> Grid:
    """Of times that rise, in one of `units_s` (s); `resolution` is their last digit, `tau0_s` what the user gives.

    Raises PlanError for times that go back, that have no interval, or that contradict `tau0_s`.
    """
    if len(times) < 2:
        raise PlanError("file", "it holds one reading", "give a log of more")
    if not np.isfinite(times).all():
        raise PlanError("file", "some of its times are no numbers", "give a file with the time of each phase")
    steps = np.diff(times)
    if (steps <= 0).any():
        at = int(np.flatnonzero(steps <= 0)[0])
        problem = f"its times do not rise after reading {at + 1} ({times[at]:.12g}, then {times[at + 1]:.12g})"
        raise PlanError("file", problem, "give one log in the order of time")
    middle = float(np.sort(steps)[len(steps) // 2])
    interval = float(steps[np.abs(steps / middle - 1.0) < 0.5].mean())
    counts = steps / interval
    whole = np.rint(counts)
    uneven = float(np.mean(np.abs(counts - whole) > _OFF))
    if uneven > _UNEVEN_MOST:
        problem = f"its times are not at equal intervals ({steps.min():.6g} to {steps.max():.6g}, mostly {middle:.6g})"
        raise PlanError("file", problem, "give a log with one interval")
    if whole.sum() > _PLACES_MOST:
        problem = f"its times go from {times[0]:.6g} to {times[-1]:.6g}, in steps of {middle:.6g}"
        raise PlanError("file", problem, "give one log")
    place = np.concatenate(([0], np.cumsum(whole))).astype(np.int64)
    late = times - times[0] - interval * place
    late -= np.median(late)
    uncertain = max(resolution, float(np.abs(late).max())) / len(late)
    unit_s, used = _agreed([(unit, _rounded(interval * unit, uncertain * unit)) for unit in units_s], tau0_s)
    explained = np.abs(late) <= resolution + 1e-9 * interval
    return Grid(used, place, (times - times[0]) * unit_s, np.where(explained, 0.0, late * unit_s))


def _agreed(found: Sequence[tuple[float, float]], tau0_s: float | None) -> tuple[float, float]:
    """The unit of the times, and the time from one place to the next; `found` are those that are possible."""
    said = " or ".join(f"{one:.12g} s" for _, one in found)
    if tau0_s is not None:
        fit = [unit for unit, one in found if abs(one / tau0_s - 1.0) <= AGREE]
        if len(fit) != 1:
            problem = f"the file's own times are {said} apart, not {tau0_s:.12g} s"
            raise PlanError("tau0", problem, "leave it out, or give a file without times if these are none")
        return fit[0], tau0_s
    if len(found) > 1:
        raise PlanError(
            "tau0", f"the unit of the file's times is not named: they are {said} apart", "give the one that is right"
        )
    if found[0][1] < LEAST_TAU0_S:
        raise PlanError("file", f"its times are {said} apart", "give a file of readings in order")
    return found[0]


def _rounded(interval: float, uncertain: float) -> float:
    """With as few digits as the times can tell over the whole log."""
    shorter = (float(f"{interval:.{digits}g}") for digits in range(1, 16))
    return next((one for one in shorter if abs(one - interval) <= max(uncertain, 1e-9 * interval)), interval)
