"""The latency series of a trial as samples: one an interval, with what was lost meanwhile.

Pure; it fits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.record.counts import Gap, Tracked
from keisoku.record.trial import NS_PER_S, TrialRecord


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
        """What the mean stands for."""
        return (self.start_s + self.end_s) / 2


def samples_of(record: TrialRecord, tracked: Tracked) -> list[Sample]:
    """The intervals of `tracked`, one of the trial's streams or all of them, that lie within the time of sending.

    Intervals in which nothing arrived are left out.
    """
    series, width_ns = tracked.series, record.trial.interval_ns
    if len(series) > 1:
        width_ns = series[1].start_ns - series[0].start_ns
    last_ns = record.facts.sent.last_sent_ns
    found = []
    for interval in series:
        end_ns = interval.start_ns + width_ns
        # The last frame leaves a gap before the end; what is only partly filled is no sample.
        if interval.latency is None or end_ns > last_ns + width_ns / 10:
            continue
        # Nothing can arrive before a frame has crossed the device: the first mean stands for a shorter time.
        start_ns = interval.start_ns + (interval.latency.min_ns if interval.start_ns == 0 else 0)
        found.append(
            Sample(
                start_s=start_ns / NS_PER_S,
                end_s=end_ns / NS_PER_S,
                mean_ns=interval.latency.mean_ns,
                min_ns=interval.latency.min_ns,
                max_ns=interval.latency.max_ns,
                forwarded_frames=interval.forwarded_frames,
                lost_frames=sum(_within(gap, interval.start_ns, end_ns) for gap in tracked.lost),
            )
        )
    return found


def _within(gap: Gap, start_ns: int, end_ns: int) -> float:
    """Frames of the gap that were sent in the interval, as far as their times are known."""
    first = gap.after_ns if gap.after_ns is not None else 0
    last = max(first + 1, gap.before_ns if gap.before_ns is not None else first + 1)
    return gap.count * max(0.0, min(last, end_ns) - max(first, start_ns)) / (last - first)
