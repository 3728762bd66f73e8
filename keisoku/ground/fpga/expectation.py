"""The settings of a receiver of the instrument for a trial. Holds no logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Header:
    """A header that is expected."""

    bytes: int
    digest: int
    """The register of the FCS behind it, before its last inversion."""


@dataclass(frozen=True)
class Expectation:
    """Which frames a receiver counts as the trial's, and how it counts their latencies."""

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
    """One frame in so many makes an event; 0: none does."""
    header: Header | None = None
    """What each header is compared with; None: with nothing."""
