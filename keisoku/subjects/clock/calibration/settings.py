"""Settings of a calibration of the counter, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import RunSettings
from keisoku.subjects.clock.reference.local import TRIES


class CalibrationSettings(RunSettings):
    """Settings of one calibration."""

    reference: str = "auto"
    """Reference clock to compare with: phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic, raw."""
    duration_s: float = Field(1.0, gt=0)
    """Time for which the counter is compared with the reference."""
    tries: int = Field(TRIES, ge=1, le=10_000)
    """Reads of a clock of this machine for each reading; the read with the shortest bracket counts."""
    pause_s: float = Field(2.0, gt=0)
    """Time between two requests to a PTP master or an NTP server; use 2 s or more for servers of other people."""
