"""How well figures of latency repeat (type A), from several trials and from the intervals of time within them.

Few trials show their own scatter badly: two of them make Student's factor 12.7. Where trials differ no more than their
intervals explain, the intervals are repetitions as well, of which there are many (one-way analysis of variance).
Results are standard uncertainties, enlarged so that twice of them covers 95 % (GUM G.3).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from keisoku.ground.statistics.uncertainty import (
    CONFIDENCE,
    COVERAGE_FACTOR,
    deviation,
    standard_error_of_mean,
    student,
)
from keisoku.subjects.device.analysis.behaviour import correlation
from keisoku.subjects.device.analysis.histogram import merged
from keisoku.subjects.device.analysis.percentile import PDV_PERCENT, BucketShape, bucket_shape, percentile, position
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.analysis.shape import moments, shape_of
from keisoku.subjects.device.record.counts import Buckets, Jitter, Latency

ALIKE = 0.25
"""Trials differ if their scatter would be as large by chance in so small a share of cases. It is a large share, because
to take different trials for alike makes an uncertainty too small, and the contrary only makes it larger."""
VARIATIONS_ALIKE = 0.1
"""The same of delay variations: two trials whose scatter is taken for theirs alone have an interval that is six times
as wide, so that a quarter of these would decide how wide most are (benchmarks/accuracy/accuracy.py, seeds from
1100)."""
FAR_ALIKE = 0.001
"""Trials are alike beyond chance, as where latency changes in the same way in each: then only trials repeat."""
EXTREME = 1.35
"""The smallest of n values lies above the least possible one by an exponential deviate: 2.7 of its means cover 93 %."""

TAIL_LEAST, TAIL_MOST, TAIL_SHARE = 10, 200, 20
"""How many of the longest latencies show how they fall off: a twentieth of all."""
TAIL_WIDEST = 10.0
"""Beyond the longest latency lies so many times its part of the mean at most; a power of 1 would have no mean."""
OF_RISE = 0.25
LATER_LEAST = 4
"""Intervals that are in the order of their least latencies by chance in one of 120 trials, with the first one."""
NEAREST = (8, 32)
"""Frames next to the least latency that show how many come near it."""
BUCKETS_LEAST = 2
LEAST_POWER, MOST_POWER = 0.5, 4.0
"""Between frames that all come near the least latency, and hardly any that do."""
DRAWS_LEAST = 3
SAYS_NOTHING = 0.25
"""A least latency that is known to no better than this part of it is what one run happened to show."""
CLIMBS = 0.25
"""Of all that latency rose by, an output that is overloaded adds so much in the second half of a trial."""
OF_DRAWS = 2.0
"""So much wider an interval that is taken where it is the narrower one of two is seldom too narrow."""
GROUPS_LEAST = 3
"""Groups of intervals whose extremes are compared with those of all intervals."""
SLOWEST = 0.9
"""Of what joining intervals to groups moved an extreme by, joining the groups moves it by no larger share."""


def of_mean(means: Sequence[float], samples: Sequence[Sequence[Sample]]) -> float:
    """Of the mean of all trials, in ns; `samples` are the intervals of each trial. Zero where nothing shows it."""
    within, freedom = _within(samples)
    within = math.hypot(within, of_start(statistics.fmean(means), samples))
    between = standard_error_of_mean(means) if len(means) > 1 else 0.0
    return _pooled(between, len(means) - 1, within, freedom) if len(means) > 1 or freedom else 0.0


def of_tail(latencies: Sequence[Latency]) -> float:
    """What latencies longer than all that came may add to the mean, in ns.

    Where they fall off by a power of their length (Pareto), a few of the longest decide the mean, and those that did
    not come yet are longer still: beyond the longest of n lies its a / (a − 1) n-th part, with the power a by the
    longest ones (Hill 1975). Of other latencies it is hardly anything.
    """
    known = moments(latencies)
    whole = merged([one.histogram for one in latencies])
    longest = min(TAIL_MOST, known.count // TAIL_SHARE)
    power = math.inf
    if longest >= TAIL_LEAST and not whole.negative:
        counts, upper_ns = np.asarray(whole.counts)[::-1], np.asarray(whole.upper_ns, float)[::-1]
        upper_ns[0] = known.max_ns
        taken = np.diff(np.minimum(np.cumsum(counts), longest), prepend=0)
        least_ns = float(upper_ns[np.flatnonzero(taken)[-1]])
        logs = float((taken * np.log(upper_ns / least_ns)).sum()) / longest if least_ns > 0 else 0.0
        power = 1 / logs if logs > 0 else math.inf
    beyond = 1 + 1 / max(1 / (TAIL_WIDEST - 1), power - 1) if math.isfinite(power) else 1.0
    return (known.max_ns - known.mean_ns) * beyond / known.count


def of_percentile(
    percent: float,
    histograms: Sequence[Buckets],
    latencies: Sequence[Latency],
    samples: Sequence[Sequence[Sample]],
) -> float:
    """Of a percentile of the frames of all trials, in ns. `histograms` are of all frames or of some of each trial."""
    own_error = _of_rank(percent, histograms, latencies, samples)
    own = [
        percentile(histogram, percent, one.min_ns, one.max_ns, bucket_shape([one]))
        for histogram, one in zip(histograms, latencies, strict=True)
    ]
    values = [found.value_ns for found in own if found is not None]
    if values:
        own_error = math.hypot(own_error, of_start(statistics.fmean(values), samples))
    between = standard_error_of_mean(values) if len(values) > 1 else 0.0
    return _pooled(between, len(values) - 1, own_error, math.inf)


def of_start(value_ns: float, samples: Sequence[Sequence[Sample]]) -> float:
    """How a latency of trials repeats that was raised in their first intervals and never came back, in ns; 0 where it
    came back.

    At the full rate of a line no queue drains: the largest jitter of all frames so far stays in every latency behind
    it, so that later intervals are no repetitions of it. The largest value of n normal ones scatters by 1/8 to 1/25 of
    their range, that of exponential ones by up to 1/3 of it.
    """
    if not never_came_back(samples):
        return 0.0
    least_ns = statistics.fmean(trial[0].min_ns for trial in samples)
    return max(0.0, value_ns - least_ns) * OF_RISE / math.sqrt(len(samples))


def never_came_back(samples: Sequence[Sequence[Sample]]) -> bool:
    """Whether latency was raised in the first interval of each trial and only rose."""
    return bool(samples) and all(_never_came_back(trial) for trial in samples)


def _never_came_back(trial: Sequence[Sample]) -> bool:
    # Where frames are lost, latency rose until a buffer was full, and no farther in any trial.
    if len(trial) <= LATER_LEAST or any(one.lost_frames for one in trial[1:]):
        return False
    first, *later = (one.min_ns for one in trial)
    if first >= min(later):
        return False
    return min(later) - first > max(later) - min(later) or all(low <= high for low, high in pairwise(later))


def is_of_first_frames(samples: Sequence[Sequence[Sample]], unsure_ns: float | None) -> bool:
    """Whether the least latency of each trial is that of the first frames of an overload.

    They alone met an empty queue, and nothing shows how those of other trials differ. So it is, too, where frames were
    lost and it is `unsure_ns` by a large part of itself.
    """
    if not samples or not all(samples):
        return False
    least_ns = min(one.min_ns for trial in samples for one in trial)
    lost = all(any(one.lost_frames for one in trial) for trial in samples)
    says_nothing = unsure_ns is not None and unsure_ns > SAYS_NOTHING * least_ns
    return (lost and says_nothing) or all(_overloaded(trial) for trial in samples)


def _overloaded(trial: Sequence[Sample]) -> bool:
    first, *later = least = [one.min_ns for one in trial]
    if len(trial) <= LATER_LEAST or first >= min(later):
        return False
    full = next((place for place, one in enumerate(trial) if one.lost_frames), len(trial)) + 1
    if full > len(trial):
        return _never_came_back(trial) and least[-1] - least[len(least) // 2] > CLIMBS * (least[-1] - first)
    if any(low > high for low, high in pairwise(least[:full])):
        return False
    levels = least[full:] or later
    return full > LATER_LEAST or min(levels) - first > max(levels) - min(levels)


def is_reached(percent: float, latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]]) -> bool:
    """Whether so many frames are independent of each other that hardly ever (2.5 %) all are below the percentile: else
    the longest of them says nothing of how far above it may be."""
    independent = sum(one.count for one in latencies) / frames_alike(latencies, samples)
    return 0 < percent < 100 and independent * math.log(percent / 100) < math.log((1 - CONFIDENCE) / 2)


def of_trials(values_ns: Sequence[float]) -> float:
    """Of a figure of a single trial in ns, by its scatter alone. Raises ValueError for fewer than two trials."""
    return _pooled(deviation(values_ns), len(values_ns) - 1, 0.0, 0.0)


def of_variation(
    variations_ns: Sequence[float], latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]]
) -> float:
    """Of the packet delay variation of a single trial, in ns; `variations_ns` are those of all trials.

    It is a percentile less the least latency of the same trial (RFC 5481 §4.2), and both are others in the next trial.
    """
    high = _of_rank(PDV_PERCENT, [one.histogram for one in latencies], latencies, samples) * math.sqrt(len(latencies))
    independent = sum(one.count for one in latencies) / len(latencies) / frames_alike(latencies, samples)
    if independent * (1 - PDV_PERCENT / 100) < 1:  # the percentile is that of the largest latency
        high = max(high, _of_end(samples, least=False))
    between = deviation(variations_ns) if len(variations_ns) > 1 else 0.0
    own_error = math.hypot(high, _of_end(samples, least=True))
    intervals = sum(max(0, len(trial) - 1) for trial in samples)
    return _pooled(between, len(variations_ns) - 1, own_error, intervals or math.inf, VARIATIONS_ALIKE)


def _of_end(samples: Sequence[Sequence[Sample]], least: bool) -> float:
    """How a trial's least or largest latency scatters from trial to trial (standard deviation, ns), by its intervals'.

    The least of many values has one of Weibull's distributions, or at the end of the family Gumbel's (Fisher and
    Tippett 1928), so that of all n intervals scatters n^k times less than that of one: k is 1 where latencies are even
    down to the least one, and hardly more than 0 where few come near it. It is that of the intervals' third L-moment
    (Hosking, Wallis and Wood 1985).
    """
    ends = np.sort([one.min_ns if least else -one.max_ns for trial in samples for one in trial])
    count = len(ends)
    if count < 3 or ends[0] == ends[-1]:
        return 0.0
    rank = np.arange(count) / (count - 1)
    mean, first = float(ends.mean()), float((rank * ends).mean())
    second = float((rank * (rank * (count - 1) - 1) / (count - 2) * ends).mean())
    skew = (6 * second - 6 * first + mean) / (2 * first - mean)
    place = 2 / (3 - skew) - math.log(2) / math.log(3)
    power = 7.8590 * place + 2.9554 * place**2
    fewer: float = (count / len(samples)) ** min(1.0, max(0.0, power))
    return deviation(ends) / fewer


def _of_rank(
    percent: float,
    histograms: Sequence[Buckets],
    latencies: Sequence[Latency],
    samples: Sequence[Sequence[Sample]],
) -> float:
    """Of a percentile of all frames by itself: its rank is binomial, for as many frames as are independent of each
    other (order statistics). Zero if no latency is in a bucket.

    A place in a bucket that is taken to be filled evenly scatters less than a frame's own: with a share C of all frames
    in the bucket, of which s are below the place, the variance of its rank is p(1 − p) − C s(1 − s) (that of B + sC,
    multinomial). That holds within the bucket: whether a percentile lies in another one is decided by p(1 − p). The end
    of the outermost buckets is that of the extreme latency, which scatters by itself.
    """
    whole = merged(histograms)
    count = whole.negative + sum(whole.counts)
    ends = min(one.min_ns for one in latencies), max(one.max_ns for one in latencies)
    alike, inside = frames_alike(latencies, samples), bucket_shape(latencies)
    if count == whole.negative:
        return 0.0
    at = position(whole, percent, *ends)
    share = percent / 100
    of_rank = share * (1 - share)
    own_error, middle = 0.0, percentile(whole, percent, *ends, inside)
    # Between two peaks a percentile may be in either, so that one side is longer than the other.
    for way in (-student(math.inf), student(math.inf)):
        for square in (of_rank, max(0.0, of_rank - at.of_all * at.inside * (1 - at.inside))):
            shifted = min(100.0, max(0.0, percent + way * 100 * math.sqrt(square / count * alike)))
            moved = percentile(whole, shifted, *ends, inside)
            away_ns = abs(moved.value_ns - middle.value_ns) if moved and middle else 0.0
            beyond = middle is not None and moved is not None and away_ns > middle.bound_ns
            if beyond and moved is not None:
                away_ns += moved.half_width_ns
            if beyond or square != of_rank:
                own_error = max(own_error, away_ns / student(math.inf))
    extremes = [at.inside * at.last, (1 - at.inside) * at.first]
    own_error = math.hypot(own_error, *(EXTREME * at.ns_per_frame * part for part in extremes))
    if inside.shape is not None:
        own_error = math.hypot(own_error, _of_shape(percent, whole, latencies, inside, alike))
    return own_error


def _of_shape(percent: float, whole: Buckets, latencies: Sequence[Latency], inside: BucketShape, alike: float) -> float:
    """How a percentile that rests on the mean, the standard deviation and the extremes of all latencies repeats, in ns:
    by how much it moves with each of them (standard uncertainty)."""
    known = moments(latencies)
    ends, count = (known.min_ns, known.max_ns), known.count / alike
    mean = known.deviation_ns / math.sqrt(count)
    changed = (
        replace(known, mean_ns=known.mean_ns + mean),
        replace(known, mean_ns=known.mean_ns - mean),
        replace(known, deviation_ns=known.deviation_ns * (1 + 1 / math.sqrt(2 * count))),
        replace(known, deviation_ns=known.deviation_ns * (1 - 1 / math.sqrt(2 * count))),
    )
    base = percentile(whole, percent, *ends, inside)
    square = 0.0
    for one in changed:
        moved = percentile(whole, percent, *ends, replace(inside, shape=shape_of(one)))
        if base is not None and moved is not None:
            square += (moved.value_ns - base.value_ns) ** 2 / 2
    return math.sqrt(square)


def of_least(
    latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]], outputs_ns: Sequence[float] = ()
) -> float:
    """Of the smallest of all latencies, in ns, as the least that there can be.

    Latencies that are even down to the least one come nearer to it by 1 / n with n frames. Where few frames come near,
    as where frames wait for each other, they do by a lower power of n, which the extremes of groups of intervals show.
    Both take the intervals for alike. Where only the first frames of a load meet an empty queue, they are not: then the
    frames next to the least latency tell it, or, with three or more, the least latencies of trials or of queues that
    are independent of each other (`outputs_ns`). And no frame arrives before it is sent, so that a least latency is off
    by no more than all of it.
    """
    each = [one.min_ns for trial in samples for one in trial]
    if len(each) < 2:
        each = [one.min_ns for one in latencies]
    if len(each) < 2:
        return 0.0
    left = max(0.0, statistics.fmean(each) - min(each)) / (len(each) - 1)
    alike, size = not never_came_back(samples), math.isqrt(len(each))
    if size >= GROUPS_LEAST:
        middle = statistics.fmean(min(each[place::size]) for place in range(size))
        first, second = statistics.fmean(each) - middle, middle - min(each)
        alike = alike and second < SLOWEST * first
        falls = min(SLOWEST, second / first) if first > 0 else 0.0
        left = max(left, second * falls / (1 - falls))
    if not alike and (by_frames := _of_lowest(latencies, samples)) is not None:
        left = min(left, by_frames)
    whole_ns = min(one.min_ns for one in latencies)
    left = min(EXTREME * left, whole_ns / COVERAGE_FACTOR) if whole_ns > 0 else EXTREME * left
    by_draws = of_draws(outputs_ns or [one.min_ns for one in latencies])
    if by_draws is None or not (outputs_ns or never_came_back(samples)):
        return left
    return by_draws if never_came_back(samples) else min(left, OF_DRAWS * by_draws)


def of_draws(values_ns: Sequence[float]) -> float | None:
    """Of one of these values, each of another queue or trial, in ns; None for too few of them."""
    return of_trials(values_ns) if len(values_ns) >= DRAWS_LEAST else None


def _of_lowest(latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]]) -> float | None:
    """How near the least latency of all frames is to the least possible one, by the frames next to it, in ns; None
    where their buckets do not show it.

    It does not take intervals for alike: the number of frames within x of the least one rises by some power of x there.
    Frames that say no more than one are counted as one, except where latency only rises: then each is another one.
    """
    whole = merged([one.histogram for one in latencies])
    if whole.negative or not whole.counts:
        return None
    counts = np.cumsum(whole.counts) / (1.0 if never_came_back(samples) else frames_alike(latencies, samples))
    above_ns = np.asarray(whole.upper_ns, float) - min(one.min_ns for one in latencies)
    places = [int(np.searchsorted(counts, near)) for near in NEAREST]
    if places[0] < BUCKETS_LEAST or places[1] == len(counts):
        return None
    (few, many), (near_ns, far_ns) = counts[places], above_ns[places]
    power = math.log(many / few) / math.log(far_ns / near_ns) if far_ns > near_ns else math.inf
    return float(near_ns / few ** (1 / min(MOST_POWER, max(LEAST_POWER, power))))


def of_jitter(streams: Sequence[Jitter]) -> float | None:
    """Of the mean jitter of all streams of a trial, in ns, by how its parts scatter; None where they do not show it.

    Streams that meet one queue are disturbed together, so their errors are added as they are.
    """
    count, freedom, error_ns = sum(one.count for one in streams), 0, 0.0
    for stream in streams:
        parts = np.array(stream.parts_ns)
        if len(parts) < 2:
            return None
        residuals = parts - parts.mean()
        error_ns += stream.count / count * standard_error_of_mean(stream.parts_ns) * correlation(residuals)
        freedom += len(parts) - 1
    return error_ns * student(freedom) / COVERAGE_FACTOR if freedom else None


def of_single(latencies: Sequence[Latency], frames: int) -> float:
    """Of the mean of so many single frames, in ns, one or a few of each trial: they scatter as all frames do."""
    return moments(latencies).deviation_ns / math.sqrt(frames)


def _within(samples: Sequence[Sequence[Sample]]) -> tuple[float, int]:
    """Standard error of the mean of all intervals from their scatter within trials, and its degrees of freedom."""
    square, freedom, count = 0.0, 0, 0
    for trial in samples:
        values = np.array([one.mean_ns for one in trial])
        if len(values) < 2:
            continue
        residuals = values - values.mean()
        square += float((residuals**2).sum()) * correlation(residuals) ** 2
        freedom += len(values) - 1
        count += len(values)
    return (math.sqrt(square / freedom / count), freedom) if freedom else (0.0, 0)


def _pooled(between: float, trials_freedom: int, within: float, freedom: float, alike: float = ALIKE) -> float:
    """From the scatter between trials and that within them, both as standard errors of the same figure."""
    if trials_freedom < 1:
        return within * student(freedom) / COVERAGE_FACTOR if within else 0.0
    if freedom:
        ratio = (between / within) ** 2 if within else math.inf if between else 1.0
        if alike < _chance_of_more(ratio, trials_freedom, freedom) < 1 - FAR_ALIKE:
            if math.isinf(freedom):
                return within * student(freedom) / COVERAGE_FACTOR
            both = trials_freedom + freedom
            square = (trials_freedom * between**2 + freedom * within**2) / both
            return math.sqrt(square) * student(both) / COVERAGE_FACTOR
    return between * student(trials_freedom) / COVERAGE_FACTOR


def _chance_of_more(ratio: float, numerator: int, denominator: float) -> float:
    """The chance of a larger ratio of two variances that estimate the same (Fisher's F)."""
    if math.isinf(ratio):
        return 0.0
    from keisoku.ground.statistics.distribution import fisher_above  # not needed before the first frame

    return fisher_above(numerator, denominator, ratio)


def frames_alike(latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]]) -> float:
    """How many frames in a row say no more than one, because what delays a frame delays those behind it."""
    count = sum(one.count for one in latencies)
    square = sum(one.deviation_ns**2 * one.count for one in latencies) / count
    within, freedom = _within(samples)
    return max(1.0, within**2 * count / square) if freedom and square else 1.0
