"""Settings of RFC 8219's delay and delay variation and of RFC 4737's reordering; the RFCs' values are the defaults.

It also has the frame sizes that the RFCs after RFC 2544 ask for.
"""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.procedure.rfc2544.latency import LatencySettings


class DelaySettings(LatencySettings):
    """RFC 8219 §7.2: trials of at least 120 s, frames tagged after 60 s, 20 repetitions; every frame from then on
    counts."""


class DelayVariationSettings(Settings):
    """RFC 8219 §7.3: all frames of at least 60 s, 20 times."""

    trial_s: float = Field(60.0, gt=0)
    repetitions: int = Field(20, ge=1)
    """Repetitions."""
    rate_fps: Load | None = None
    """Load of the trials (default: the measured throughput of each size)."""
