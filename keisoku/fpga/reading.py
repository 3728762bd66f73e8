"""What the host reads of a port after or during a trial: counts and latencies. Holds facts only, computes nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Generated:
    """What a generator did. Times are of SFDs, on the instrument's clock; None before the first frame."""

    running: bool
    frames: int
    bytes: int
    first_ns: int | None
    last_ns: int | None
    lag_max_ns: int
    """By how much a frame left later than it was due."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of the frames that arrived at a port since the last clearing."""

    received_frames: int
    """Everything, good or bad."""
    forwarded_frames: int
    """First intact arrivals of the stream, late ones left out."""
    duplicated_frames: int
    reordered_frames: int
    late_frames: int
    """Intact, but too old to tell whether they came for the first time."""
    corrupt_frames: int
    """Of the stream, with wrong bytes or a wrong length."""
    foreign_frames: int
    other_frames: int
    """Of another stream."""
    lost_frames: int
    """Of the stream, beyond doubt: too far behind the greatest number that arrived."""
    dropped_frames: int
    """Arrivals that the instrument itself failed to account."""
    last_ns: int | None
    """When the last first arrival of the stream came, on the instrument's clock."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One bank of latencies: sums over the first arrivals in its time, and a histogram of equal bins."""

    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    squares_ns2: int
    """Sum of the squares."""
    origin_ns: int
    bin_ns: int
    bins: dict[int, int]
    """Frames by number of bin, for those that are occupied; the first and the last have all that lies beyond them."""
