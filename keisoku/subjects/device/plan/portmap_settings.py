"""Settings of the port map. The defaults suit a simulated device, or a real device without other traffic."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load


class PortMapSettings(Settings):
    """From every port to every other, one way at a time (published switch measurements, E1)."""

    trial_s: float = Field(1.0, gt=0)
    """Length of each trial, of one size from one port to another."""
    limit_trial_s: float = Field(0.1, gt=0)
    """Length of the trials that search for the largest frame."""
    rate_fps: Load | None = None
    """Load at every size, as far as the link carries it (default: the smallest gap, 100 % of the link)."""
    limits: bool = True
    """Search for the largest frame that passes at this load, by bisection."""
