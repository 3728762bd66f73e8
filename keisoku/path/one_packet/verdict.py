"""Conclusions from fits and trains of a path together: hidden stages, token buckets, unexplained slopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keisoku.path.one_packet.segment import HopFit, Segment, rate
from keisoku.path.one_packet.slope import NORMAL, TRIM_SCATTERS, Floats
from keisoku.path.one_packet.train import Dispersion

HIDDEN_RATIO = 1.35
"""A train this much faster than the one-packet rate was not slowed by one link of that rate: n stages give n ≥ 2."""
BUCKET_RATIO = 0.5
"""A train slower than this share of every link that one packet sees met a limit that one packet does not meet."""
BACK_MARGIN = 1.3
"""A train must arrive over a longer time, by this factor, than the reverse direction alone would spread its replies."""
HINGE_SHARE, HINGE_ERRORS = 0.1, 8.0
"""A further change of slope counts from this share of the slope and so many standard errors."""
HINGE_POINTS = 4

Kind = Literal["one-stage", "hidden-stages", "token-bucket", "not-serialising", "not-checked"]


@dataclass(frozen=True)
class PathVerdict:
    """How the links up to a hop take a packet."""

    kind: Kind
    stages: int = 1
    """Equal stages that would explain it, at least."""
    stage_rate: float | None = None
    """bit/s of each of those, or what a bucket sustains at most."""
    why: str = ""


def verdicts(found: Sequence[Segment], trains: Mapping[int, Dispersion]) -> list[PathVerdict]:
    """One for each segment, in order.

    A train's rate is that of the slowest stage up to its hop. So it can contradict the one-packet rate of a segment
    only if that is the slowest so far; a segment behind a slower one is 'not-checked'.
    """
    result: list[PathVerdict] = []
    slowest = np.inf
    bucket = np.inf
    back = 0.0
    for segment in found:
        # Where the reverse direction is not known it is taken to be like the forward one.
        back = max(
            back, *(span.value for span in (segment.reverse or segment.forward, segment.both) if span is not None)
        )
        span = segment.forward or segment.both
        one = rate(span) if span is not None else None
        train = trains.get(segment.last_hop)
        if train is not None and train.span_ns < BACK_MARGIN * train.reply_bytes * back:
            train = None  # the replies may have been spread on their way back
        result.append(_verdict(segment, None if one is None else one.value, train, min(slowest, bucket)))
        if result[-1].kind == "token-bucket":
            bucket = min(bucket, result[-1].stage_rate or np.inf)
        elif one is not None:
            slowest = min(slowest, result[-1].stage_rate or one.value)
    return result


def _verdict(segment: Segment, one: float | None, train: Dispersion | None, slowest: float) -> PathVerdict:
    if one is None:
        if segment.forward is None and segment.both is None:
            return PathVerdict("not-checked", why="its slope is not known")
        if train is not None and not train.limited_by_sender and train.rate < BUCKET_RATIO * min(slowest, 2e10):
            return PathVerdict("token-bucket", stage_rate=train.rate)
        if (segment.forward or segment.both) is not None and _sure(segment):
            return PathVerdict("not-serialising", why="no train showed a limit")
        return PathVerdict("not-checked", why="its slope is not significant")
    if train is None:
        return PathVerdict("not-checked", why="no train to it showed more than the reverse direction")
    if (
        train.rate < BUCKET_RATIO * min(one, slowest)
        and not train.limited_by_sender
        and train.upper < 0.7 * min(one, slowest)
    ):
        return PathVerdict("token-bucket", stage_rate=train.rate)
    if slowest < HIDDEN_RATIO * one:
        return PathVerdict("not-checked", why="an earlier hop is slower")
    if segment.joined:
        return PathVerdict("not-checked", why="it is several hops")
    if segment.forward is None:
        return PathVerdict("not-checked", why="only the sum of both directions is known")
    if train.rate > HIDDEN_RATIO * one and train.lower > 1.15 * one:
        return PathVerdict("hidden-stages", stages=max(2, round(train.rate / one)), stage_rate=train.rate)
    return PathVerdict("one-stage")


def _sure(segment: Segment) -> bool:
    """The slope is known well enough to say that there is none: below what a link of 2 Gb/s would add."""
    span = segment.forward or segment.both
    return span is not None and np.isfinite(span.upper) and span.upper < 4.0


def unexplained_kink(hop: HopFit) -> tuple[int, float] | None:
    """A probe size from which the slope changes though the replies do not explain it, and the change in ns/byte.

    Kitaguchi et al. (2002) found two in a Linux target, at 512 and 1024 bytes. Each size is tried as a hinge
    max(0, L − b) beside the fitted plane; the best counts if it is far above its standard error and a tenth of the
    slope. None: the plane explains all.
    """
    sizes, replies, minima, fit = hop.samples.sizes, hop.samples.replies, hop.fitted, hop.fit
    columns = [np.ones_like(sizes), sizes] + ([replies] if fit.kind == "both" else [])
    best: tuple[float, int, float] | None = None
    for edge in np.unique(sizes)[HINGE_POINTS:-HINGE_POINTS]:
        design = np.column_stack([*columns, np.maximum(0.0, sizes - edge)])
        if (found := _hinge(design / np.abs(design).max(axis=0), minima, int(fit.kept.sum()))) is None:
            continue
        score, change = found[0], found[1] / float(design[:, -1].max())
        if best is None or score > best[0]:
            best = (score, int(edge), change)
    if best is None or best[0] < HINGE_ERRORS or abs(best[2]) < HINGE_SHARE * abs(fit.forward):
        return None
    return best[1], best[2]


def _hinge(design: Floats, minima: Floats, kept_before: int) -> tuple[float, float] | None:
    """(coefficient over its standard error, coefficient) of the last column; None if it explains no more points."""
    kept = np.ones(minima.size, dtype=np.bool_)
    answer: Floats = np.zeros(0)
    for _ in range(2):
        if kept.sum() <= design.shape[1] + 2 or np.linalg.matrix_rank(design[kept]) < design.shape[1]:
            return None
        answer = np.asarray(np.linalg.lstsq(design[kept], minima[kept], rcond=None)[0], dtype=np.float64)
        residuals = minima - design @ answer
        scatter = NORMAL * float(np.median(np.abs(residuals[kept])))
        trimmed, kept = kept, residuals <= TRIM_SCATTERS * max(scatter, 1.0)
    if trimmed.sum() < kept_before:
        return None
    residuals = (minima - design @ answer)[trimmed]
    variance = max(float(residuals @ residuals) / (int(trimmed.sum()) - design.shape[1]), 1.0)
    error = float(np.sqrt(variance * np.linalg.inv(design[trimmed].T @ design[trimmed])[-1, -1]))
    return abs(float(answer[-1])) / error, float(answer[-1])
