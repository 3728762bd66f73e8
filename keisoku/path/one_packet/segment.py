"""What lies between two hops that answered: slopes' differences with bootstrap intervals, bandwidth and latency.

A link's bandwidth comes from the difference of two fits, so the interval is computed for that difference; the error of
a far hop includes that of the hop before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.path.one_packet.minimum import HopSamples, low
from keisoku.path.one_packet.quantile import refine
from keisoku.path.one_packet.slope import NORMAL, Floats, SlopeFit, fit_slopes, identifiable

BITS = 8e9
"""bit/s · ns/byte."""
DRAWS = 200
CONFIDENCE = 0.95
SLOWEST_COPY = 0.4
"""ns per byte that the hosts themselves add (20 Gb/s); a smaller slope is not taken for a link's serialisation."""

LEVELS = (0.05, 0.1, 0.2)
"""Quantiles that may stand for the minimum; no higher ones: at a load of ρ only 1 − ρ of probes meet no queue."""


@dataclass(frozen=True)
class Span:
    """A value with the ends of its 95 % interval."""

    value: float
    lower: float
    upper: float

    @property
    def half_width(self) -> float:
        """The larger distance from the value to an end."""
        return max(self.upper - self.value, self.value - self.lower, 0.0)


@dataclass(frozen=True)
class HopFit:
    """One hop's fit and its bootstrap draws (columns: forward, reverse, fixed; reverse NaN where not identifiable)."""

    samples: HopSamples
    fit: SlopeFit
    draws: Floats
    level: float
    """Quantile of each size's round trips that was fitted; 0: the minimum."""
    fixed: float
    """Time of an undelayed packet of zero length, ns: the fitted slopes laid through the minima."""

    @property
    def fitted(self) -> Floats:
        """What was fitted, by cell, ns."""
        return lows(self.samples, self.level)


@dataclass(frozen=True)
class Segment:
    """The links between two neighbouring hops that answered; several hops where some in between never did."""

    first_hop: int
    last_hop: int
    near: str
    """Address that answered at the near end; empty: the prober itself."""
    far: str
    forward: Span | None
    """Slope difference on the way out in ns/byte; None where it cannot be separated from the reverse one."""
    reverse: Span | None
    """The same in the reverse direction."""
    both: Span | None
    """The sum of both ways, where only that is known."""
    fixed: Span
    """Difference of the round trips of a packet of zero length, in ns."""
    forward_gain: float
    """Standard deviation of the forward difference (ns/byte) that 1 ns of it in each minimum makes: stamps' noise."""
    reverse_gain: float

    @property
    def joined(self) -> bool:
        """Hops in between never answered."""
        return self.last_hop > self.first_hop


def fit_hop(samples: HopSamples, draws: int = DRAWS, seed: int = 0) -> HopFit:
    """The fit of one hop's minima, and `draws` fits of resampled sizes and repeats.

    A draw takes as many sizes as there are, with replacement (so it knows how well the plane fits), and of each the
    minimum or low quantile of as many resampled repeats (so it knows how well that is known). Raises ValueError when
    the hop answered too few sizes.
    """
    level, fit = _level(samples)
    generator = np.random.default_rng([seed, samples.hop])
    drawn = np.full((draws, 3), np.nan)
    cells = samples.sizes.size
    growing = samples.replies < samples.replies.max() if fit.kind == "both" else np.zeros(cells, dtype=np.bool_)
    for number in range(draws):
        chosen = _stratified(generator, growing)
        again = [_resampled(generator, samples.samples[cell]) for cell in chosen]
        values = np.array([low(cell, level) for cell in again])
        sizes, replies = samples.sizes[chosen], samples.replies[chosen]
        try:
            found = fit_slopes(sizes, replies, values, fit.kind)
            found = refine(found, sizes, replies, again, level) if level else found
        except (ValueError, np.linalg.LinAlgError):
            continue
        minima = values if level == 0 else np.array([low(cell, 0.0) for cell in again])
        fixed = _fixed(found, sizes, replies, minima, level)
        drawn[number] = (found.forward, np.nan if found.reverse is None else found.reverse, fixed)
    return HopFit(samples, fit, drawn, level, _fixed(fit, samples.sizes, samples.replies, samples.minima, level))


def lows(samples: HopSamples, level: float) -> Floats:
    """The low quantile of each cell, ns."""
    return np.array([low(cell, level) for cell in samples.samples])


def _level(samples: HopSamples) -> tuple[float, SlopeFit]:
    """Minima, unless a low quantile is better known; and the fit.

    Minima are judged by how far all of them lie about their plane: those that were trimmed were no better known.
    """
    sizes, replies, minima = samples.sizes, samples.replies, samples.minima
    fit = fit_slopes(sizes, replies, minima)
    best = (NORMAL * float(np.median(np.abs(minima - fit.at(sizes, replies)))), 0.0, fit)
    for level in LEVELS:
        if samples.repeats * level < 1:  # no more than the minimum
            continue
        again = refine(
            fit_slopes(sizes, replies, lows(samples, level), fit.kind), sizes, replies, samples.samples, level
        )
        if again.scatter < best[0]:
            best = (again.scatter, level, again)
    return best[1:]


def _fixed(fit: SlopeFit, sizes: Floats, replies: Floats, minima: Floats, level: float) -> float:
    if level == 0:
        return fit.fixed
    return fit.fixed + float(np.median(minima - fit.at(sizes, replies)))


def segments(fits: Sequence[HopFit]) -> list[Segment]:
    """What lies between each hop that answered and the one that answered before it (the prober before the first)."""
    found = []
    before: HopFit | None = None
    for hop in fits:
        found.append(_segment(before, hop))
        before = hop
    return found


def fit_hops(hops: Sequence[HopSamples], draws: int = DRAWS) -> list[HopFit]:
    """Fits of the hops with enough sizes; the others are left out, as if they had never answered."""
    found = []
    for samples in hops:
        if np.unique(samples.sizes).size >= 6 and identifiable(samples.sizes, samples.replies):
            found.append(fit_hop(samples, draws))
    return found


def rate(span: Span) -> Span | None:
    """Bandwidth in bit/s from a slope difference in ns/byte; None where the slope is not surely above zero."""
    if span.lower <= 0 or span.value < SLOWEST_COPY:
        return None
    return Span(BITS / span.value, BITS / span.upper, BITS / span.lower)


def _segment(before: HopFit | None, hop: HopFit) -> Segment:
    kinds = {hop.fit.kind} | ({before.fit.kind} if before else set())
    no_sum = "sum" not in kinds
    near = (0.0, 0.0, 0.0) if before is None else (before.fit.forward, before.fit.reverse, before.fixed)
    drawn = np.zeros_like(hop.draws) if before is None else before.draws
    both = None
    if not no_sum:
        near_sum, near_sums = (0.0, 0.0) if before is None else (_sum(before), _sums(before))
        both = _difference(_sum(hop), near_sum, _sums(hop), near_sums)
    reverse = None
    if no_sum and "forward" not in kinds and hop.fit.reverse is not None and near[1] is not None:
        reverse = _difference(hop.fit.reverse, near[1], hop.draws[:, 1], drawn[:, 1])
    gains = np.hypot(_gains(hop), (0.0, 0.0) if before is None else _gains(before))
    return Segment(
        first_hop=1 if before is None else before.samples.hop + 1,
        last_hop=hop.samples.hop,
        near="" if before is None else before.samples.replier,
        far=hop.samples.replier,
        forward=_difference(hop.fit.forward, near[0], hop.draws[:, 0], drawn[:, 0]) if no_sum else None,
        reverse=reverse,
        both=both,
        fixed=_difference(hop.fixed, near[2], hop.draws[:, 2], drawn[:, 2]),
        forward_gain=float(gains[0]),
        reverse_gain=float(gains[1]),
    )


def _gains(hop: HopFit) -> tuple[float, float]:
    sizes, replies = hop.samples.sizes[hop.fit.kept], hop.samples.replies[hop.fit.kept]
    columns = [np.ones_like(sizes), sizes] + ([replies] if hop.fit.kind == "both" else [])
    design = np.column_stack(columns)
    spread = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    return float(spread[1]), float(spread[2]) if hop.fit.kind == "both" else 0.0


def _sum(hop: HopFit) -> float:
    return hop.fit.forward + (hop.fit.reverse or 0.0)


def _sums(hop: HopFit) -> Floats:
    total: Floats = hop.draws[:, 0] + np.nan_to_num(hop.draws[:, 1])
    return total


def _difference(far: float, near: float, far_draws: Floats, near_draws: Floats | float) -> Span:
    """The draws are moved to the fit: resampled minima lie above the minimum by construction, alike at both hops."""
    value = far - near
    drawn = far_draws - near_draws
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size < 20:
        return Span(value, -np.inf, np.inf)
    tail = (1 - CONFIDENCE) / 2
    lower, middle, upper = np.quantile(drawn, [tail, 0.5, 1 - tail])
    return Span(value, value - float(upper - middle), value + float(middle - lower))


def _resampled(generator: np.random.Generator, ascending: Floats) -> Floats:
    """As many round trips drawn with replacement, ascending."""
    return ascending[np.sort(generator.integers(0, ascending.size, ascending.size))]


def _stratified(generator: np.random.Generator, growing: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices drawn with replacement, as many on either side of the kink as there are."""
    sides = [side for side in (np.flatnonzero(growing), np.flatnonzero(~growing)) if side.size]
    return np.concatenate([generator.choice(side, side.size) for side in sides])
