"""Percentiles and packet delay variation from a histogram, each with what its buckets leave uncertain.

Within a bucket the number of frames is taken to grow as smoothly as the buckets beside it say (Fritsch and Carlson
1980), or, where the whole distribution is hardly wider than the bucket, as the distribution with the exact moments of
all latencies does (`shape.py`). A percentile that the histogram cannot give is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from keisoku.subjects.device.analysis.shape import Shape, moments, shape_of
from keisoku.subjects.device.record.counts import Buckets, Latency

WIDE = 1.0
"""A bucket is wide if the standard deviation of all latencies is at most so many times its width."""
UNLIKE = 0.5
"""By how much of its distance from even latencies a percentile of the fitted shape may be off, so that latencies of two
peaks, or with a few far out, are covered as well…"""
UNEVEN = 0.05
"""…and by how much of what even latencies would be off in mean or standard deviation."""
SHAPELESS = 1.25
"""How much more than in mean or standard deviation a percentile may be off where no shape fits."""
PEAK = 2.0
"""A bucket is a peak if a ns of it holds so many times as many frames as a ns of either bucket beside it."""
CLIFF = 0.1
"""Where a bucket beside it holds so small a part of a bucket's frames, a peak ends in that one, nobody knows where."""
NARROW = 3
"""A peak of so few buckets says nothing of how its frames fall off towards the longest of them."""
FEW = 10
"""A bucket of fewer frames is no peak."""
PDV_PERCENT = 99.9
"""RFC 8219 §7.3.1 takes the 99.9th percentile for the upper end of the delay variation."""


@dataclass(frozen=True)
class Percentile:
    """A value in ns that is off by at most `bound_ns` (the width of its bucket)."""

    value_ns: float
    bound_ns: float
    half_width_ns: float
    """By how much it is likely to be off at most: less than half of the bucket where the latencies within the buckets
    lie as evenly as those beside each other."""


@dataclass(frozen=True)
class BucketShape:
    """What is known of how latencies lie within the buckets of their histogram."""

    off_ns: float
    """By how much mean or standard deviation are off if they lie evenly there (`unevenness`)."""
    deviation_ns: float
    shape: Shape | None = None


def bucket_shape(latencies: Sequence[Latency]) -> BucketShape:
    """Of all frames of these trials."""
    found = moments(latencies)
    return BucketShape(max(map(unevenness, latencies)), found.deviation_ns, shape_of(found))


def percentile(
    buckets: Buckets,
    percent: float,
    min_ns: float | None = None,
    max_ns: float | None = None,
    inside: BucketShape | None = None,
) -> Percentile | None:
    """The latency in ns that `percent` of all frames do not exceed (nearest rank, RFC 2330 §11.3).

    The true one lies in the same bucket, so the error is at most the bucket's width: 1 ns below 256 ns, 1/128 of the
    value above. The exact extremes `min_ns` and `max_ns`, where known, narrow the outermost buckets. `inside` says how
    latencies lie within buckets; without it nothing is assumed of that.

    None if there are no frames, or if the rank falls among latencies below zero, which the
    histogram only counts. Raises ValueError for a percentage outside 0…100.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile lies between 0 and 100, not at {percent}")
    total = buckets.negative + sum(buckets.counts)
    rank = max(1.0, percent / 100 * total)
    if total == 0 or rank <= buckets.negative:
        return None
    index, share = _bucket_of(buckets, rank)
    edges = _Edges(buckets, min_ns, max_ns)
    lower, upper = edges.of(index)
    even = lower + share * (upper - lower)
    width = upper - lower
    if upper == lower:
        return Percentile(even, 0.0, 0.0)
    if inside is None:
        if _is_peak(edges, index):
            return Percentile((lower + upper) / 2, width, width / 2)
        return Percentile(even, width, width / 2)
    hidden = inside.deviation_ns <= WIDE * width
    shaped = inside.shape.between(lower, upper, share) if hidden and inside.shape is not None else None
    if shaped is not None:
        return Percentile(shaped, width, min(width / 2, UNLIKE * abs(shaped - even) + UNEVEN * inside.off_ns))
    if _is_peak(edges, index):
        return Percentile((lower + upper) / 2, width, width / 2)
    value = lower + width * _place(share, *edges.slopes(index))
    off_ns = inside.off_ns * (SHAPELESS if hidden else 1.0)
    if _is_end(edges, index):
        return Percentile(value, width, width / 2)
    return Percentile(value, width, min(width / 2, max(abs(value - even), off_ns)))


@dataclass(frozen=True)
class Position:
    """Where a percentile lies in its bucket."""

    inside: float
    """The part of the bucket's frames that are below it."""
    of_all: float
    """The bucket's part of all frames."""
    ns_per_frame: float
    """By how much the percentile moves if one frame moves from below the bucket to above it, in ns."""
    first: bool
    last: bool


def position(buckets: Buckets, percent: float, min_ns: float, max_ns: float) -> Position:
    """Of a percentile that `percentile` gives. Raises ValueError if there are no frames in buckets."""
    total = buckets.negative + sum(buckets.counts)
    if total == buckets.negative:
        raise ValueError("no frame is in a bucket")
    rank = min(max(percent / 100 * total, buckets.negative + 1.0), total)
    index, share = _bucket_of(buckets, rank)
    count = buckets.counts[index]
    lower, upper = _Edges(buckets, min_ns, max_ns).of(index)
    return Position(
        max(share, 0.0), count / total, (upper - lower) / count, index == 0, index == len(buckets.counts) - 1
    )


def _bucket_of(buckets: Buckets, rank: float) -> tuple[int, float]:
    """The index of the bucket that holds the frame of this rank, and the part of its frames up to that one."""
    cumulative = buckets.negative + np.cumsum(np.asarray(buckets.counts, dtype=np.int64))
    # A rank such as 99.9 % of 1000 must not slip to the next frame by a rounding of the product.
    index = min(int(np.searchsorted(cumulative, rank * (1 - 1e-12))), len(buckets.counts) - 1)
    count = buckets.counts[index]
    return index, min((rank - int(cumulative[index]) + count) / count, 1.0)


def narrowed(found: Percentile, percent: float, latencies: Sequence[Latency], share: float = 1.0) -> Percentile:
    """A percentile kept as near to the mean as it must be, by mean and standard deviation, which are exact.

    No more than one part in 1 + z² of all values lies z standard deviations or more above the mean (Cantelli 1928), and
    likewise below: a median differs from the mean by a standard deviation at most. This says more than a bucket that
    is wider than the distribution. `share` of all frames of these trials are in the histogram of the percentile.
    """
    known = moments(latencies)
    above, below = share * (1 - percent / 100), share * percent / 100
    if not above or not below:
        return found
    least = known.mean_ns - known.deviation_ns * math.sqrt((1 - below) / below)
    most = known.mean_ns + known.deviation_ns * math.sqrt((1 - above) / above)
    value = min(max(found.value_ns, least), most)
    return replace(found, value_ns=value, half_width_ns=min(found.half_width_ns, max(value - least, most - value)))


def unevenness(latency: Latency) -> float:
    """By how much mean or standard deviation are off, in ns, if latencies lie evenly within each bucket.

    Little where the distribution is smooth. Where it is not, as with few different latencies or with all of them in
    one bucket, a percentile that assumes so is about as wrong.
    """
    if latency.histogram.negative:
        return latency.max_ns - latency.min_ns
    edges = _Edges(latency.histogram, latency.min_ns, latency.max_ns)
    lower, upper = np.array([edges.of(index) for index in range(len(latency.histogram.counts))]).T
    shares = np.array(latency.histogram.counts) / latency.count
    # About the true mean, so that few digits are lost.
    middles, widths = (lower + upper) / 2 - latency.mean_ns, upper - lower
    mean = float(middles @ shares)
    deviation = math.sqrt(max(0.0, float((middles**2 + widths**2 / 12) @ shares) - mean**2))
    return max(abs(mean), abs(deviation - latency.deviation_ns))


def _is_peak(edges: _Edges, index: int) -> bool:
    """Whether so many more frames are in this bucket than in those beside it that they may have one value: where is
    not known."""
    if edges.buckets.counts[index] < FEW:
        return False
    beside = [other for step in (-1, 1) if (other := edges.beside(index, step)) is not None]
    return not beside or max(density for _, density in beside) < 1 / PEAK


def _is_end(edges: _Edges, index: int) -> bool:
    """Whether a peak ends in this bucket; the outermost one is hardly wider than its frames, which may be few, and
    frames do not lie evenly up to the outermost one of a narrow peak."""
    beside = [edges.beside(index, step) for step in (-1, 1)]
    if any(each is not None and each[0] * each[1] < CLIFF for each in beside):
        return True
    if None not in beside:
        return False
    if any(each is not None and each[1] > PEAK for each in beside):
        return True
    step, counts = (-1 if beside[1] is None else 1), edges.buckets.counts
    for other in range(index + step, index + step * NARROW, step):
        width, density = edges.beside(other, step) or (1.0, 0.0)
        if width * density * counts[other] < CLIFF * counts[index]:
            return True
    return False


class _Edges:
    """The ends of each bucket, narrowed by the extremes, and how many frames a ns lie at its ends."""

    def __init__(self, buckets: Buckets, min_ns: float | None, max_ns: float | None) -> None:
        self.buckets, self.min_ns, self.max_ns = buckets, min_ns, max_ns

    def of(self, index: int) -> tuple[float, float]:
        lower, upper = float(self.buckets.lower_ns[index]), float(self.buckets.upper_ns[index])
        if self.min_ns is not None:
            lower = min(max(lower, self.min_ns), upper)
        if self.max_ns is not None:
            upper = max(min(upper, self.max_ns), lower)
        return lower, upper

    def slopes(self, index: int) -> tuple[float, float]:
        """Densities at the ends of a bucket relative to its own, so that no number is counted backwards."""
        before, after = self.beside(index, -1), self.beside(index, 1)
        return _slope(before, after), _slope(after, before)

    def beside(self, index: int, step: int) -> tuple[float, float] | None:
        """Width and density of the next bucket relative to this one's; None at the end, zero where none is occupied."""
        other = index + step
        if not 0 <= other < len(self.buckets.counts):
            return None
        (lower, upper), (low, high) = self.of(index), self.of(other)
        if (low if step > 0 else lower) != (upper if step > 0 else high):
            return 1.0, 0.0
        if high == low:
            return None
        width = (high - low) / (upper - lower)
        return width, self.buckets.counts[other] / self.buckets.counts[index] / width


def _slope(this: tuple[float, float] | None, opposite: tuple[float, float] | None) -> float:
    """At one end of a bucket of width and density 1: the weighted harmonic mean with the bucket behind that end, or
    what continues the change from the other side where there is none."""
    if this is not None:
        width, density = this
        if density == 0:
            return 0.0
        own, its = 2 * width + 1, width + 2
        return (own + its) / (own + its / density)
    if opposite is None:
        return 1.0
    width, density = opposite
    return min(3.0, max(0.0, ((2 + width) - density) / (1 + width)))


def _place(share: float, first: float, last: float) -> float:
    """Where in a bucket of width 1 this share of its frames is reached, with these densities at its ends."""
    low, high = 0.0, 1.0
    for _ in range(40):
        x = (low + high) / 2
        below = x * (1 - x) ** 2 * first + x**2 * (3 - 2 * x) + x**2 * (x - 1) * last
        low, high = (x, high) if below < share else (low, x)
    return (low + high) / 2


def latency_percentile(latency: Latency, percent: float) -> Percentile | None:
    """`percentile` over all frames of a trial, narrowed by their exact extremes."""
    found = percentile(latency.histogram, percent, latency.min_ns, latency.max_ns, bucket_shape([latency]))
    return None if found is None else narrowed(found, percent, [latency])


def packet_delay_variation(latency: Latency) -> Percentile | None:
    """PDV in ns: D99.9 − Dmin (RFC 5481 §4.2; RFC 8219 §7.3.1). The minimum is exact."""
    high = latency_percentile(latency, PDV_PERCENT)
    return None if high is None else replace(high, value_ns=high.value_ns - latency.min_ns)
