"""Settings of the map of a device's ports (E1, Table 4.3). Defaults are for a simulated or an idle real device."""

from __future__ import annotations

from pydantic import Field

from keisoku.run.settings import Settings


class PortMapSettings(Settings):
    """E1: from every port to every other, one way at a time."""

    trial_s: float = Field(1.0, gt=0)
    """Length of each trial, of one size from one port to another."""
    limit_trial_s: float = Field(0.1, gt=0)
    """Length of the trials that look for the largest frame."""
    rate_fps: float | None = Field(None, gt=0)
    """Load for every size the link carries it with; the smallest gap (100 % of the link) if not given."""
    limits: bool = True
    """Look for the largest frame that passes at this load, by bisection."""
