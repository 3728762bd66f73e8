"""Rate and burst of a token bucket, from which frames it let through and when.

A full bucket has served at most `burst + rate × t` bytes a time t after its first frame, and it refuses a frame only if
there would be more. So each frame that passed lies below this line, each that was refused above it, and rate and burst
are all lines between both sets. Nothing is assumed about how frames were spaced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.record.counts import Tracked

_Times = NDArray[np.float64]
_ROUNDING_S = 2e-9
"""Timestamps are whole nanoseconds."""
_SLACK = 2.0
"""Where no line separates the frames, because a frame reached the bucket later than others after it was sent, lines
count that miss by up to so many times the least that any line misses."""
_LEAST_FRAMES = 10
"""So few frames show no rate."""


@dataclass(frozen=True)
class Served:
    """What a bucket is known to have served: `below` it had tokens for, `above` it had not. Times in s since its first
    frame, which found it full; amounts in byte."""

    below: tuple[_Times, _Times]
    above: tuple[_Times, _Times]


@dataclass(frozen=True)
class Bucket:
    """A token bucket: 'bit/s' and 'byte', with the intervals of all lines that fit."""

    rate: Quantity
    burst: Quantity
    off_bytes: float
    """By how much the best line misses frames; 0 if it misses none."""


def policed(tracked: Tracked, start_ns: float, counted_bytes: int) -> Served | None:
    """Of a policer: every gap between received frames says what it had served before.

    Frames of one size count `counted_bytes`; `start_ns` is when the first of them was sent. None if nothing was lost.
    """
    gaps = tracked.lost
    if not len(gaps):
        return None
    counts = gaps.counts.astype(np.float64)
    passed = gaps.firsts - (np.cumsum(counts) - counts)
    after_s, before_s = ((times - start_ns) / 1e9 for times in (gaps.after_ns, gaps.before_ns))
    below_s = np.concatenate((after_s, before_s))
    below = np.concatenate((passed, passed + 1)) * counted_bytes
    # The last frame of a gap was sent one spacing before the frame that revealed the gap.
    refused_s = before_s - (before_s - after_s) / (counts + 1)
    known = np.isfinite(refused_s)
    if tracked.lost_kept_as != "list" or not known.any():
        return None
    inside = np.isfinite(below_s)
    return Served((below_s[inside], below[inside]), (refused_s[known], ((passed + 1) * counted_bytes)[known]))


def shaped(tracked: Tracked, start_ns: float, width_ns: int, waiting_ns: float, counted_bytes: int) -> Served | None:
    """Of a shaper: each interval that ends while frames wait says what it has served until then.

    `start_ns` is when the first frame left the device, `waiting_ns` the least latency of frames that waited.
    """
    series = tracked.series
    arrived = np.cumsum([interval.forwarded_frames for interval in series], dtype=np.float64)
    waits = np.array(
        [interval.latency is not None and interval.latency.min_ns > waiting_ns for interval in series], bool
    )
    if len(series) < 2:
        return None
    during = waits[:-1] & waits[1:]
    ends_s = (np.array([interval.start_ns for interval in series[:-1]], np.float64) + width_ns - start_ns) / 1e9
    served, ends_s = arrived[:-1][during] * counted_bytes, ends_s[during]
    return Served((ends_s, served), (ends_s, served + counted_bytes)) if len(ends_s) > 1 else None


def bucket(served: Served, counted_bytes: int) -> Bucket | None:
    """The rate and the burst of all lines between what was served and what was refused; None if they are too few.

    Where no line separates them, lines that miss by little more than the best one count as well.
    """
    if len(served.above[0]) < 2 or served.below[1].max() < _LEAST_FRAMES * counted_bytes:
        return None
    span_s = max(float(served.below[0].max()), float(served.above[0].max()))
    if span_s <= 0:
        return None
    below, above = _hull(*served.below, upper=True), _hull(*served.above, upper=False)
    # In spans and frames, so that all numbers are of one order.
    rows = [(-1.0, -time / span_s, -1.0, -amount / counted_bytes) for time, amount in zip(*below, strict=True)]
    rows += [(1.0, time / span_s, -1.0, amount / counted_bytes) for time, amount in zip(*above, strict=True)]
    table = np.array(rows)
    best = _extreme(table, (0.0, 0.0, 1.0), None)
    if best is None:
        return None
    least = max(0.0, best[2])
    rough = best[1] / span_s
    slack = _SLACK * least + abs(rough) * _ROUNDING_S + 1e-9
    ends = []
    for direction in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        low = _extreme(table, direction, slack)
        high = _extreme(table, tuple(-one for one in direction), slack)
        if low is None or high is None:
            return None
        axis = direction.index(1.0)
        ends.append((low[axis], high[axis]))
    bits = 8 * counted_bytes / span_s
    return Bucket(
        rate=_between(ends[1][0] * bits, ends[1][1] * bits, "bit/s"),
        burst=_between(ends[0][0] * counted_bytes, ends[0][1] * counted_bytes, "byte"),
        off_bytes=least * counted_bytes,
    )


def _between(lower: float, upper: float, unit: str) -> Quantity:
    lower = max(0.0, lower)
    interval = Interval(lower=lower, upper=max(lower, upper))
    return Quantity(value=(lower + max(lower, upper)) / 2, unit=unit, interval=interval, covers="resolution")


def _extreme(
    table: NDArray[np.float64], direction: tuple[float, ...], slack: float | None
) -> tuple[float, float, float] | None:
    """The line (burst, rate, miss) that is least in a direction; with `slack` no line may miss by more."""
    from scipy.optimize import linprog  # takes a while to load

    most = (None, slack)
    found = linprog(
        direction,
        A_ub=table[:, :3],
        b_ub=table[:, 3],
        bounds=[(None, None), (0, None), most if slack is not None else (None, None)],
        method="highs",
    )
    return tuple(float(one) for one in found.x) if found.success else None  # type: ignore[return-value]


def _hull(times: _Times, amounts: _Times, upper: bool) -> tuple[_Times, _Times]:
    """The points that no line between others hides: the upper or the lower hull, in order of time."""
    order = np.lexsort((amounts if not upper else -amounts, times))
    sign = 1.0 if upper else -1.0
    kept: list[tuple[float, float]] = []
    for time, amount in zip(times[order].tolist(), (sign * amounts[order]).tolist(), strict=True):
        if kept and kept[-1][0] == time:
            continue
        while len(kept) > 1 and _turns_up(kept[-2], kept[-1], (time, amount)):
            kept.pop()
        kept.append((time, amount))
    points = np.array(kept)
    return points[:, 0], sign * points[:, 1]


def _turns_up(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> bool:
    """Whether the middle point is on or below the line from the first to the third."""
    return (two[0] - one[0]) * (three[1] - one[1]) >= (two[1] - one[1]) * (three[0] - one[0])
