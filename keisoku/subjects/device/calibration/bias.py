"""What the tester itself adds to a latency, and how well that is known.

A bias comes from trials on a bare cable (`device/procedure/own/calibrate.py`), is kept as a small JSON file and is
subtracted from results, never from records. Between calibrated sizes and loads it interpolates;
outside it takes the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from keisoku.errors import PlanError
from keisoku.frozen import Frozen
from keisoku.ground.frame.rates import NS_PER_S
from keisoku.ground.host.text_file import read_text
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.language import phrase
from keisoku.subjects.clock.rate import SECOND, Rate
from keisoku.subjects.clock.relation import SAME_CLOCK, Relation
from keisoku.subjects.device.analysis.stamp_phase import percentile_share
from keisoku.subjects.device.record.counts import Latency

Number = TypeVar("Number", int, float)
_MOST_BYTES = 1 << 26
"""Of a calibration, which has points of every size and load."""
ARITHMETIC_NS = 0.0005
"""Times of simulated devices are whole picoseconds, so each is off by at most half of one."""
MOST_PLACES = 1000
"""More different places of frames between two steps of a clock are not told apart."""
CABLE = phrase("cables: difference of length from the calibration's")
CABLE_NS_PER_M = 4.72284
"""The cables of the published switch measurements (E1): 71 % of the speed of light."""


class Point(Frozen):
    """The tester on a cable at one size and load; all in ns."""

    frame_bytes: int
    frames_per_second: float
    bias_ns: float
    """Mean over the trials of the mean latency."""
    repeat_ns: float
    """Standard deviation of a trial's mean from trial to trial (type A)."""
    spread_ns: float
    """Half the width of the central 68 % of single frames' latencies."""


class Calibration(Frozen):
    """All points of one calibration and what they are valid for."""

    made_at: str
    valid_for: dict[str, str]
    """Host, kernel, engines and drivers: a calibration is used only where all of these agree."""
    points: tuple[Point, ...]
    length_m: float | None = None
    """Of the cable, where it was given."""


@dataclass(frozen=True)
class Correction:
    """The bias to subtract and its uncertainty contributions: for a mean, and for the latency of a single frame."""

    bias_ns: float
    of_mean: tuple[Contribution, ...]
    of_frame: tuple[Contribution, ...]

    @property
    def mean_ns(self) -> float:
        """Standard uncertainty (k = 1) of a mean."""
        return budget.standard_uncertainty(self.of_mean)

    @property
    def frame_ns(self) -> float:
        """Standard uncertainty (k = 1) of a single frame's latency."""
        return budget.standard_uncertainty(self.of_frame)


@dataclass(frozen=True)
class Bias:
    """Corrections for any size and load. With no calibration nothing is subtracted."""

    calibration: Calibration | None = None
    exact: bool = False
    """Simulated time: no bias, and no uncertainty except that of `resolution_ns`."""
    resolution_ns: float = 0.0
    """Simulated timestamps are rounded to multiples of it; that of real ones is part of the calibration's scatter."""
    clocks: Relation = SAME_CLOCK
    """Relation of the receiving port's clock to the sending port's; its uncertainty adds to every result's."""
    cable_tolerance_m: float = 0.0
    """By how much the total length of the cables may differ from that at the calibration."""
    mean_error_ns: float = 0.0
    """Bound of the error that the timestamps' quantisation leaves in a mean; it applies to the calibration as well."""
    rate: Rate = SECOND
    """Rate of the clock of both timestamps: its error is a share of every interval."""

    @property
    def is_known(self) -> bool:
        """False if the tester was not calibrated, so that what it adds is in every latency."""
        return self.exact or self.calibration is not None

    def correction(self, frame_bytes: int, fps: float) -> Correction | None:
        """None if the tester was not calibrated."""
        if self.exact:
            in_mean_ns = self.resolution_ns * self.mean_share(fps)
            widths = (max(half_width_ns, ARITHMETIC_NS) for half_width_ns in (in_mean_ns, self.resolution_ns))
            return Correction(0.0, *map(_exact, widths))
        if self.calibration is None:
            return None
        sizes = sorted({point.frame_bytes for point in self.calibration.points})
        low, high, share = _neighbours(sizes, frame_bytes)
        first, second = self._at_size(low, fps), self._at_size(high, fps)
        bias, repeat, grid, spread = (a + (b - a) * share for a, b in zip(first, second, strict=True))
        mean: tuple[Contribution, ...] = (
            budget.normal(phrase("calibration: repeatability of the bias"), repeat),
            # Between two loads the true bias may lie anywhere between theirs: a rectangular distribution (GUM 4.3.7).
            budget.rectangular(phrase("calibration: bias between two loads"), grid),
            self._of_clocks(),
            budget.rectangular(CABLE, self.cable_tolerance_m, sensitivity=CABLE_NS_PER_M),
        )
        if self.mean_error_ns:
            # It bounds one mean; the difference of two means is twice as wide.
            mean += (budget.triangular(phrase("timestamps: quantisation in both means"), 2 * self.mean_error_ns),)
        return Correction(bias, mean, (*mean, budget.normal(phrase("tester: scatter of single frames"), spread)))

    def mean_share(self, fps: float) -> float:
        """Largest error of the mean of many frames by the resolution, as a share of it; 0 where there is none."""
        return _evenness(fps, self.resolution_ns) if self.resolution_ns else 0.0

    def percentile_share(self, value_ns: float, fps: float, latencies: Sequence[Latency]) -> float:
        """Likewise of a percentile of the latencies of these trials."""
        return percentile_share(value_ns, latencies, self.resolution_ns, self.mean_share(fps)) if self.exact else 1.0

    def corrected(
        self,
        value_ns: float,
        frame_bytes: int,
        fps: float,
        *,
        single_frame: bool,
        own: Sequence[Contribution] = (),
        steps: float = 1.0,
    ) -> Quantity:
        """A latency with the bias subtracted, its budget, and the expanded uncertainty (k = 2) of that.

        `own` are contributions of the measurement itself, such as its repetitions. Without a calibration they are all
        that is known, and the figure is shown without them. `steps` is the largest error of a figure of single frames
        by the resolution of simulated timestamps, as a share of it.
        """
        correction = self.correction(frame_bytes, fps)
        if correction is None:
            if not own:
                return Quantity(value=value_ns, unit="ns")
            return budget.figure(value_ns, "ns", own).model_copy(update={"covers": "repetitions"})
        of_frame = correction.of_frame
        if self.exact and steps < 1:
            of_frame = _exact(max(self.resolution_ns * steps, ARITHMETIC_NS))
        contributions = (*own, *(of_frame if single_frame else correction.of_mean))
        if self.exact:
            return budget.figure(value_ns - correction.bias_ns, "ns", contributions)
        latency_ns = self.rate.corrected(value_ns - correction.bias_ns)
        return budget.figure(latency_ns, "ns", (*contributions, *self.rate.contributions(latency_ns)))

    def _of_clocks(self) -> Contribution:
        if self.clocks.same_clock:
            return budget.rectangular(phrase("one clock: its resolution is part of the calibration's scatter"), 0.0)
        return budget.normal(phrase("clocks: relation between them"), self.clocks.uncertainty_ns(), kind="B")

    def _at_size(self, frame_bytes: int, fps: float) -> tuple[float, float, float, float]:
        """Bias, its repeatability, half its change between two loads, and the spread of single frames, in ns."""
        assert self.calibration is not None
        points = sorted(
            (point for point in self.calibration.points if point.frame_bytes == frame_bytes),
            key=lambda point: point.frames_per_second,
        )
        rates = [point.frames_per_second for point in points]
        low, high, share = _neighbours(rates, fps)
        a, b = points[rates.index(low)], points[rates.index(high)]
        bias = a.bias_ns + (b.bias_ns - a.bias_ns) * share
        half = abs(b.bias_ns - a.bias_ns) / 2
        return bias, max(a.repeat_ns, b.repeat_ns), half, max(a.spread_ns, b.spread_ns)


def _exact(half_width_ns: float) -> tuple[Contribution, ...]:
    """Contributions in simulated time: only the rounding of both timestamps is uncertain.

    It is rectangular: where every frame leaves at the same place between two steps of the clock, all errors are alike.
    """
    return (
        budget.rectangular(phrase("simulated clock: resolution of both timestamps"), half_width_ns),
        budget.normal(phrase("simulated tester: bias"), 0.0, kind="B"),
        budget.normal(phrase("simulated ports: one clock"), 0.0, kind="B"),
        budget.rectangular(CABLE, 0.0, sensitivity=CABLE_NS_PER_M),
    )


def _evenness(fps: float, resolution_ns: float) -> float:
    """What rounding can leave in the mean of many frames, as a share of a timestamp's step.

    Frames that leave at q different places between two steps, all as often, leave one part in q.
    """
    return 1 / Fraction(NS_PER_S / fps / resolution_ns).limit_denominator(MOST_PLACES).denominator


def read(path: Path) -> Calibration:
    """Raises PlanError if the file cannot be read or is no calibration."""
    try:
        return Calibration.model_validate_json(read_text("calibration", path, _MOST_BYTES))
    except (PlanError, ValidationError) as error:
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
