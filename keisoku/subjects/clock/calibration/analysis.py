"""The counter's frequency by readings against a reference, while the kernel's clocks were watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.errors import EngineError
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Interval, Quantity
from keisoku.language import phrase, recorded
from keisoku.subjects.clock import frequency
from keisoku.subjects.clock.difference_clock import DifferenceClock
from keisoku.subjects.clock.frequency import Fit, Frequency
from keisoku.subjects.clock.host_changes import change_flags
from keisoku.subjects.clock.host_clocks import HostClocks
from keisoku.subjects.clock.reading import Reading

NAME = "clock calibrate"
SPOILING = frozenset({"clock-source-switched", "suspended", "time-stepped", "not-one-rate"})
"""Flags after which a frequency is not kept for later runs."""


@dataclass(frozen=True)
class Measured:
    """What was read. `kernel`: readings of CLOCK_MONOTONIC_RAW at the beginning and at the end."""

    readings: tuple[Reading, ...]
    looks: tuple[HostClocks, ...]
    kernel: tuple[Reading, ...]


def analyse(measured: Measured, counter: str, described: str, said: Sequence[Flag], *, real: bool) -> Result:
    """Frequency by every estimator, its bounds, the kernel's own figure beside it, and what happened meanwhile.

    Raises EngineError if readings are too few or one of the clocks went back.
    """
    flags = [*said, *change_flags(measured.looks)]
    try:
        two, fit = _estimates(measured.readings)
        bounds = frequency.hard_bounds(measured.readings)
    except ValueError as error:
        raise EngineError(f"the counter cannot be calibrated: {error}") from error
    rows = [_row(phrase("two points"), two, phrase("√2·σ/T of the narrowest readings near both ends"))]
    if fit is not None:
        rows.append(_row(phrase("least squares"), fit.frequency, phrase("{at_s} readings", at_s=len(fit.at_s))))
    if bounds is not None:
        rows.append(_bounds_row(bounds))
    else:
        text = phrase("no single line goes through all readings: the rate changed, or one of the clocks was stepped")
        flags.append(Flag(name="not-one-rate", text=text))
    best = two if fit is None else fit.frequency
    rows.append(_readings_row(measured.readings, best, fit))
    rows += _kernel_rows(measured.kernel, best, real)
    clock = difference_clock(measured.readings, best)
    remarks = [
        phrase("reference: {described}", described=recorded(described)),
        phrase(
            "difference clock (never stepped): the rate that these readings give makes an "
            "interval uncertain by {relative_error:.3g} ppb (k = 1), to which the wander of the "
            "oscillator adds",
            relative_error=clock.relative_error * 1e9,
        ),
    ]
    if real:
        remarks.append(
            phrase("the uncertainty leaves out the reference's own error of rate, which cannot be seen here")
        )
    return Result(
        measurement=NAME,
        title=phrase("{counter} against {described}", counter=counter, described=recorded(described)),
        rows=rows,
        flags=flags,
        remarks=remarks,
    )


def best_frequency(measured: Measured) -> Frequency:
    """The figures of a calibration that are kept for later runs."""
    return frequency.estimate(measured.readings)


def residuals(measured: Measured) -> Fit | None:
    """For a plot; None where there are too few readings for a line."""
    return _estimates(measured.readings)[1]


def difference_clock(readings: Sequence[Reading], start: Frequency) -> DifferenceClock:
    """A difference clock that has learnt the rate from these readings."""
    clock = DifferenceClock(readings[0], 1e9 / start.hz)
    for reading in readings[1:]:
        clock.learn(reading)
    return clock


def _estimates(readings: Sequence[Reading]) -> tuple[Frequency, Fit | None]:
    if len(readings) < frequency.READINGS_FOR_A_LINE:
        return frequency.two_point(readings), None
    fit = frequency.least_squares(readings)
    return frequency.two_point(readings, frequency.read_error_ns(fit)), fit


def _row(name: str, found: Frequency, remark: str) -> Row:
    return Row(
        case=name,
        group=phrase("Frequency by"),
        figures={
            "frequency": budget.figure(found.hz, "Hz", _parts(found)),
            "relative_uncertainty": _in_words(2e9 * found.relative),
        },
        remark=remark,
    )


def _parts(found: Frequency) -> list[Contribution]:
    parts = [budget.normal(phrase("readings: scatter"), found.scatter_hz)]
    if found.ways_hz:
        parts.append(budget.normal(phrase("readings: possible change of path delays"), found.ways_hz, kind="B"))
    return parts


def _in_words(ppb: float) -> Quantity:
    """An uncertainty as a figure of its own, without an uncertainty itself: two digits."""
    return Quantity(value=float(f"{ppb:.2g}"), unit="ppb", uncertainty=0.0)


def _bounds_row(bounds: tuple[float, float]) -> Row:
    middle = (bounds[0] + bounds[1]) / 2
    return Row(
        case=phrase("hard bounds"),
        group=phrase("Frequency by"),
        figures={
            "frequency": Quantity(
                value=middle,
                unit="Hz",
                uncertainty=(bounds[1] - bounds[0]) / 2,
                interval=Interval(lower=bounds[0], upper=bounds[1], confidence=1.0),
            ),
            "relative_uncertainty": _in_words((bounds[1] - bounds[0]) / 2 / middle * 1e9),
        },
        remark=phrase("all lines through all brackets; a clock may have been read anywhere within its bracket"),
    )


def _readings_row(readings: Sequence[Reading], best: Frequency, fit: Fit | None) -> Row:
    widths = sorted(reading.width / best.hz * 1e9 for reading in readings)
    span_ns = readings[-1].reference_ns - readings[0].reference_ns
    figures = {
        "readings": Quantity(value=len(readings), unit="readings", uncertainty=0.0),
        "over": Quantity(value=span_ns, unit="ns", uncertainty=0.0),
        "narrowest_bracket": Quantity(value=widths[0], unit="ns", uncertainty=0.0, covers="observed"),
        "median_bracket": Quantity(value=widths[len(widths) // 2], unit="ns", uncertainty=0.0, covers="observed"),
    }
    if fit is not None:
        figures["residual"] = Quantity(value=frequency.read_error_ns(fit), unit="ns")
    return Row(case=phrase("all"), group=phrase("Readings"), figures=figures)


def _kernel_rows(kernel: Sequence[Reading], best: Frequency, real: bool) -> list[Row]:
    """By how much CLOCK_MONOTONIC_RAW, which is never steered, runs fast against the reference."""
    if not real:
        return []
    try:
        own = frequency.two_point(kernel)
    except ValueError:
        return []
    fast = best.hz / own.hz - 1
    parts = [
        budget.normal(phrase("frequency of the counter"), best.relative * 1e9),
        budget.normal(phrase("readings of CLOCK_MONOTONIC_RAW"), own.relative * 1e9),
    ]
    return [
        Row(
            case="CLOCK_MONOTONIC_RAW",
            group=phrase("Clock"),
            figures={"runs_fast_by": budget.figure(fast * 1e9, "ppb", parts)},
            remark=phrase("against the reference"),
        )
    ]
