"""The latency series of a trial as samples: one for each interval, with the frames lost in it. It fits nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keisoku.device.record.counts import Gap, Tracked
from keisoku.device.record.trial import NS_PER_S, TrialRecord

STAMP_NS = 1.0
"""Times of the first and the last frame are whole nanoseconds."""


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

    @property
    def at_s(self) -> float:
        """The time that the mean belongs to."""
        return (self.start_s + self.end_s) / 2


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
    before = 0
    for interval in series:
        first, before = before, before + interval.forwarded_frames
        end_ns = interval.start_ns + width_ns
        # The last frame leaves one gap before the end; an interval that is only partly filled is no sample.
        if interval.latency is None or end_ns > last_ns + width_ns / 10:
            continue
        # Nothing can arrive before a frame has crossed the device: the first mean covers a shorter time.
        start_ns = interval.start_ns + (interval.latency.min_ns if interval.start_ns == 0 else 0)
        yield (
            first,
            Sample(
                start_s=start_ns / NS_PER_S,
                end_s=end_ns / NS_PER_S,
                mean_ns=interval.latency.mean_ns,
                min_ns=interval.latency.min_ns,
                max_ns=interval.latency.max_ns,
                forwarded_frames=interval.forwarded_frames,
                lost_frames=lost.between(interval.start_ns, end_ns),
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
    found = []
    for first, sample in _numbered(record, tracked):
        missing = lost.before(first, sample.forwarded_frames, gap_ns)
        due_s = (first if waiting else first + missing) * gap_ns / NS_PER_S
        found.append(
            replace(
                sample,
                start_s=due_s,
                end_s=due_s + sample.forwarded_frames * gap_ns / NS_PER_S,
                mean_ns=sample.mean_ns + (gap_ns * missing if waiting else 0.0),
            )
        )
    return found


class _Lost:
    """Lost frames by the time they were sent, as far as that is known: spread evenly over their gap."""

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self.counts = np.array([gap.count for gap in gaps], dtype=np.float64)
        self.first_ns = np.array([gap.after_ns or 0 for gap in gaps], dtype=np.float64)
        last_ns = np.array([gap.before_ns or gap.after_ns or 0 for gap in gaps], dtype=np.float64)
        self.last_ns = np.maximum(last_ns, self.first_ns + 1)

    def between(self, start_ns: float, end_ns: float) -> float:
        """Frames lost in that time."""
        within_ns = np.minimum(self.last_ns, end_ns) - np.maximum(self.first_ns, start_ns)
        shares = np.maximum(within_ns, 0) / (self.last_ns - self.first_ns)
        return float((self.counts * shares).sum())

    def before(self, first: int, frames: int, gap_ns: float) -> float:
        """How many were lost before a frame, on average over `frames` that arrived after `first` others."""
        after = self.first_ns / gap_ns + 1 - (np.cumsum(self.counts) - self.counts)
        return float((self.counts * np.clip((first + frames - after) / frames, 0.0, 1.0)).sum())
