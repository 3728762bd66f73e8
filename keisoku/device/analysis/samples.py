"""The latency series of a trial as samples: one for each interval, with the frames lost in it. It fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from keisoku.device.record.counts import Gap, Interval, Tracked
from keisoku.device.record.trial import NS_PER_S, TrialRecord

_STAMP_S = 0.5e-9
"""Rounding of the time at which a frame was sent."""
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
        return self.gap_s / 2 if self.frames_at_s is None else _STAMP_S


def samples_of(record: TrialRecord, tracked: Tracked) -> list[Sample]:
    """The intervals of `tracked`, one of the trial's streams or all of them, that lie within the time of sending.

    Intervals in which nothing arrived are left out.
    """
    series, width_ns = tracked.series, record.trial.interval_ns
    if len(series) > 1:
        width_ns = series[1].start_ns - series[0].start_ns
    last_ns = record.facts.sent.last_sent_ns
    lost = _Lost(tracked.lost)
    arrivals = _Arrivals(record, tracked)
    found = []
    for place, interval in enumerate(series):
        end_ns = interval.start_ns + width_ns
        frames_at_ns = arrivals.mean_ns(interval)
        lost_frames = lost.until(end_ns - (interval.latency.mean_ns if interval.latency else 0))
        # The last frame leaves one gap before the end; an interval that is only partly filled is no sample.
        if interval.latency is None or end_ns > last_ns + width_ns / 10:
            continue
        start_s, end_s = _filled_s(series, place, width_ns, frames_at_ns)
        known = frames_at_ns is not None and start_s <= frames_at_ns / NS_PER_S <= end_s
        found.append(
            Sample(
                start_s=start_s,
                end_s=end_s,
                mean_ns=interval.latency.mean_ns,
                min_ns=interval.latency.min_ns,
                max_ns=interval.latency.max_ns,
                forwarded_frames=interval.forwarded_frames,
                lost_frames=lost_frames,
                frames_at_s=frames_at_ns / NS_PER_S if known and frames_at_ns is not None else None,
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
        self.first_lost_ns = min((float(gap.after_ns or 0) for gap in tracked.lost), default=inf)

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

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self.counts = np.array([gap.count for gap in gaps], dtype=np.float64)
        self.first_ns = np.array([gap.after_ns or 0 for gap in gaps], dtype=np.float64)
        last_ns = np.array([gap.before_ns or gap.after_ns or 0 for gap in gaps], dtype=np.float64)
        self.last_ns = np.maximum(last_ns, self.first_ns + 1)
        self.counted_ns = 0.0

    def until(self, sent_ns: float) -> float:
        """Frames lost since the last call that were sent before this time."""
        within_ns = np.minimum(self.last_ns, sent_ns) - np.maximum(self.first_ns, self.counted_ns)
        shares = np.maximum(within_ns, 0) / (self.last_ns - self.first_ns)
        self.counted_ns = max(self.counted_ns, sent_ns)
        return float((self.counts * shares).sum())
