"""The probability of a mark against the queue that the marked frame itself met, and the curve behind it.

The curve is that of RED with ECN as switches have it: no mark below Kmin, a share that rises linearly to Pmax at Kmax,
and every frame from there on; a step is Kmin = Kmax. Its parameters and their intervals are those of the posterior with
a flat prior: at a jump of the probability a likelihood has no curvature, so no interval could be had from one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.quantity import Interval, Quantity

_Array = NDArray[np.float64]
_STRAY = 1e-6
"""Probability of a mark, or of none, against all rules: a single frame must not decide."""
_GRID = 17
_ROUNDS = 24
_EDGE = 1e-5
"""A grid is too narrow if one of its sides has more than this share of the posterior."""
_WHOLE = 0.9999
"""The grid is narrowed to this share of the posterior."""
_REACHED = 0.95
"""The curve has reached one if so many frames of the longest queues are marked."""
_TOP = 0.002
"""The longest queues are those of this share of the frames."""
_STEP = 0.02
"""Kmin and Kmax that cannot be told apart, or only by less than this share of them, are a step."""
_BUCKET_SHARE = 0.5
"""Frames are not spread evenly in a bucket of latencies: a threshold is not known better than to this share of it."""
_TAIL = 0.025 / 3
"""Beyond each end of an interval, so that three of them together have 95 %."""
_FEW = 0.1
"""Where so many frames are lost, most queues are no longer known by the frames beside them."""
_BEYOND_KMAX = 0.005
"""So many of all lost frames met the longest queue of a survivor where the queue reached Kmax."""
_LEAST_LOST = 100.0
_LINE_SHARE = 0.08
"""Shares of lost frames lie beside the line by so much of it: the queues of lost frames are not known exactly."""
_LEAST_EXPECTED = 8.0
_MISFIT = 3.0
"""Marks that scatter so many times more about the best curve than chance lets them are no function of the queue."""
_POINTS = 24
_PARTS = 100


@dataclass(frozen=True)
class Counts:
    """Frames by the queue that they met, in byte from `lower` to `upper`, and how many of them were marked."""

    lower: _Array
    upper: _Array
    frames: _Array
    marked: _Array

    @property
    def top_bytes(self) -> float:
        """The longest queue that a frame met."""
        return float(self.upper.max())


@dataclass(frozen=True)
class Curve:
    """What the marks say."""

    kind: Literal["none", "step", "ramp", "not a function of the queue"]
    least: Quantity | None = None
    """Kmin, byte."""
    most: Quantity | None = None
    """Kmax, byte; 'at least' where no queue was long enough."""
    share: Quantity | None = None
    """Pmax, %: the share just below Kmax."""
    misfit: float = 0.0
    """Variance of the marks about the curve, in units of what chance makes."""


def merged(parts: Sequence[Counts]) -> Counts:
    """All of them; buckets that agree are added."""
    lower, upper, frames, marked = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lower", "upper", "frames", "marked")
    )
    keys, place = np.unique(np.stack((lower, upper), axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    return Counts(
        keys[:, 0],
        keys[:, 1],
        np.bincount(place, frames, len(keys)).astype(np.float64),
        np.bincount(place, marked, len(keys)).astype(np.float64),
    )


def curve(counts: Counts, scale_share: float = 0.0) -> Curve:
    """The curve that fits the marks best; all its intervals together contain the truth with 95 %.

    `scale_share`: by what share all queues may be wrong, as the rate of the output may.
    """
    if not counts.marked.sum():
        return Curve("none")
    top, reached = counts.top_bytes, _is_reached(counts)
    start = _start(counts, reached)
    fixed = None if reached else top
    posterior = _Posterior(counts, fixed, start)
    least, most, share = (posterior.quantity(name, scale_share) for name in range(3))
    best = posterior.best
    misfit = _misfit(counts, best)
    if misfit > _MISFIT:
        return Curve("not a function of the queue", misfit=misfit)
    if not reached:
        return Curve("ramp", least, Quantity(value=top, unit="byte", bound="at least"), share, misfit)
    if _is_step(counts, least, most):
        return Curve("step", most, most, None, misfit)
    return Curve("ramp", least, most, share, misfit)


def onset(counts: Counts, blur_bytes: float, scale_share: float = 0.0) -> Quantity | None:
    """Kmin of marks whose own queue is known to `blur_bytes` only, as that of lost frames; None if there is none.

    A queue that loses frames does not rise beyond where it loses them, so that the rest of the curve is not seen.
    """
    if not counts.marked.sum():
        return None
    edges = np.linspace(0.0, counts.top_bytes, _PARTS + 1)
    place = np.clip(np.searchsorted(edges, (counts.lower + counts.upper) / 2, "right") - 1, 0, _PARTS - 1)
    frames, marked = (np.bincount(place, column, _PARTS) for column in (counts.frames, counts.marked))
    many = np.flatnonzero(marked > _FEW * np.maximum(frames, 1.0))
    kept = place <= (many[0] if len(many) else _PARTS)
    few = Counts(counts.lower[kept], counts.upper[kept], counts.frames[kept], counts.marked[kept])
    found = _Posterior(few, few.top_bytes, _start(few, False)).quantity(0, scale_share)
    assert found.interval is not None
    interval = Interval(lower=max(0.0, found.interval.lower - blur_bytes), upper=found.interval.upper + blur_bytes)
    return found.model_copy(update={"interval": interval})


def losses(counts: Counts, frame_bytes: int, blur_bytes: float, scale_share: float = 0.0) -> Curve | None:
    """Kmin, Kmax and Pmax of lost frames, whose queue is known to `blur_bytes`; None if the queue did not reach Kmax.

    No frame survives that meets Kmax, so that the longest queue of a survivor is Kmax to a frame; many lost frames must
    have met one that was as long. Pmax is that of the line from Kmin through the shares below.
    """
    survived = counts.frames > counts.marked
    if not survived.any():
        return None
    top = float(counts.upper[survived].max())
    beyond = float(counts.marked[counts.lower >= top - blur_bytes / 2].sum())
    if beyond < _BEYOND_KMAX * counts.marked.sum():
        return None
    below = counts.upper < top - 2 * blur_bytes
    least = onset(
        Counts(counts.lower[below], counts.upper[below], counts.frames[below], counts.marked[below]),
        blur_bytes,
        scale_share,
    )
    if least is None:
        return None
    place = int(np.argmax(np.where(survived, counts.upper, 0.0)))
    unsure = _BUCKET_SHARE * _width(counts, place) + scale_share * top
    low, high = float(counts.lower[place]) - unsure, top + frame_bytes + unsure
    most = Quantity(value=top, unit="byte", interval=Interval(lower=low, upper=high), covers="resolution")
    middle = (counts.lower + counts.upper) / 2
    inside = below & (middle > least.value)
    due = float((counts.frames[inside] * (middle[inside] - least.value)).sum()) / max(1.0, top - least.value)
    lost = float(counts.marked[inside].sum())
    if due <= 0 or lost < _LEAST_LOST:
        return Curve("ramp", least, most)
    share = lost / due
    half = share * (2.4 / np.sqrt(lost) + _LINE_SHARE)
    interval = Interval(lower=100 * max(0.0, share - half), upper=100 * min(1.0, share + half))
    return Curve("ramp", least, most, Quantity(value=100 * share, unit="%", interval=interval, covers="resolution"))


def _width(counts: Counts, place: int) -> float:
    """Width of a bucket in byte."""
    return float(counts.upper[place] - counts.lower[place])


def threshold(counts: Counts) -> float | None:
    """About Kmax in byte; None if no queue was long enough."""
    return _start(counts, True)[1] if counts.marked.sum() and _is_reached(counts) else None


def _is_reached(counts: Counts) -> bool:
    """Whether nearly every frame of the longest queues is marked."""
    order = np.argsort(counts.lower)
    from_top = np.cumsum(counts.frames[order][::-1])
    place = int(np.searchsorted(from_top, max(50.0, _TOP * from_top[-1])))
    longest = order[::-1][: place + 1]
    return bool(counts.marked[longest].sum() >= _REACHED * counts.frames[longest].sum())


def points(counts: Counts) -> list[tuple[float, int, int]]:
    """The curve as it was seen: queue in byte, marked frames and frames, of equal parts of the range."""
    edges = np.linspace(0.0, counts.top_bytes, _POINTS + 1)
    middle = (counts.lower + counts.upper) / 2
    place = np.clip(np.searchsorted(edges, middle, "right") - 1, 0, _POINTS - 1)
    frames = np.bincount(place, counts.frames, _POINTS)
    marked = np.bincount(place, counts.marked, _POINTS)
    queue = np.bincount(place, counts.frames * middle, _POINTS)
    return [
        (float(queue[at] / frames[at]), int(marked[at]), int(frames[at])) for at in range(_POINTS) if frames[at] > 0
    ]


def probability(counts: Counts, least: _Array, most: _Array) -> tuple[_Array, _Array]:
    """For curves by Kmin and Kmax, arrays of one shape: by bucket (last axis), both terms of the mean probability.

    The first is to be multiplied by Pmax.
    """
    width = np.maximum(counts.upper - counts.lower, 1e-9)
    apart, begin = np.maximum(most - least, 1e-9)[..., None], least[..., None]

    def ramp(queue: _Array) -> _Array:
        found: _Array = np.clip(queue - begin, 0.0, apart)
        return found * found

    end = np.maximum(most, least)[..., None]
    beyond = np.clip((counts.lower + width - end) / width, 0.0, 1.0)
    return (ramp(counts.lower + width) - ramp(counts.lower)) / (2 * apart * width), beyond


def _is_step(counts: Counts, least: Quantity, most: Quantity) -> bool:
    """Whether nothing is marked before everything is: no frame below Kmax, or Kmin cannot be told from Kmax."""
    assert least.interval and most.interval
    width = float((counts.upper - counts.lower)[int(np.argmin(np.abs(counts.lower - most.value)))])
    below = counts.upper <= most.interval.lower - width
    if not counts.marked[below].sum():
        return True
    return most.interval.upper <= least.interval.lower + _STEP * most.value + width


def _start(counts: Counts, reached: bool) -> tuple[float, float, float]:
    """A rough curve."""
    order = np.argsort(counts.lower)
    lower, frames, marked = counts.lower[order], counts.frames[order], counts.marked[order]
    least = float(lower[np.argmax(marked > 0)])
    if not reached:
        return least, counts.top_bytes, float(min(0.9, 2 * marked.sum() / max(1.0, frames[lower >= least].sum())))
    # From the threshold on nearly no frame is without a mark: the change of the share that is likeliest.
    above = np.cumsum((frames - marked)[::-1])[::-1]
    score = np.where(lower > least, above - 0.05 * (frames.sum() - np.cumsum(frames)), np.inf)
    most = float(lower[int(np.argmin(score))]) if np.isfinite(score).any() else least
    most = max(most, least + 1.0)
    between = (lower >= least) & (lower < most)
    mean = marked[between].sum() / max(1.0, frames[between].sum())
    return least, most, float(np.clip(2 * mean, 0.01, 0.95))


class _Posterior:
    """Of Kmin, Kmax and Pmax on a grid that is fitted to it."""

    def __init__(self, counts: Counts, top: float | None, start: tuple[float, float, float]) -> None:
        self._counts, self._top = counts, top
        start = self._climbed(start)
        span = max(counts.top_bytes * 0.02, 1.0)
        sides = [(start[0] - span, start[0] + span), (start[1] - span, start[1] + span), (start[2] / 2, start[2] * 2)]
        for _ in range(_ROUNDS):
            self._axes = self._grid(sides)
            self._mass = self._evaluate()
            sides, done = self._fitted()
            if done:
                break

    @property
    def best(self) -> tuple[float, float, float]:
        """The likeliest curve of the grid."""
        at = np.unravel_index(int(np.argmax(self._mass)), self._mass.shape)
        return tuple(float(axis[place]) for axis, place in zip(self._axes, at, strict=True))  # type: ignore[return-value]

    def quantity(self, axis: int, scale_share: float) -> Quantity:
        """Median and interval of a parameter."""
        middle, low, high = (self._quantile(axis, share) for share in (0.5, _TAIL, 1 - _TAIL))
        if axis < 2:
            unsure = _BUCKET_SHARE * self._bucket_bytes(middle) + scale_share * middle
            low, high = max(0.0, low - unsure), high + unsure
            return Quantity(value=middle, unit="byte", interval=Interval(lower=low, upper=high), covers="resolution")
        interval = Interval(lower=100 * low, upper=100 * high)
        return Quantity(value=100 * middle, unit="%", interval=interval, covers="resolution")

    def _bucket_bytes(self, queue: float) -> float:
        place = int(np.argmin(np.abs(self._counts.lower - queue)))
        return float(self._counts.upper[place] - self._counts.lower[place])

    def _quantile(self, axis: int, share: float) -> float:
        values, mass = self._axes[axis], self._marginal(axis)
        if len(values) == 1:
            return float(values[0])
        # A value of the grid stands for the cell around it.
        step = values[1] - values[0]
        edges = np.concatenate(([values[0] - step / 2], values + step / 2))
        return float(np.interp(share, np.concatenate(([0.0], np.cumsum(mass))), edges))

    def _marginal(self, axis: int) -> _Array:
        others = tuple(other for other in range(3) if other != axis)
        found: _Array = self._mass.sum(axis=others)
        return found

    def _grid(self, sides: list[tuple[float, float]]) -> list[_Array]:
        top = self._counts.top_bytes
        least = np.linspace(max(0.0, sides[0][0]), min(top, max(sides[0][1], 1.0)), _GRID)
        most = np.linspace(max(0.0, sides[1][0]), min(1.5 * top, sides[1][1]), _GRID)
        share = np.linspace(max(0.0, sides[2][0]), min(1.0, sides[2][1]), _GRID)
        return [least, most if self._top is None else np.array([self._top]), share]

    def _evaluate(self) -> _Array:
        least, most = np.meshgrid(*self._axes[:2], indexing="ij")
        log = self._log(least, most, self._axes[2])
        log[least > most] = -np.inf
        mass = np.exp(log - log.max())
        found: _Array = mass / mass.sum()
        return found

    def _log(self, least: _Array, most: _Array, share: _Array) -> _Array:
        """Logarithms of the likelihood, by pairs of Kmin and Kmax (of one shape) and Pmax (last axis)."""
        ramp, beyond = probability(self._counts, least, most)
        marked, bare = self._counts.marked, self._counts.frames - self._counts.marked
        found = np.empty((*least.shape, len(share)))
        for place, one in enumerate(share):
            chance = np.clip(ramp * one + beyond, _STRAY, 1 - _STRAY)
            found[..., place] = np.log(chance) @ marked + np.log1p(-chance) @ bare
        return found

    def _climbed(self, start: tuple[float, float, float]) -> tuple[float, float, float]:
        """The likeliest curve near a rough one."""
        from scipy.optimize import minimize  # takes a while to load

        scale = np.array([max(start[1], 1.0), max(start[1], 1.0), 1.0])

        def cost(point: _Array) -> float:
            least, most, share = point * scale
            if not (0 <= least <= most and 0 < share <= 1):
                return 1e300
            if self._top is not None:
                most = self._top
            return -float(self._log(np.array([least]), np.array([most]), np.array([share]))[0, 0])

        best = np.array(start) / scale
        for spread in (0.2, 0.05, 0.01):
            corners = [best] + [best + spread * np.eye(3)[axis] * sign for axis, sign in ((0, -1), (1, 1), (2, 0.5))]
            corners = [np.clip(one, 0.0, None) for one in corners]
            for one in corners:
                one[2] = min(max(one[2], 1e-4), 1.0)
                one[1] = max(one[1], one[0])
            options = {"initial_simplex": np.array(corners), "xatol": 1e-6, "fatol": 1e-3, "maxiter": 400}
            best = minimize(cost, best, method="Nelder-Mead", options=options).x
        found = best * scale
        return float(found[0]), float(found[1]), float(found[2])

    def _fitted(self) -> tuple[list[tuple[float, float]], bool]:
        """Sides of a grid that has the whole posterior and little else, and whether this grid is such a one."""
        found, done = [], True
        for axis, values in enumerate(self._axes):
            if len(values) == 1:
                found.append((float(values[0]), float(values[0])))
                continue
            mass = self._marginal(axis)
            low, high = float(values[0]), float(values[-1])
            width = high - low
            bounded_low = low <= 0.0
            bounded_high = (axis == 2 and high >= 1.0) or (axis == 0 and high >= self._counts.top_bytes)
            wide_low = mass[0] > _EDGE and not bounded_low
            wide_high = mass[-1] > _EDGE and not bounded_high
            inside = np.flatnonzero(mass > (1 - _WHOLE) / len(mass))
            step = width / (len(values) - 1)
            first, last = float(values[inside[0]]) - step, float(values[inside[-1]]) + step
            if wide_low or wide_high:
                done = False
                found.append((low - width * wide_low, high + width * wide_high))
            elif last - first < 0.6 * width:
                done = False
                found.append((first, last))
            else:
                found.append((low, high))
        return found, done


def _misfit(counts: Counts, best: tuple[float, float, float]) -> float:
    """Chi square for each degree of freedom, over runs of buckets in which enough marks and frames without are due."""
    ramp, beyond = probability(counts, np.array(best[0]), np.array(best[1]))
    chance = np.clip(ramp * best[2] + beyond, _STRAY, 1 - _STRAY)
    order = np.argsort(counts.lower)
    total, groups = 0.0, 0
    frames = marked = due = variance = 0.0
    for place in order:
        frames += counts.frames[place]
        marked += counts.marked[place]
        due += counts.frames[place] * chance[place]
        variance += counts.frames[place] * chance[place] * (1 - chance[place])
        if variance >= _LEAST_EXPECTED:
            total, groups = total + (marked - due) ** 2 / variance, groups + 1
            frames = marked = due = variance = 0.0
    return total / (groups - 3) if groups > 6 else 0.0
