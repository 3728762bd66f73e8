"""The latency series of a trial as samples: one for each interval, with the frames lost in it. It fits nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.device.record.counts import Interval, Tracked
from keisoku.subjects.device.record.gaps import Gaps
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

STAMP_NS = 1.0
"""Times of the first and the last frame are whole nanoseconds."""
_EVEN = 1.5
"""A stream is even if its longest gap is at most so many times the mean one."""


@dataclass(frozen=True)
class Sample:
    """One interval of a trial; latencies in ns, times in s since the first frame was due."""

    start_s: float
    end_s: float
    mean_ns: float
    min_ns: float
    max_ns: float
    forwarded_frames: int
    lost_frames: float
    frames_at_s: float | None = None
    """Mean of the times at which its frames arrived; None if it is known only from the ends of the interval."""

    @property
    def at_s(self) -> float:
        """The time that the mean belongs to."""
        return (self.start_s + self.end_s) / 2 if self.frames_at_s is None else self.frames_at_s

    @property
    def gap_s(self) -> float:
        """From one frame to the next."""
        return (self.end_s - self.start_s) / max(1, self.forwarded_frames)

    @property
    def at_error_s(self) -> float:
        """By how much `at_s` may be off: an interval may hold one frame more or less."""
        return self.gap_s / 2 if self.frames_at_s is None else STAMP_NS / 2 / NS_PER_S


def samples_of(record: TrialRecord, tracked: Tracked) -> list[Sample]:
    """The intervals of `tracked`, one of the trial's streams or all of them, that lie within the time of sending.

    Intervals in which nothing arrived are left out.
    """
    return [sample for _, sample in _numbered(record, tracked)]


def _numbered(record: TrialRecord, tracked: Tracked) -> Iterator[tuple[int, Sample]]:
    """Samples, each with the number of frames that arrived before it."""
    series, width_ns = tracked.series, record.trial.interval_ns
    if len(series) > 1:
        width_ns = series[1].start_ns - series[0].start_ns
    last_ns = record.facts.sent.last_sent_ns
    lost = _Lost(tracked.lost)
    arrivals = _Arrivals(record, tracked)
    before = 0
    for place, interval in enumerate(series):
        first, before = before, before + interval.forwarded_frames
        end_ns = interval.start_ns + width_ns
        frames_at_ns = arrivals.mean_ns(interval)
        lost_frames = lost.until(end_ns - (interval.latency.mean_ns if interval.latency else 0))
        # The last frame leaves one gap before the end; an interval that is only partly filled is no sample.
        if interval.latency is None or end_ns > last_ns + width_ns / 10:
            continue
        start_s, end_s = _filled_s(series, place, width_ns, frames_at_ns)
        known = frames_at_ns is not None and start_s <= frames_at_ns / NS_PER_S <= end_s
        yield (
            first,
            Sample(
                start_s=start_s,
                end_s=end_s,
                mean_ns=interval.latency.mean_ns,
                min_ns=interval.latency.min_ns,
                max_ns=interval.latency.max_ns,
                forwarded_frames=interval.forwarded_frames,
                lost_frames=lost_frames,
                frames_at_s=frames_at_ns / NS_PER_S if known and frames_at_ns is not None else None,
            ),
        )


def due_gap_ns(record: TrialRecord) -> float:
    """Time between two frames of a port: as intended if the sender was never late, else as it offered them."""
    sent = record.facts.sent
    on_time = sent.lag_max_ns <= STAMP_NS and not sent.postponed_ns and sent.offered_frames == record.intended_frames
    return NS_PER_S / (record.trial.frames_per_second if on_time else record.offered_fps)


def by_count(record: TrialRecord, tracked: Tracked, waiting: bool = False) -> list[Sample]:
    """The same samples at the times at which their frames were due, which follow from how many came before.

    Frames of a constant load are due at equal distances, and while they wait for each other they arrive so as well: a
    slope over these times has no error from how many frames an interval happens to hold. With `waiting` a sample's mean
    rises by one frame's time for each frame lost before: a full buffer loses what a queue without end would hold, and
    such means grow as that would, full or not.
    """
    gap_ns = due_gap_ns(record)
    lost = _Lost(tracked.lost)
    earlier = _Ramps(lost.counts, lost.arrivals(gap_ns))
    found = []
    for first, sample in _numbered(record, tracked):
        # On average over the frames of the sample.
        missing = earlier.until(first + sample.forwarded_frames, sample.forwarded_frames)
        due_s = (first if waiting else first + missing) * gap_ns / NS_PER_S
        found.append(
            replace(
                sample,
                start_s=due_s,
                end_s=due_s + sample.forwarded_frames * gap_ns / NS_PER_S,
                frames_at_s=None,
                mean_ns=sample.mean_ns + (gap_ns * missing if waiting else 0.0),
            )
        )
    return found


class _Arrivals:
    """When the frames of an interval arrived on average, which is when they were sent and the mean of their latencies.

    Frames of an even stream are sent at known times, as long as none is missing.
    """

    def __init__(self, record: TrialRecord, tracked: Tracked) -> None:
        sent = record.facts.sent
        even = len(record.facts.streams) == 1 and sent.postponed_ns == 0 and not tracked.reordered.count
        even = even and not tracked.corrupt_arrivals and sent.offered_frames > 1
        gap_ns = (sent.last_sent_ns - sent.first_sent_ns) / max(1, sent.offered_frames - 1)
        even = even and max(sent.gaps.upper_ns, default=0) <= _EVEN * gap_ns + 1
        self.gap_ns = gap_ns if even else 0.0
        self.next_ns = float(sent.first_sent_ns)
        # What is lost is missing in an interval from the time on at which the frame before it arrived.
        self.first_lost_ns = float(np.nan_to_num(tracked.lost.after_ns).min(initial=inf))

    def mean_ns(self, interval: Interval) -> float | None:
        """Of the next interval; None if it is not known."""
        count = interval.forwarded_frames
        sent_ns = self.next_ns + (count - 1) / 2 * self.gap_ns
        self.next_ns += count * self.gap_ns
        known = self.gap_ns > 0 and interval.latency is not None and self.next_ns <= self.first_lost_ns + self.gap_ns
        return sent_ns + interval.latency.mean_ns if known and interval.latency is not None else None


def _filled_s(series: Sequence[Interval], place: int, width_ns: int, frames_at_ns: float | None) -> tuple[float, float]:
    """When frames arrived in an interval that begins or ends with a silence; else its beginning and end, in s.

    Nothing arrives before a frame has crossed the device, while it stalls, or until it works off a backlog.
    """
    interval = series[place]
    start_ns, end_ns = float(interval.start_ns), float(interval.start_ns + width_ns)
    beside = [near for near in (*series[max(0, place - 1) : place], *series[place + 1 : place + 2]) if near.latency]
    frame_ns = width_ns / max((near.forwarded_frames for near in beside), default=interval.forwarded_frames)
    filled_ns = interval.forwarded_frames * frame_ns
    assert interval.latency is not None
    if width_ns - filled_ns > 2 * frame_ns:
        silent_before = place == 0 or series[place - 1].latency is None
        if frames_at_ns is None:
            if silent_before:
                start_ns = end_ns - filled_ns
        elif abs(frames_at_ns - (end_ns - filled_ns / 2)) <= frame_ns:
            start_ns = end_ns - filled_ns
        elif abs(frames_at_ns - (start_ns + filled_ns / 2)) <= frame_ns:
            end_ns = start_ns + filled_ns
    elif interval.start_ns == 0:
        start_ns = min(interval.latency.min_ns, end_ns / 2)
    return start_ns / NS_PER_S, end_ns / NS_PER_S


class _Lost:
    """Lost frames by the time they were sent, as far as that is known: spread evenly over their gap."""

    def __init__(self, gaps: Gaps) -> None:
        self.counts = gaps.counts.astype(np.float64)
        self.first_ns = np.nan_to_num(gaps.after_ns)
        last_ns = np.where(np.isnan(gaps.before_ns), self.first_ns, gaps.before_ns)
        self.sent = _Ramps(self.counts, self.first_ns, np.maximum(last_ns, self.first_ns + 1))
        self.counted_ns = 0.0

    def until(self, sent_ns: float) -> float:
        """Frames lost since the last call that were sent before this time."""
        if sent_ns <= self.counted_ns:
            return 0.0
        lost = self.sent.until(sent_ns) - self.sent.until(self.counted_ns)
        self.counted_ns = sent_ns
        return lost

    def arrivals(self, gap_ns: float) -> NDArray[np.float64]:
        """How many frames of a stream with such gaps arrived before each gap, and one."""
        return self.first_ns / gap_ns + 1 - (np.cumsum(self.counts) - self.counts)


class _Ramps:
    """Counts that each rise evenly from none at `begins` to the whole at `ends`, which is later."""

    def __init__(
        self, counts: NDArray[np.float64], begins: NDArray[np.float64], ends: NDArray[np.float64] | None = None
    ) -> None:
        """Without `ends` all rise within a width that `until` is asked for."""
        order = np.argsort(begins, kind="stable")
        self._counts, self._begins = counts[order], begins[order]
        self._ends = self._begins if ends is None else ends[order]
        self._all_risen_at = np.maximum.accumulate(self._ends)
        self._whole = np.concatenate([[0.0], np.cumsum(self._counts)])

    def until(self, place: float, width: float = 0.0) -> float:
        """Their sum there. Only those that rise just there are looked at one by one."""
        first = int(np.searchsorted(self._all_risen_at, place - width, "right"))
        rising = slice(first, max(first, int(np.searchsorted(self._begins, place))))
        begins, ends = self._begins[rising], self._ends[rising] + width
        shares = np.minimum((place - begins) / (ends - begins), 1.0)
        return float(self._whole[first] + (self._counts[rising] * shares).sum())
