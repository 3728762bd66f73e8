"""The settings of convergence: a steady load, during which something happens to the device.

RFC 6413 §5 leaves the lengths open; it wants a load that the device forwards without loss, and a time afterwards in
which no frame may be lost any more (§4.1.6: 5 s are recommended).
"""

from __future__ import annotations

from pydantic import Field

from keisoku.subjects.device.method.event_settings import EventSettings
from keisoku.subjects.device.plan.rate import Load


class ConvergenceSettings(EventSettings):
    """A steady load, during which events happen to the device."""

    rate_fps: Load | None = None
    """Load of a transmitting port, which all flows share; a flow shows its interruption to the time between two of its
    frames (default: 10 000 frames/s, or the maximum of the link if that is less)."""
    watch_s: float = Field(5.0, gt=0)
    """Time under load after each event, and after each undoing: longer than the device needs to converge."""
    hops: bool = False
    """Compare the hop count of every frame: a micro-loop and a longer way show by it."""
    rounds: int = Field(1, ge=1, le=1000)
    """How often the event and its undoing happen in each trial."""
