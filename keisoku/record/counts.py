"""What is counted and measured in a trial: at a sending port, of a received stream.

Mirrors the types of `core/src` of the same names. Holds facts only; never computes.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Buckets(_Model):
    """Occupied buckets of a histogram: `lower_ns <= value < upper_ns`."""

    negative: int = 0
    lower_ns: list[int] = []
    upper_ns: list[int] = []
    counts: list[int] = []


class Sent(_Model):
    """What a sender did at one port, or at all of them; times in ns since the first frame was due."""

    offered_frames: int
    first_sent_ns: int
    last_sent_ns: int
    lag_max_ns: int
    postponed_ns: int
    """By how much the schedule was shifted in all, because the sender was too late to catch up."""
    gaps: Buckets


class Ranges(_Model):
    """Sequence numbers as `(first, last)` ranges; `complete` is false if the list was cut."""

    count: int
    ranges: list[tuple[int, int]]
    complete: bool


class Gap(_Model):
    """Missing sequence numbers, sent after `after_ns` and before `before_ns`."""

    first: int
    last: int
    count: int
    after_ns: int | None
    before_ns: int | None


class Latency(_Model):
    """Over all frames of a trial; `deviation_ns` is their standard deviation."""

    count: int
    min_ns: float
    max_ns: float
    mean_ns: float
    deviation_ns: float
    histogram: Buckets


class IntervalLatency(_Model):
    """Over the frames received in one interval."""

    min_ns: float
    max_ns: float
    mean_ns: float


class Interval(_Model):
    """One interval of receive time, counted from when the first frame was due."""

    start_ns: int
    forwarded_frames: int
    latency: IntervalLatency | None


class Tracked(_Model):
    """What the receiver found; see `core/src/tracking.rs` for each count."""

    received_frames: int
    forwarded_frames: int
    lost_frames: int
    corrupt: Ranges
    corrupt_arrivals: int
    duplicated: Ranges
    reordered: Ranges
    foreign_frames: int
    lost: list[Gap]
    lost_exact: bool
    latency: Latency | None
    tagged_latency_ns: float | None
    series: list[Interval]
