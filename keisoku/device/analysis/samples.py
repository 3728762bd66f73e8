"""The latency series of a trial as samples: one for each interval, with the frames lost in it. It fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.device.record.counts import Tracked
from keisoku.device.record.gaps import Gap
from keisoku.device.record.trial import NS_PER_S, TrialRecord


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
    series, width_ns = tracked.series, record.trial.interval_ns
    if len(series) > 1:
        width_ns = series[1].start_ns - series[0].start_ns
    last_ns = record.facts.sent.last_sent_ns
    lost = _Lost(tracked.lost)
    found = []
    for interval in series:
        end_ns = interval.start_ns + width_ns
        # The last frame leaves one gap before the end; an interval that is only partly filled is no sample.
        if interval.latency is None or end_ns > last_ns + width_ns / 10:
            continue
        # Nothing can arrive before a frame has crossed the device: the first mean covers a shorter time.
        start_ns = interval.start_ns + (interval.latency.min_ns if interval.start_ns == 0 else 0)
        found.append(
            Sample(
                start_s=start_ns / NS_PER_S,
                end_s=end_ns / NS_PER_S,
                mean_ns=interval.latency.mean_ns,
                min_ns=interval.latency.min_ns,
                max_ns=interval.latency.max_ns,
                forwarded_frames=interval.forwarded_frames,
                lost_frames=lost.between(interval.start_ns, end_ns),
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
