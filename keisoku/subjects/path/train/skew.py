"""Removes the rate difference of two clocks from one-way delays: the line below all delays that is closest to them.

After Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements" (1999),
whose linear program the lower convex hull solves. Queues only add to a delay, so the least delays show the clocks.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

MOST = 500e-6
"""Clocks of computers do not differ by more (adjtimex(2) slews by so much)."""
LEAST_POINTS = 10


def skew(times_ns: NDArray[np.float64], delays_ns: NDArray[np.float64]) -> float:
    """By how much delays seem to grow with time (dimensionless); 0 where there are too few of them."""
    if len(times_ns) < LEAST_POINTS:
        return 0.0
    order = np.argsort(times_ns, kind="stable")
    hull: list[tuple[float, float]] = []
    for point in zip(times_ns[order].tolist(), delays_ns[order].tolist(), strict=True):
        while len(hull) >= 2 and _turns_down(hull[-2], hull[-1], point):
            hull.pop()
        if not hull or point[0] > hull[-1][0]:
            hull.append(point)
        elif point[1] < hull[-1][1]:
            hull[-1] = point
    middle = float(times_ns.mean())
    for one, other in itertools.pairwise(hull):
        if one[0] <= middle <= other[0]:
            return float(np.clip((other[1] - one[1]) / (other[0] - one[0]), -MOST, MOST))
    return 0.0


def without_skew(times_ns: NDArray[np.float64], delays_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Delays in ns as one clock would have measured them, up to a constant."""
    return np.asarray(delays_ns - skew(times_ns, delays_ns) * times_ns)


def _turns_down(one: tuple[float, float], middle: tuple[float, float], other: tuple[float, float]) -> bool:
    """True if `middle` is not below the line from `one` to `other`."""
    return (middle[1] - one[1]) * (other[0] - one[0]) >= (other[1] - one[1]) * (middle[0] - one[0])
