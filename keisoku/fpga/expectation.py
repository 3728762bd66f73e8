"""What a receiver of the instrument is told of a trial. Holds no logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expectation:
    """What a receiver takes for frames of the trial, and how it counts their latencies."""

    stream: int
    sizes: tuple[int, int]
    """The least and the largest, with FCS."""
    planned_frames: int
    """Greater sequence numbers are foreign."""
    checked_from: int
    origin_ns: int
    """Where the histogram begins."""
    shift: int
    """A bin is 2^shift ns wide."""
    sample_every: int = 0
    """One frame in so many is told as an event; 0: none."""
