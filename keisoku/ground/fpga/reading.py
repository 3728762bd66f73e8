"""What the host reads from a port after or during a trial: counts and latencies. Holds facts only, computes nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Generated:
    """What a generator sent. Times are those of SFDs, on the instrument's clock; None before the first frame."""

    running: bool
    frames: int
    bytes: int
    first_ns: int | None
    last_ns: int | None
    lag_max_ns: int
    """The largest delay of a frame after it was due."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of the frames that arrived at a port since the last clearing."""

    received_frames: int
    """All frames, good or bad."""
    forwarded_frames: int
    """First intact arrivals of the stream, without late ones."""
    duplicated_frames: int
    reordered_frames: int
    late_frames: int
    """Intact, but too old to know whether they arrived for the first time."""
    corrupt_frames: int
    """Frames of the stream with wrong bytes or a wrong length."""
    foreign_frames: int
    other_frames: int
    """Frames of another stream."""
    lost_frames: int
    """Frames of the stream that are certainly lost: too far behind the greatest number that arrived."""
    dropped_frames: int
    """Arrivals that the instrument itself failed to count."""
    last_ns: int | None
    """When the last of the first arrivals came, on the instrument's clock."""


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
