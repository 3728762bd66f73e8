"""Facts of a trial on the instrument, from its registers and its events. Never accesses hardware.

Counts come from counters, which miss nothing; events identify single frames. Where the two disagree because the
events' memory was full, the counters are right and the lists are marked as incomplete.
"""

from __future__ import annotations

import math
from base64 import b64encode
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from keisoku.ground.fpga.events import Event, EventKind
from keisoku.ground.fpga.reading import Counted, Latencies
from keisoku.subjects.device.engine.fpga.load import PortLoad
from keisoku.subjects.device.record.counts import Buckets, Interval, IntervalLatency, Latency, Ranges, Tracked
from keisoku.subjects.device.record.gaps import Gap

BINS = 2048
MOST_GAPS = 1 << 16
"""Listed one by one; of more, each stretch of 2^15 numbers has a bitmap, as in `core/src/account/gaps.rs`."""
_CELL = 1 << 15


@dataclass(frozen=True)
class Slice:
    """The latencies of a part of the trial."""

    start_ns: int
    """Since the start of the trial."""
    latencies: Latencies


class _Numbers:
    """Sequence numbers as ranges without overlap, out of which single ones can be taken."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.ranges = sorted(ranges)
        self._firsts = [first for first, _ in self.ranges]
        self._out: set[int] = set()

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self.ranges[place][1] and number not in self._out

    def take(self, number: int) -> bool:
        """Removes the number; returns whether it was there."""
        there = number in self
        if there:
            self._out.add(number)
        return there

    def left(self) -> list[tuple[int, int]]:
        """What is left, in order."""
        out, found = sorted(self._out), list[tuple[int, int]]()
        for first, last in self.ranges:
            for number in out[bisect_right(out, first - 1) : bisect_right(out, last)]:
                if first < number:
                    found.append((first, number - 1))
                first = number + 1
            if first <= last:
                found.append((first, last))
        return found


def tracked(
    load: PortLoad, offered: int, counted: Counted, events: Sequence[Event], slices: Sequence[Slice]
) -> tuple[Tracked, int]:
    """Facts of one stream, and how many frames arrived at its port that belong to no stream.

    `events` are all that were kept since the start, in order; `slices` the latencies, one after another.
    """
    missing = _Numbers((event.first, event.last) for event in events if event.kind is EventKind.LOST)
    late = [event.first for event in events if event.kind is EventKind.LATE]
    came_late = [number for number in late if missing.take(number)]
    again_late = counted.late_frames - len(came_late)
    claimed = [event.first for event in events if event.kind is EventKind.CORRUPT and missing.take(event.first)]
    forwarded = counted.forwarded_frames + len(came_late)
    lost = max(0, offered - forwarded - len(claimed))
    ranges = missing.left()
    named = sum(last - first + 1 for first, last in ranges)
    joined = len(ranges) > MOST_GAPS
    gaps = _bitmaps(load, offered, ranges) if joined else [_gap(load, offered, *one) for one in ranges]
    if named < lost:
        gaps = _with_unnamed(gaps, lost - named, offered)
    strangers = counted.foreign_frames + counted.other_frames
    duplicated = [event.first for event in events if event.kind is EventKind.DUPLICATED]
    duplicated += [number for number in late if number not in set(came_late)]
    reordered = [event.first for event in events if event.kind is EventKind.REORDERED] + came_late
    found = Tracked(
        received_frames=forwarded + counted.duplicated_frames + again_late + counted.corrupt_frames,
        forwarded_frames=forwarded,
        lost_frames=lost,
        corrupt=_ranges(claimed, len(claimed)),
        corrupt_arrivals=counted.corrupt_frames,
        duplicated=_ranges(duplicated, counted.duplicated_frames + again_late),
        reordered=_ranges(reordered, counted.reordered_frames + len(came_late)),
        foreign_frames=0,
        lost=gaps,
        lost_kept_as="intervals" if named < lost else "bitmap" if joined else "list",
        latency=latency([one.latencies for one in slices]),
        tagged_latency_ns=_tagged(load.tag, events),
        latency_since_tag=_since_tag(load, slices),
        series=[_interval(one) for one in slices],
    )
    return found, strangers


def latency(parts: Sequence[Latencies]) -> Latency | None:
    """Of all parts together; None if nothing arrived."""
    parts = [part for part in parts if part.count]
    if not parts:
        return None
    count = sum(part.count for part in parts)
    mean = sum(part.sum_ns for part in parts) / count
    histogram = buckets(parts)
    # Exact integers first: the squares of large latencies differ in digits that a float does not have.
    total, squares = sum(part.sum_ns for part in parts), sum(part.squares_ns2 for part in parts)
    variance = (count * squares - total * total) / count**2
    return Latency(
        count=count,
        min_ns=min(part.min_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        mean_ns=mean,
        deviation_ns=math.sqrt(max(0.0, variance)),
        histogram=histogram,
    )


def buckets(parts: Sequence[Latencies]) -> Buckets:
    """One histogram of all parts. The outermost bins reach to the least and the greatest latency that they hold."""
    counts: Counter[tuple[int, int]] = Counter()
    for part in parts:
        for number, frames in part.bins.items():
            lower = part.origin_ns + number * part.bin_ns
            upper = lower + part.bin_ns
            if number == 0:
                lower = min(lower, part.min_ns)
            if number == BINS - 1:
                upper = max(upper, part.max_ns + 1)
            counts[lower, upper] += frames
    negative = sum(frames for (_, upper), frames in counts.items() if upper <= 0)
    bounds = sorted(bound for bound in counts if bound[1] > 0)
    return Buckets(
        negative=negative,
        lower_ns=[max(0, lower) for lower, _ in bounds],
        upper_ns=[upper for _, upper in bounds],
        counts=[counts[bound] for bound in bounds],
    )


def _gap(load: PortLoad, offered: int, first: int, last: int) -> Gap:
    return Gap(
        first=first,
        last=last,
        count=last - first + 1,
        after_ns=load.due_ns(first - 1) if first else None,
        before_ns=load.due_ns(last + 1) if last + 1 < offered else None,
    )


def _bitmaps(load: PortLoad, offered: int, ranges: Sequence[tuple[int, int]]) -> list[Gap]:
    """All missing frames, by ranges of 2^15 numbers: exact, but with times for the whole range only."""
    cells: dict[int, list[tuple[int, int]]] = {}
    for first, last in ranges:
        while first <= last:
            end = min(last, first // _CELL * _CELL + _CELL - 1)
            cells.setdefault(first // _CELL, []).append((first, end))
            first = end + 1
    found = []
    for parts in cells.values():
        begin, bits = parts[0][0], 0
        for first, last in parts:
            bits |= ((1 << (last - first + 1)) - 1) << (first - begin)
        whole = _gap(load, offered, begin, parts[-1][1])
        count = bits.bit_count()
        octets = b64encode(bits.to_bytes(-(-bits.bit_length() // 8), "little")).decode("ascii")
        found.append(replace(whole, count=count, bitmap=octets))
    return found


def _with_unnamed(gaps: list[Gap], count: int, offered: int) -> list[Gap]:
    """Lost frames that no event names: only their count is known."""
    return [Gap(first=0, last=offered - 1, count=count, after_ns=None, before_ns=None), *gaps]


def _ranges(numbers: Sequence[int], count: int) -> Ranges:
    """In order of time, in the form of `core/src/account/ranges.rs`."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return Ranges(count=count, ranges=found, complete=len(numbers) == count)


def _tagged(tag: int | None, events: Sequence[Event]) -> float | None:
    if tag is None:
        return None
    return next((float(one.latency_ns) for one in events if one.kind is EventKind.FRAME and one.first == tag), None)


def _since_tag(load: PortLoad, slices: Sequence[Slice]) -> Buckets | None:
    """Of the slices that began after the tagged frame had left; None if nothing is tagged."""
    if load.tag is None:
        return None
    tagged_ns = load.due_ns(load.tag)
    parts = [one.latencies for one in slices if one.start_ns >= tagged_ns]
    return buckets(parts) if parts else None


def _interval(part: Slice) -> Interval:
    latencies = part.latencies
    found = None
    if latencies.count:
        found = IntervalLatency(
            min_ns=latencies.min_ns, max_ns=latencies.max_ns, mean_ns=latencies.sum_ns / latencies.count
        )
    return Interval(start_ns=part.start_ns, forwarded_frames=latencies.count, latency=found)
