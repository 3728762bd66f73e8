"""The settings of RFC 2544's §26.4 to §26.6: back-to-back frames, system recovery, reset.

The defaults are the values of the RFCs (RFC 9004 and RFC 6201 where they update RFC 2544). The RFCs leave open the
observation times and the repetitions of recovery and reset.
"""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load


class BackToBackSettings(Settings):
    """RFC 9004: the longest burst at the maximum rate without a lost frame, searched for N times."""

    repetitions: int = Field(50, ge=1)
    """Number of searches at each size, N."""
    limit_s: float = Field(30.0, gt=0, le=300)
    """The longest burst tried, as the time to send it (RFC 9004 §6.2: it must be configurable to at least 30 s)."""
    step_frames: int = Field(1, ge=1)
    """The search ends when a burst without loss and one with loss differ by so many frames."""


class RecoverySettings(Settings):
    """RFC 2544 §26.5: an overload of 110 % of the throughput, then half of that rate."""

    overload_s: float = Field(60.0, gt=0)
    watch_s: float = Field(60.0, gt=0)
    """Observation time after the load is reduced."""
    repetitions: int = Field(5, ge=1)
    """Number of trials, whose results are averaged."""
    rate_fps: Load | None = None
    """The throughput, of which the overload is 110 % (default: it is measured)."""


class ResetSettings(Settings):
    """RFC 6201: a load at the throughput while the device is reset."""

    stable_s: float = Field(15.0, gt=0)
    """Time under load before the reset, in which no frame may be lost."""
    watch_s: float = Field(60.0, gt=0)
    """Time under load from the reset on; it must be longer than the device needs to restart."""
    repetitions: int = Field(3, ge=1)
    """Number of resets, whose results are averaged."""
    rate_fps: Load | None = None
    """Load of the trials (default: the measured throughput of each size)."""
