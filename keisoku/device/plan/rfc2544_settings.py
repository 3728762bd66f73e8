"""The settings of RFC 2544's §26.4 to §26.6: back-to-back frames, system recovery, reset.

The values of the RFCs (RFC 9004 and RFC 6201 where they update RFC 2544) are the defaults where they have some; how
long is watched, and how often recovery and reset are repeated, they leave open. Touches no port.
"""

from __future__ import annotations

from pydantic import Field

from keisoku.run.settings import Settings


class BackToBackSettings(Settings):
    """RFC 9004: the longest burst at the maximum rate that loses no frame, searched for N times."""

    repetitions: int = Field(50, ge=1)
    """Searches of each size, N."""
    limit_s: float = Field(30.0, gt=0, le=300)
    """The longest burst tried, as the time to send it; RFC 9004 §6.2: configurable to 30 s at least."""
    step_frames: int = Field(1, ge=1)
    """The search ends when a clean and a lossy burst differ by so many frames."""


class RecoverySettings(Settings):
    """RFC 2544 §26.5: an overload of 110 % of the throughput, then half of that rate."""

    overload_s: float = Field(60.0, gt=0)
    watch_s: float = Field(60.0, gt=0)
    """How long losses are looked for after the step down."""
    repetitions: int = Field(5, ge=1)
    """Repetitions that are averaged."""
    rate_fps: float | None = Field(None, gt=0)
    """The throughput to go by; it is measured if not given."""


class ResetSettings(Settings):
    """RFC 6201: a load at the throughput while the device is reset."""

    stable_s: float = Field(15.0, gt=0)
    """Load without a loss before the reset."""
    watch_s: float = Field(60.0, gt=0)
    """Load from the reset on: longer than the device needs to come back."""
    repetitions: int = Field(3, ge=1)
    """Resets that are averaged."""
    rate_fps: float | None = Field(None, gt=0)
    """Load to measure at; the throughput of each size if not given."""
