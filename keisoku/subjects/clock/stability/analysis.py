"""How stable a clock was over a log: deviations with their intervals, MTIE, drift.

Every averaging time has at least three windows without common readings; noise is identified, never assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.language import phrase
from keisoku.subjects.clock.stability.averaging import ALL, DECADE, OCTAVE, listed, octaves
from keisoku.subjects.clock.stability.averaging import factors as factors_named
from keisoku.subjects.clock.stability.deviation import mtie, pooled_deviation, terms
from keisoku.subjects.clock.stability.flags import WINDOWS_MIN, log_flags, log_remarks
from keisoku.subjects.clock.stability.freedom import ADEV, HDEV, MDEV, Statistic, factors, freedom
from keisoku.subjects.clock.stability.freedom import pooled_freedom as joined_freedom
from keisoku.subjects.clock.stability.noise import identify
from keisoku.subjects.clock.stability.phase_log import PhaseLog, Stretch
from keisoku.subjects.clock.stability.power_law import NAMES, Floats
from keisoku.subjects.clock.stability.trend import trend

NAME = "clock stability"
UNITS = {
    "ppb": "adev mdev hdev frequency_std offset offset_from_mean_rate",
    "ns": "tdev mtie cumulated_drift wander reading_bound",
    "s": "duration",
    "": "readings missing",
    "Hz": "rate",
    "ppb/day": "linear_drift",
}
"""Figures of all rows, by their unit."""
TAU_GROUP, CLOCK_GROUP, STRETCH_GROUP = phrase("Averaging time"), phrase("Clock"), phrase("Stretch from")
_DAY_S = 86_400.0
_STATISTICS = (ADEV, MDEV, HDEV)


@dataclass(frozen=True)
class Clock:
    """Who was measured against whom."""

    name: str
    reference: str
    nominal_rate: float | None
    """Units per s that the clock should show (1e9: it shows ns; 1: its phase was logged); None if it has none."""


def stability(
    log: PhaseLog, clock: Clock, flags: Sequence[Flag] = (), remarks: Sequence[str] = (), tau: str = OCTAVE
) -> Result:
    """Everything that the log tells of the clock's stability. `flags` are what is known of its reference.

    Averaging times are those that `tau` names; raises PlanError if it names none or too many.
    """
    noises = {modified: _noises(log, modified) for modified in (False, True)}
    averaging = factors_named(tau, log.tau0_s, _longest(log))
    rows = [_tau_row(log, m, spread, noises) for m, spread in _spreads(log, averaging)]
    present = [row for row in rows if row.figures]
    return Result(
        measurement=NAME,
        title=phrase("{name} against {reference}", name=clock.name, reference=clock.reference),
        rows=[_clock_row(log, clock), *present, *_stretch_rows(log)],
        flags=[*flags, *log_flags(log, noises[False])],
        remarks=[*log_remarks(log, noises[False]), *_left_out(log, tau, present), *remarks],
    )


def _longest(log: PhaseLog) -> int:
    """The largest averaging factor: a third of the longest stretch."""
    return max(len(stretch.phase_s) for stretch in log.stretches) // WINDOWS_MIN


def _left_out(log: PhaseLog, tau: str, rows: Sequence[Row]) -> list[str]:
    """Of a list of averaging times, those for which the log is too short."""
    if tau in (OCTAVE, DECADE, ALL):
        return []
    shown = {round(row.at.value / log.tau0_s) for row in rows if row.at is not None}
    lacking = [f"{m * log.tau0_s:.12g} s" for m in sorted(listed(tau, log.tau0_s) - shown)]
    return (
        [phrase("The log is too short for averaging times of {lacking}.", lacking=", ".join(lacking))]
        if lacking
        else []
    )


def _spreads(log: PhaseLog, factors_of_log: Sequence[int]) -> list[tuple[int, float]]:
    """Every averaging factor and the MTIE there."""
    of_stretches = [list(mtie(stretch.phase_s, factors_of_log)) for stretch in log.stretches]
    return [
        (m, max((spread for spread in spreads if math.isfinite(spread)), default=math.nan))
        for m, *spreads in zip(factors_of_log, *of_stretches, strict=True)
    ]


def _noises(log: PhaseLog, averaged: bool) -> dict[int, int]:
    """α by powers of two, never growing: of a sum of power laws the longer averaging time sees the redder one."""
    longest = max(log.stretches, key=lambda stretch: stretch.readings).phase_s
    found: dict[int, int] = {}
    alpha = None
    for m in octaves(_longest(log)):
        here = identify(longest, m, averaged)
        if here is not None:
            alpha = here if alpha is None else min(alpha, here)
        if alpha is not None:
            found[m] = alpha
    return found


def _alpha(noises: dict[int, int], m: int) -> int | None:
    """That of the largest power of two which is not above m."""
    return noises.get(1 << (m.bit_length() - 1))


def _tau_row(log: PhaseLog, m: int, spread: float, noises: dict[bool, dict[int, int]]) -> Row:
    tau = m * log.tau0_s
    figures: dict[str, Quantity] = {}
    for statistic in _STATISTICS:
        value, bounds = _estimate(log, statistic, m, _alpha(noises[statistic.modified], m))
        if not math.isfinite(value):
            continue
        names = [(statistic.name, "ppb", 1e9)]
        if statistic is MDEV:
            names.append(("tdev", "ns", tau / math.sqrt(3.0) * 1e9))
        for name, unit, scale in names:
            figures[name] = Quantity(
                value=value * scale,
                unit=unit,
                uncertainty=_wider(value, bounds, scale),
                interval=bounds and Interval(lower=value * bounds[0] * scale, upper=value * bounds[1] * scale),
            )
    if math.isfinite(spread) and _windows(log, m + 1) >= WINDOWS_MIN:
        figures["mtie"] = Quantity(value=spread * 1e9, unit="ns")
    frequencies = _frequencies(log, m)
    if len(frequencies) >= WINDOWS_MIN:
        figures["frequency_std"] = Quantity(value=deviation(frequencies) * 1e9, unit="ppb")
    alpha = _alpha(noises[False], m)
    order = [name for name in ("adev", "mdev", "tdev", "hdev", "mtie", "frequency_std") if name in figures]
    return Row(
        case=f"{tau:.12g} s",
        group=TAU_GROUP,
        at=Quantity(value=tau, unit="s", uncertainty=0.0),
        figures={name: figures[name] for name in order},
        remark=NAMES[alpha] if alpha is not None else "",
    )


def _estimate(
    log: PhaseLog, statistic: Statistic, m: int, alpha: int | None
) -> tuple[float, tuple[float, float] | None]:
    """A deviation, and by what it is multiplied to get the ends of its interval; NaN if it is not known well enough."""
    if _windows(log, statistic.reach(m)) < WINDOWS_MIN:
        return math.nan, None
    found = [(stretch, terms(statistic, stretch.phase_s, m)) for stretch in log.stretches]
    used = [(stretch, part) for stretch, part in found if part.count]
    if sum(part.count for _, part in used) < WINDOWS_MIN:
        return math.nan, None
    value = pooled_deviation(statistic, [part for _, part in used], m * log.tau0_s)
    if alpha is None or value == 0.0:
        return value, None
    degrees = []
    for stretch, part in used:
        points = len(stretch.phase_s)
        there = part.count / (points - statistic.reach(m) + 1)
        degrees.append(freedom(statistic, alpha, m, points) * there)
    return value, factors(joined_freedom(degrees, [part.count for _, part in used]))


def _windows(log: PhaseLog, reach: int) -> int:
    """How many windows of `reach` phases, without common phases, the existing readings would fill."""
    return sum(stretch.readings // reach for stretch in log.stretches)


def _wider(value: float, bounds: tuple[float, float] | None, scale: float) -> float | None:
    """The wider side of the interval, for programs that want one number."""
    return None if bounds is None else value * max(bounds[1] - 1.0, 1.0 - bounds[0]) * scale


def _frequencies(log: PhaseLog, m: int) -> Floats:
    """Mean frequencies of windows of m intervals that follow each other."""
    found = [np.diff(stretch.phase_s[::m]) / (m * log.tau0_s) for stretch in log.stretches]
    joined_windows = np.concatenate(found)
    return np.asarray(joined_windows[np.isfinite(joined_windows)])


def _clock_row(log: PhaseLog, clock: Clock) -> Row:
    longest = max(log.stretches, key=lambda stretch: stretch.readings)
    found = trend(longest.phase_s, log.tau0_s)
    scale = log.rate / clock.nominal_rate if clock.nominal_rate else 1.0
    figures = {
        "duration": Quantity(value=log.span_s, unit="s", uncertainty=0.0),
        "readings": Quantity(value=log.readings, unit="", uncertainty=0.0),
        "missing": Quantity(value=log.missing, unit="", uncertainty=0.0),
    }
    uncertainty = found.offset_uncertainty
    if clock.nominal_rate is None:
        figures["rate"] = Quantity(
            value=log.rate * (1.0 + found.offset),
            unit="Hz",
            uncertainty=None if uncertainty is None else log.rate * uncertainty,
        )
    else:
        figures["offset"] = Quantity(
            value=(scale * (1.0 + found.offset) - 1.0) * 1e9,
            unit="ppb",
            uncertainty=None if uncertainty is None else uncertainty * 1e9,
        )
    figures["linear_drift"] = Quantity(
        value=found.drift * _DAY_S * 1e9,
        unit="ppb/day",
        uncertainty=None if found.drift_uncertainty is None else found.drift_uncertainty * _DAY_S * 1e9,
    )
    bound = None if log.bound_s is None else 2.0 * math.sqrt(2.0 / 3.0) * log.bound_s * 1e9
    phase = longest.phase_s
    if clock.nominal_rate is not None:
        change = float(phase[-1] - phase[0]) * scale + (scale - 1.0) * (len(phase) - 1) * log.tau0_s
        figures["cumulated_drift"] = Quantity(value=change * 1e9, unit="ns", uncertainty=bound)
    wander = _straightened(longest, log.tau0_s, found.offset)
    spread = float(np.nanmax(wander) - np.nanmin(wander))
    figures["wander"] = Quantity(value=spread * 1e9, unit="ns", uncertainty=bound)
    if log.bound_s is not None:
        figures["reading_bound"] = Quantity(value=log.bound_s * 1e9, unit="ns", uncertainty=0.0)
    remark = "" if len(log.stretches) == 1 else phrase("rate, drift and wander of the longest stretch")
    return Row(case=clock.name, group=CLOCK_GROUP, figures=figures, remark=remark)


def _straightened(stretch: Stretch, tau0_s: float, offset: float) -> Floats:
    """Phase without its mean slope."""
    return np.asarray(stretch.phase_s - offset * tau0_s * np.arange(len(stretch.phase_s)))


def _stretch_rows(log: PhaseLog) -> list[Row]:
    if len(log.stretches) == 1:
        return []
    rows = []
    for stretch in log.stretches:
        slope = trend(stretch.phase_s, log.tau0_s)
        rows.append(
            Row(
                case=f"{stretch.start_s:.12g} s",
                group=STRETCH_GROUP,
                figures={
                    "duration": Quantity(value=(len(stretch.phase_s) - 1) * log.tau0_s, unit="s", uncertainty=0.0),
                    "readings": Quantity(value=stretch.readings, unit="", uncertainty=0.0),
                    "offset_from_mean_rate": Quantity(
                        value=slope.offset * 1e9,
                        unit="ppb",
                        uncertainty=None if slope.offset_uncertainty is None else slope.offset_uncertainty * 1e9,
                    ),
                },
            )
        )
    return rows
