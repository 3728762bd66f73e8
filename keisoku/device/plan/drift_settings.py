"""The settings of the methods that look at latency over time: E1's buffer behaviour and E3's clock mismatch."""

from __future__ import annotations

from pydantic import Field

from keisoku.run.settings import Settings


class BufferOverTimeSettings(Settings):
    """E1: one long trial of each size at the smallest gap, one latency sample a second."""

    trial_s: float = Field(100.0, gt=0)
    sample_s: float = Field(1.0, gt=0)
    """Width of a sample: what is shorter is averaged away."""
    rate_fps: float | None = Field(None, gt=0)
    """Load for every size; the smallest gap (100 % of the link) if not given."""


class ClockMismatchSettings(Settings):
    """E3: every frame stamped at the throughput rate, and again where the drift has vanished."""

    trial_s: float = Field(60.0, gt=0)
    repetitions: int = Field(3, ge=1)
    """Repetitions at each rate, averaged."""
    rate_fps: float | None = Field(None, gt=0)
    """The first rate; the throughput of each size if not given."""
    lowered_percent: float | None = Field(None, gt=0, lt=100)
    """The second rate as a share of the first (99.4 in E3); just below what drifts if not given."""
