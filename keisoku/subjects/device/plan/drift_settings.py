"""The settings of the methods for latency over time: buffer behaviour and clock mismatch."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load


class BufferOverTimeSettings(Settings):
    """One long trial of each size at the smallest gap, one latency sample a second (published switch measurements,
    E1)."""

    trial_s: float = Field(100.0, gt=0)
    sample_s: float | None = Field(None, gt=0)
    """Length of one sample; shorter changes are averaged (default: 1 s, or a twentieth of a shorter trial)."""
    rate_fps: Load | None = None
    """Load at every size (default: the smallest gap, 100 % of the link)."""


class ClockMismatchSettings(Settings):
    """Latency of every frame at the throughput rate, and at a lower rate without drift (published measurements, E3)."""

    trial_s: float = Field(60.0, gt=0)
    repetitions: int = Field(3, ge=1)
    """Number of trials at each rate, whose results are averaged."""
    rate_fps: Load | None = None
    """The first rate (default: the measured throughput of each size)."""
    lowered_percent: float | None = Field(None, gt=0, lt=100)
    """The second rate as a share of the first, such as 99.4 (default: just below the rate at which latency drifts)."""
