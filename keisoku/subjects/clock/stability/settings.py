"""Settings of the log of a clock and of the analysis of a file of phase, with their limits."""

from __future__ import annotations

from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME
from typing import Literal, Self

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.clock.stability.averaging import OCTAVE, check
from keisoku.subjects.clock.stability.phase_log import POINTS_MIN

COUNTER = "counter"
MEASURED = {
    "realtime": CLOCK_REALTIME,
    "monotonic": CLOCK_MONOTONIC,
    "raw": CLOCK_MONOTONIC_RAW,
    "boottime": CLOCK_BOOTTIME,
}
"""Clocks that can be measured besides the counter."""
_EVERY_MIN_S = 0.001
_READINGS_MAX = 20_000_000
"""Number of readings for which the analysis takes minutes and some GB."""


class StabilitySettings(RunSettings):
    """Settings of one log."""

    duration_s: float = 3600.0
    """Total time to log, interruptions not counted, such as 10min or 3d."""
    every_s: float = 1.0
    """Time from one reading to the next."""
    clock: Literal["counter", "realtime", "monotonic", "raw", "boottime"] = "counter"
    """Clock to measure."""
    reference: str = "auto"
    """Clock to compare with: phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic, raw."""
    tau: str = OCTAVE
    """Averaging times: octave (1, 2, 4 … intervals), decade (1, 2, 4, 10 …), all, or a list: 1s,10s,100s."""

    @model_validator(mode="after")
    def _readings_are_neither_too_many_nor_too_few(self) -> Self:
        every_s, duration_s = self.every_s, self.duration_s
        if every_s < _EVERY_MIN_S:
            raise PlanError("every", f"{every_s:g} s is too often", f"read every {_EVERY_MIN_S:g} s at most")
        if duration_s > _READINGS_MAX * every_s:
            problem = f"{duration_s / every_s:.3g} readings are more than can be analysed at once"
            remedy = f"read every {duration_s / _READINGS_MAX:.2g} s at most, or for a shorter time"
            raise PlanError("every", problem, remedy)
        if duration_s < POINTS_MIN * every_s:
            raise PlanError("duration", f"{duration_s:g} s hold fewer than {POINTS_MIN} readings", "log for longer")
        check(self.tau, every_s)
        return self


class PhaseSettings(RunSettings):
    """Settings of the analysis of one file."""

    file: str = argument()
    """Log of ptp4l, phc2sys, chrony (tracking, statistics, measurements) or ntpd (loopstats, peerstats), or columns of
    numbers: phase, or time and phase; or NumPy's .npy."""
    tau0_s: float | None = Field(None, gt=0)
    """Time from one phase of the file to the next; not needed where the file has times, which it must agree with."""
    unit: Literal["s", "ms", "us", "ns"] | None = None
    """Unit of the phases in the file; not needed where the file says it, otherwise s."""
    column: str | None = None
    """Column of the phase, by its name or by its number from 1; not needed where the file says it."""
    tau: str = OCTAVE
    """Averaging times: octave (1, 2, 4 … intervals), decade (1, 2, 4, 10 …), all, or a list: 1s,10s,100s."""

    @model_validator(mode="after")
    def _averaging_times_are_multiples(self) -> Self:
        if self.tau0_s is not None:
            check(self.tau, self.tau0_s)
        return self
