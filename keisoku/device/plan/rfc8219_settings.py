"""Settings of RFC 8219's delay and delay variation and of RFC 4737's reordering; the RFCs' values are the defaults.

Also the frame sizes that the RFCs after 2544 ask for. Says nothing of how a procedure proceeds.
"""

from __future__ import annotations

from pydantic import Field

from keisoku.device.plan.settings import LatencySettings
from keisoku.run.settings import Settings


class DelaySettings(LatencySettings):
    """RFC 8219 §7.2: at least 500 frames tagged after 60 s of at least 120 s, 20 times; all from then on count."""


class DelayVariationSettings(Settings):
    """RFC 8219 §7.3: all frames of at least 60 s, 20 times."""

    trial_s: float = Field(60.0, gt=0)
    repetitions: int = Field(20, ge=1)
    """Repetitions."""
    rate_fps: float | None = Field(None, gt=0)
    """Load to measure at; the throughput of each size if not given."""


class ReorderingSettings(Settings):
    """RFC 4737 and RFC 5236, at several loads: a device may reorder above a certain one only."""

    trial_s: float = Field(60.0, gt=0)
    loads_percent: tuple[float, ...] = Field((10.0, 50.0, 90.0, 100.0), min_length=1)
    """Loads as shares of the maximum."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the theoretical maximum of the link if not given."""
