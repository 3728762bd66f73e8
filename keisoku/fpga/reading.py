"""What the host reads of a port after or during a trial: counts, latencies, events. Holds facts only, computes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """Of events; the numbers are those of `event_kind_t` in fpga/rtl/instrument_pkg.sv."""

    LOST = 0
    DUPLICATED = 1
    REORDERED = 2
    LATE = 3
    CORRUPT = 4
    FRAME = 5
    DROPPED = 6


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling of single frames."""

    kind: Kind
    first: int
    """A sequence number; of LOST the first of some."""
    last: int
    """Of LOST the last of them; of FRAME the latency in ns; of DROPPED how many events had no room."""
    time_ns: int
    """When it was found, on the instrument's clock."""


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
    dropped_frames: int
    """Arrivals that the instrument itself failed to account."""
    dropped_events: int
    last_ns: int | None
    """When the last frame of the stream arrived."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One bank of latencies: sums over the first arrivals in its time, and a histogram of equal bins."""

    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    squares_ns2: int | None
    """None: the hardware does not keep it."""
    origin_ns: int
    bin_ns: int
    bins: dict[int, int]
    """Frames by number of bin, for those that are occupied; the first and the last have all that lies beyond them."""
