"""The counter's frequency as it was calibrated, kept for later runs, and the rate of the interval clock that follows.

Each calibration is a small JSON file. The kernel's own rate changes with every boot and the counter's does not; so the
counter's frequency is kept, and the kernel's clock is compared with the counter when a run begins.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from keisoku.ground.host.state_file import written
from keisoku.language import phrase
from keisoku.subjects.clock.frequency import Frequency
from keisoku.subjects.clock.host_clocks import Steering
from keisoku.subjects.clock.rate import OSCILLATOR, SLEW, WANDER, Part, Rate, nominal_rate

_ABOUT = 1.1
"""Uncertainties whose ratio is smaller count as equal."""


class OscillatorCalibration(BaseModel):
    """One calibration and what it is valid for."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    made_at: str
    valid_for: dict[str, str]
    """Host, processor and counter."""
    reference: str
    ticks_per_s: float
    standard_ticks_per_s: float
    """k = 1."""


def keep(folder: Path, calibration: OscillatorCalibration) -> Path:
    """Stores it and returns the path. Raises KeisokuError if it cannot be written."""
    path = folder / f"{calibration.made_at.replace(':', '')}.json"
    return written(path, calibration)


def is_worth_keeping(frequency: Frequency) -> bool:
    """True if its uncertainty is smaller than the tolerance of an uncalibrated oscillator."""
    return frequency.relative < OSCILLATOR / math.sqrt(3)


def least_uncertain(folder: Path, valid_for: dict[str, str]) -> OscillatorCalibration | None:
    """The newest of those with about the least uncertainty on this machine; unreadable files are skipped.

    The wander of an oscillator with time is part of that, so of two good ones the newer is taken.
    """
    found = [calibration for calibration in map(_read, folder.glob("*.json")) if calibration is not None]
    fitting = [calibration for calibration in found if calibration.valid_for == valid_for]
    least = min(map(_uncertainty, fitting), default=0.0)
    good = [calibration for calibration in fitting if _uncertainty(calibration) <= _ABOUT * least]
    return max(good, key=lambda calibration: calibration.made_at, default=None)


def measured_now(frequency: Frequency, reference: str, valid_for: dict[str, str]) -> OscillatorCalibration:
    """One that was measured now."""
    return OscillatorCalibration(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        valid_for=valid_for,
        reference=reference,
        ticks_per_s=frequency.hz,
        standard_ticks_per_s=frequency.standard_hz,
    )


def interval_rate(
    calibration: OscillatorCalibration | None, of_clock: Frequency | None, steering: Steering, clock: str
) -> Rate:
    """Of a kernel clock whose second has `of_clock` ticks now, by what is known of the counter.

    Without a calibration, or without a counter to compare with, it is an uncalibrated oscillator's.
    """
    steered = (Part(phrase("clock: steered by the kernel while it is disciplined"), half_width=SLEW),)
    if calibration is None or of_clock is None:
        own = nominal_rate(clock)
        if not steering.synchronised:
            return own
        return Rate(clock, 0.0, (*own.parts, *steered), own.statement)
    parts = (
        Part(
            phrase(
                "clock: rate, calibrated {made_at} against {reference}",
                made_at=calibration.made_at,
                reference=calibration.reference,
            ),
            standard=calibration.standard_ticks_per_s / calibration.ticks_per_s,
        ),
        Part(phrase("clock: {clock} against the counter", clock=clock), standard=of_clock.relative),
        Part(phrase("clock: wander of the oscillator since then"), half_width=WANDER),
    )
    return Rate(
        clock,
        calibration.ticks_per_s / of_clock.hz - 1,
        (*parts, *steered) if steering.synchronised else parts,
        phrase(
            "clock: rate calibrated {made_at} against {reference}",
            made_at=calibration.made_at,
            reference=calibration.reference,
        ),
    )


def _uncertainty(calibration: OscillatorCalibration) -> float:
    return math.hypot(calibration.standard_ticks_per_s / calibration.ticks_per_s, WANDER / math.sqrt(3))


def _read(path: Path) -> OscillatorCalibration | None:
    try:
        return OscillatorCalibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
