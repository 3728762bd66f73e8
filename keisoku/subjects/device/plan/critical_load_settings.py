"""Settings of the critical load: trials of one short duration at loads around it."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load


class CriticalLoadSettings(Settings):
    """The load at which half of all short trials lose no frame, and how widely the device's limit is spread."""

    trial_s: float = Field(0.5, gt=0)
    """Length of each trial; the result holds for trials of this length."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when half the width of the critical load's 95 % interval is at most this share of it."""
    trials: int = Field(30, ge=5)
    """Smallest number of trials at each size."""
    limit_s: float = Field(120.0, gt=0)
    """Seconds of load at each size after which the search ends, however wide the interval is."""
    maximum_fps: Load | None = None
    """Highest load (default: that of the link or the tester)."""
    minimum_fps: Load | None = None
    """Lowest load (default: 1/10000 of the highest)."""
    ceiling_percent: float = Field(99.98, gt=0, le=100)
    """Highest load as a share of the link's maximum; below 100 % because clocks may differ by ±100 ppm."""
    stop_at_loss: bool = True
    """End a trial at its first lost frame, because it is then not clean."""
