"""What lies between two hops that answered: slopes' differences with their intervals, bandwidth and latency.

A link's bandwidth comes from the difference of two fits, so the interval is computed for that difference; the error of
a far hop includes that of the hop before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.path.one_packet.fit.covariance import (
    FIXED,
    FORWARD,
    REVERSE,
    Covariance,
    normal_matrix,
    of_minima,
    of_quantile,
    scatter_of_all,
)
from keisoku.subjects.path.one_packet.fit.minimum import HopSamples, low
from keisoku.subjects.path.one_packet.fit.quantile import refine
from keisoku.subjects.path.one_packet.fit.slope import Floats, SlopeFit, fit_slopes, identifiable

BITS = 8e9
"""bit/s · ns/byte."""
SLOWEST_COPY = 0.4
"""ns per byte that the hosts themselves add (20 Gb/s); a smaller slope is not taken for a link's serialisation."""

LEVELS = (0.05, 0.1, 0.2)
"""Quantiles that may stand for the minimum; no higher ones: at a load of ρ only 1 − ρ of probes meet no queue."""
CLEARLY = 0.75
"""Minima that scatter by less than this share of what a quantile's step has are clearly better known."""
REVERSE_SHARE = 1 / 3
"""Share of a probe's bytes over which replies vary."""


@dataclass(frozen=True)
class Span:
    """A value with the ends of its 95 % interval."""

    value: float
    lower: float
    upper: float

    @property
    def half_width(self) -> float:
        """The larger distance from the value to an end, in the value's unit."""
        return max(self.upper - self.value, self.value - self.lower, 0.0)


@dataclass(frozen=True)
class HopFit:
    """One hop's fit, and how well it is known."""

    samples: HopSamples
    fit: SlopeFit
    known: Covariance
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
    def has_silent_hops(self) -> bool:
        """Hops in between never answered."""
        return self.last_hop > self.first_hop

    @property
    def apart(self) -> Span | None:
        """Slope out less slope back, with an interval that holds however both errors go together."""
        if self.forward is None or self.reverse is None:
            return None
        value = self.forward.value - self.reverse.value
        half = self.forward.half_width + self.reverse.half_width
        return Span(value, value - half, value + half)


def fit_hop(samples: HopSamples) -> HopFit:
    """The fit of one hop's minima or low quantiles, and how well it is known.

    Raises ValueError when the hop answered too few sizes.
    """
    level, fit = _level(samples)
    if level == 0:
        known = of_minima(fit, samples)
        return HopFit(samples, fit, known, level, fit.fixed)
    return HopFit(samples, fit, of_quantile(fit, samples, level), level, _fixed(fit, samples))


def lows(samples: HopSamples, level: float) -> Floats:
    """The low quantile of each cell, ns."""
    return np.array([low(cell, level) for cell in samples.samples])


def _level(samples: HopSamples) -> tuple[float, SlopeFit]:
    """Minima, unless a low quantile is known about as well; and the fit.

    Minima are judged by how far all of them lie about their plane: those that were trimmed were no better known. That
    is itself known roughly, so the minima must be clearly better: to choose them whenever they happen to lie close to
    a plane would make intervals too narrow.
    """
    sizes, replies, minima = samples.sizes, samples.replies, samples.minima
    fit = fit_slopes(sizes, replies, minima)
    best: tuple[float, float, SlopeFit] | None = None
    for level in LEVELS:
        if samples.repeats * level < 1:  # no more than the minimum
            continue
        start = fit_slopes(sizes, replies, lows(samples, level), fit.kind)
        again = refine(start, sizes, replies, samples.samples, level)
        if again is not start and (best is None or again.scatter < best[0]):
            best = (again.scatter, level, again)
    if best is None or scatter_of_all(fit, samples) < CLEARLY * best[0]:
        return 0.0, fit
    return best[1:]


def _fixed(fit: SlopeFit, samples: HopSamples) -> float:
    """The slopes of a quantile laid through the minima."""
    return fit.fixed + float(np.median(samples.minima - fit.predict(samples.sizes, samples.replies)))


def segments(fits: Sequence[HopFit]) -> list[Segment]:
    """What lies between each hop that answered and the one that answered before it (the prober before the first)."""
    found = []
    before: HopFit | None = None
    for hop in fits:
        found.append(_segment(before, hop))
        before = hop
    return found


def fit_hops(hops: Sequence[HopSamples]) -> list[HopFit]:
    """Fits of the hops with enough sizes; the others are left out, as if they had never answered."""
    found = []
    for samples in hops:
        if np.unique(samples.sizes).size >= 6 and identifiable(samples.sizes, samples.replies):
            found.append(fit_hop(samples))
    return found


def rate(span: Span) -> Span | None:
    """Bandwidth in bit/s from a slope difference in ns/byte; None where the slope is not surely above zero."""
    if span.lower <= 0 or span.value < SLOWEST_COPY:
        return None
    return Span(BITS / span.value, BITS / span.upper, BITS / span.lower)


def _segment(before: HopFit | None, hop: HopFit) -> Segment:
    kinds = {hop.fit.kind} | ({before.fit.kind} if before else set())
    no_sum = "sum" not in kinds
    both_known = no_sum and "forward" not in kinds
    gains = np.hypot(_gains(hop), (0.0, 0.0) if before is None else _gains(before))

    def difference(*columns: int) -> Span:
        """Of the sum of these coefficients; hops are probed apart, so their errors are independent."""
        value, half = _known(hop, columns)
        near, near_half = (0.0, 0.0) if before is None else _known(before, columns)
        width = float(np.hypot(half, near_half))
        return Span(value - near, value - near - width, value - near + width)

    return Segment(
        first_hop=1 if before is None else before.samples.hop + 1,
        last_hop=hop.samples.hop,
        near="" if before is None else before.samples.replier,
        far=hop.samples.replier,
        forward=difference(FORWARD) if no_sum else None,
        reverse=difference(REVERSE) if both_known else None,
        both=None if no_sum else difference(FORWARD, REVERSE),
        fixed=difference(FIXED),
        forward_gain=float(gains[0]),
        reverse_gain=float(gains[1]),
    )


def _known(hop: HopFit, columns: Sequence[int]) -> tuple[float, float]:
    """The sum of these coefficients of a hop, and half of its 95 % interval."""
    values = (hop.fixed, hop.fit.forward, hop.fit.reverse or 0.0)
    return sum(values[column] for column in columns), hop.known.half_width(columns)


def _gains(hop: HopFit) -> tuple[float, float]:
    sizes, replies = hop.samples.sizes[hop.fit.kept], hop.samples.replies[hop.fit.kept]
    spread = np.sqrt(np.diag(np.linalg.pinv(normal_matrix(sizes, replies, hop.fit.kind, np.ones_like(sizes)))))
    return float(spread[1]), float(spread[2]) if hop.fit.kind == "both" else 0.0


def widths(between: Sequence[Segment], with_reverse: bool = True, until_known: bool = False) -> dict[int, float]:
    """By last hop of each segment: the relative half-width of its forward slope; infinite if unknown.

    A third of that of its reverse slope counts if it is larger, `with_reverse`, or `until_known` where it has no rate
    yet (`REVERSE_SHARE`).

    A segment that shows no serialisation at all has none to be measured: its width is zero.
    """
    found = {}
    for segment in between:
        unknown = segment.reverse is not None and rate(segment.reverse) is None
        reverse = segment.reverse if with_reverse or (until_known and unknown) else None
        spans = [(segment.forward, 1.0), (reverse, REVERSE_SHARE), (segment.both, 1.0)]
        found[segment.last_hop] = max(
            (share * _width(span) for span, share in spans if span is not None), default=np.inf
        )
    return found


def _width(span: Span) -> float:
    if not np.isfinite(span.half_width):
        return float("inf")
    if max(span.value, span.half_width) < SLOWEST_COPY:  # nothing serialises here
        return 0.0
    return span.half_width / abs(span.value) if span.value else float("inf")
