"""What the tester itself adds to a latency, and how well that is known.

A bias comes from trials on a bare cable (`method/calibrate.py`), is kept as a small JSON file and is
subtracted from results, never from records. Between calibrated sizes and loads it interpolates;
outside it takes the nearest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from keisoku.analysis.uncertainty import combine, expanded, rectangular
from keisoku.calibration.clocks import SAME_CLOCK, Relation
from keisoku.errors import PlanError
from keisoku.record.result import Quantity

Number = TypeVar("Number", int, float)


class Point(BaseModel):
    """The tester on a cable at one size and load; all in ns."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    frame_bytes: int
    frames_per_second: float
    bias_ns: float
    """Mean over the trials of the mean latency."""
    repeat_ns: float
    """Standard deviation of a trial's mean from trial to trial (type A)."""
    spread_ns: float
    """Half the width of the central 68 % of single frames' latencies."""


class Calibration(BaseModel):
    """All points of one calibration and what they are valid for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    made_at: str
    valid_for: dict[str, str]
    """Host, kernel, engines and drivers: a calibration is used only where all of these agree."""
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Correction:
    """To subtract, and the standard uncertainties (k = 1) of a mean and of a single frame's latency."""

    bias_ns: float
    mean_ns: float
    frame_ns: float


@dataclass(frozen=True)
class Bias:
    """Corrections for any size and load. With no calibration nothing is subtracted."""

    calibration: Calibration | None = None
    exact: bool = False
    """Simulated time: no bias and no uncertainty."""
    clocks: Relation = SAME_CLOCK
    """Of the receiving port's stamps to the sending port's; what is not known of it adds to every uncertainty."""

    def at(self, frame_bytes: int, fps: float) -> Correction | None:
        """None if the tester was not calibrated."""
        if self.exact:
            return Correction(0.0, 0.0, 0.0)
        if self.calibration is None:
            return None
        sizes = sorted({point.frame_bytes for point in self.calibration.points})
        low, high, share = _neighbours(sizes, frame_bytes)
        first, second = self._at_size(low, fps), self._at_size(high, fps)
        bias, mean, frame = (a + (b - a) * share for a, b in zip(first, second, strict=True))
        # One clock's rounding is in the calibration's own scatter already.
        clocks = 0.0 if self.clocks.same_clock else self.clocks.uncertainty_ns()
        return Correction(bias, combine(mean, clocks), combine(frame, clocks))

    def corrected(self, value_ns: float, frame_bytes: int, fps: float, *, single_frame: bool) -> Quantity:
        """A latency with the bias subtracted and its expanded uncertainty (k = 2)."""
        correction = self.at(frame_bytes, fps)
        if correction is None:
            return Quantity(value=value_ns, unit="ns")
        standard = correction.frame_ns if single_frame else correction.mean_ns
        return Quantity(value=value_ns - correction.bias_ns, unit="ns", uncertainty=expanded(standard))

    def _at_size(self, frame_bytes: int, fps: float) -> tuple[float, float, float]:
        assert self.calibration is not None
        points = sorted(
            (point for point in self.calibration.points if point.frame_bytes == frame_bytes),
            key=lambda point: point.frames_per_second,
        )
        rates = [point.frames_per_second for point in points]
        low, high, share = _neighbours(rates, fps)
        a, b = points[rates.index(low)], points[rates.index(high)]
        bias = a.bias_ns + (b.bias_ns - a.bias_ns) * share
        # Between two loads the true bias may lie anywhere between theirs: a rectangle (GUM 4.3.7).
        grid = rectangular(abs(b.bias_ns - a.bias_ns) / 2)
        mean = combine(max(a.repeat_ns, b.repeat_ns), grid)
        return bias, mean, combine(mean, max(a.spread_ns, b.spread_ns))


def read(path: Path) -> Calibration:
    """Raises PlanError if the file cannot be read or is no calibration."""
    try:
        return Calibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError, json.JSONDecodeError) as error:
        raise PlanError(
            "calibration",
            f"{path} is not a readable calibration file",
            "make one with 'keisoku calibrate', or use --calibration none",
        ) from error


def newest(directory: Path, valid_for: dict[str, str]) -> Calibration | None:
    """The newest calibration in `directory` that is valid for this host and these ports."""
    found = [calibration for calibration in map(_readable, directory.glob("*.json")) if calibration is not None]
    fitting = [calibration for calibration in found if calibration.valid_for == valid_for]
    return max(fitting, key=lambda calibration: calibration.made_at, default=None)


def _readable(path: Path) -> Calibration | None:
    try:
        return read(path)
    except PlanError:
        return None


def _neighbours(grid: Sequence[Number], value: float) -> tuple[Number, Number, float]:
    """The grid values around `value` and how far it lies between them (0 outside)."""
    low = max((point for point in grid if point <= value), default=grid[0])
    high = min((point for point in grid if point >= value), default=grid[-1])
    return low, high, (value - low) / (high - low) if high > low else 0.0
