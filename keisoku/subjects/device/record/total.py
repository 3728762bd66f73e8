"""Totals over ports and over streams, for methods that need a trial as a whole.

Nothing is estimated: counts are added, and histograms, which have the same buckets, are added as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest

from keisoku.subjects.device.record.counts import (
    Buckets,
    Extents,
    Interval,
    IntervalLatency,
    Jitter,
    Latency,
    Ranges,
    Reordering,
    Sent,
    Times,
    Tracked,
    Variation,
)

KEPT_AS = ("list", "bitmap", "intervals")
"""Forms of a list of losses, from the strongest to the weakest."""


def all_sent(parts: list[Sent]) -> Sent:
    """The total of all senders; gaps are those between frames of one port."""
    if len(parts) == 1:
        return parts[0]
    return Sent(
        offered_frames=sum(part.offered_frames for part in parts),
        unsent_frames=sum(part.unsent_frames for part in parts),
        first_sent_ns=min(part.first_sent_ns for part in parts),
        last_sent_ns=max(part.last_sent_ns for part in parts),
        lag_max_ns=max(part.lag_max_ns for part in parts),
        postponed_ns=max(part.postponed_ns for part in parts),
        interrupted_ns=max(part.interrupted_ns for part in parts),
        interruptions=max(part.interruptions for part in parts),
        refused_frames=_known([part.refused_frames for part in parts]),
        gaps=_buckets(part.gaps for part in parts),
    )


def _known(counts: list[int | None]) -> int | None:
    """Their sum, None if any of them is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def all_tracked(parts: list[Tracked], strangers: int) -> Tracked:
    """The total of all streams, with the foreign frames that their ports received.

    Sequence numbers belong to streams: for several streams, ranges are left out and all gaps
    are listed in order of time.
    """
    if len(parts) == 1:
        only = parts[0]
        received, foreign = only.received_frames + strangers, only.foreign_frames + strangers
        return only.model_copy(update={"received_frames": received, "foreign_frames": foreign})
    gaps = [gap for part in parts for gap in part.lost]
    since_tag = [part.latency_since_tag for part in parts if part.latency_since_tag is not None]
    tagged = [part.tagged_latency_ns for part in parts if part.tagged_latency_ns is not None]
    return Tracked(
        received_frames=sum(part.received_frames for part in parts) + strangers,
        forwarded_frames=sum(part.forwarded_frames for part in parts),
        lost_frames=sum(part.lost_frames for part in parts),
        corrupt=_ranges(part.corrupt for part in parts),
        corrupt_arrivals=sum(part.corrupt_arrivals for part in parts),
        duplicated=_ranges(part.duplicated for part in parts),
        reordered=_ranges(part.reordered for part in parts),
        reordering=_reordering(parts),
        foreign_frames=sum(part.foreign_frames for part in parts) + strangers,
        lost=sorted(gaps, key=lambda gap: (gap.after_ns or 0, gap.first)),
        lost_kept_as=max((part.lost_kept_as for part in parts), key=KEPT_AS.index),
        latency=_latency([part.latency for part in parts if part.latency is not None]),
        jitter=_jitter([part.jitter for part in parts if part.jitter is not None]),
        variation=_variation([part.variation for part in parts if part.variation is not None]),
        tagged_latency_ns=sum(tagged) / len(tagged) if tagged else None,
        latency_since_tag=_buckets(since_tag) if since_tag else None,
        series=_series(part.series for part in parts),
    )


def _reordering(streams: list[Tracked]) -> Reordering | None:
    """In a stream without reordered frames, every frame is in its place."""
    parts = [stream.reordering for stream in streams if stream.reordering is not None]
    if not parts:
        return None
    straight = sum(stream.forwarded_frames for stream in streams if stream.reordering is None)
    return Reordering(
        extent=_extents(part.extent for part in parts),
        byte_offset=_extents(part.byte_offset for part in parts),
        late_time=_times([part.late_time for part in parts]),
        discontinuities=sum(part.discontinuities for part in parts),
        gap=_extents(part.gap for part in parts),
        gap_time=_times([part.gap_time for part in parts]),
        in_order_frames=straight + sum(part.in_order_frames for part in parts),
        run_squares=sum(part.run_squares for part in parts),
        n_reordered=_columns(part.n_reordered for part in parts),
        threshold_frames=max(part.threshold_frames for part in parts),
        displacement=_densities([part.displacement for part in parts], straight),
        occupancy=_densities([part.occupancy for part in parts], straight),
        discarded_frames=sum(part.discarded_frames for part in parts),
    )


def _densities(parts: list[list[tuple[int, int]]], straight: int) -> list[tuple[int, int]]:
    counts = Counter({0: straight} if straight else {})
    for part in parts:
        counts.update(dict(part))
    return sorted(counts.items())


def _times(parts: list[Times]) -> Times:
    count = sum(part.count for part in parts)
    return Times(
        count=count,
        max_ns=max(part.max_ns for part in parts),
        mean_ns=sum(part.count * part.mean_ns for part in parts) / count if count else 0.0,
        histogram=_buckets(part.histogram for part in parts),
    )


def _variation(parts: list[Variation]) -> Variation | None:
    if not parts:
        return None
    count = sum(part.count for part in parts)
    return Variation(
        count=count,
        min_ns=min(part.min_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        mean_ns=sum(part.count * part.mean_ns for part in parts) / count,
        histogram=_buckets(part.histogram for part in parts),
    )


def _jitter(parts: list[Jitter]) -> Jitter | None:
    if not parts:
        return None
    count = sum(part.count for part in parts)
    return Jitter(
        count=count,
        mean_ns=sum(part.count * part.mean_ns for part in parts) / count,
        max_ns=max(part.max_ns for part in parts),
    )


def _extents(parts: Iterable[Extents]) -> Extents:
    every = list(parts)
    return Extents(
        max_frames=max(part.max_frames for part in every),
        sum_frames=sum(part.sum_frames for part in every),
        by_power_of_two=_columns(part.by_power_of_two for part in every),
    )


def _columns(parts: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip_longest(*parts, fillvalue=0)]


def _ranges(parts: Iterable[Ranges]) -> Ranges:
    count = sum(part.count for part in parts)
    return Ranges(count=count, ranges=[], complete=count == 0)


def _buckets(parts: Iterable[Buckets]) -> Buckets:
    negative, counts = 0, Counter[tuple[int, int]]()
    for part in parts:
        negative += part.negative
        for lower, upper, count in zip(part.lower_ns, part.upper_ns, part.counts, strict=True):
            counts[lower, upper] += count
    bounds = sorted(counts)
    return Buckets(
        negative=negative,
        lower_ns=[lower for lower, _ in bounds],
        upper_ns=[upper for _, upper in bounds],
        counts=[counts[bound] for bound in bounds],
    )


def _latency(parts: list[Latency]) -> Latency | None:
    if not parts:
        return None
    count = sum(part.count for part in parts)
    mean = sum(part.count * part.mean_ns for part in parts) / count
    square = sum(part.count * (part.deviation_ns**2 + (part.mean_ns - mean) ** 2) for part in parts)
    return Latency(
        count=count,
        min_ns=min(part.min_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        mean_ns=mean,
        deviation_ns=math.sqrt(square / count),
        histogram=_buckets(part.histogram for part in parts),
    )


def _series(parts: Iterable[list[Interval]]) -> list[Interval]:
    at: dict[int, list[Interval]] = {}
    for part in parts:
        for interval in part:
            at.setdefault(interval.start_ns, []).append(interval)
    return [_interval(start_ns, at[start_ns]) for start_ns in sorted(at)]


def _interval(start_ns: int, parts: list[Interval]) -> Interval:
    forwarded = sum(part.forwarded_frames for part in parts)
    known = [(part.forwarded_frames, part.latency) for part in parts if part.latency is not None]
    latency = None
    if known:
        latency = IntervalLatency(
            min_ns=min(one.min_ns for _, one in known),
            max_ns=max(one.max_ns for _, one in known),
            mean_ns=sum(frames * one.mean_ns for frames, one in known) / sum(frames for frames, _ in known),
        )
    return Interval(start_ns=start_ns, forwarded_frames=forwarded, latency=latency)
