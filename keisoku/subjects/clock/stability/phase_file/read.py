"""The phase in a file of another program, as the user names it. Refuses what it would have to guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import check_regular
from keisoku.ground.run.result import Flag
from keisoku.language import plural
from keisoku.subjects.clock.stability.phase_file.columns import LOOKED_AT, read_array, read_columns
from keisoku.subjects.clock.stability.phase_file.grid import grid
from keisoku.subjects.clock.stability.phase_file.ntp_daemon import daemon_form, read_daemon
from keisoku.subjects.clock.stability.phase_file.recorded import FREQUENCY, UNITS, Recorded, shown_lines
from keisoku.subjects.clock.stability.phase_file.servo import is_servo, read_servo
from keisoku.subjects.clock.stability.phase_log import Integers
from keisoku.subjects.clock.stability.power_law import Floats

MOST_RATE = 0.01
"""Of a clock against its reference. The worst oscillators of watches and of chips without a crystal stay below 1 %."""


@dataclass(frozen=True)
class FilePhase:
    """Phase on a grid, and how it was read."""

    tau0_s: float
    place: Integers
    """Of each phase on the grid, rising."""
    phase_s: Floats
    """NaN where the file says that it is missing."""
    form: str
    """Program whose form it is; empty for columns of numbers."""
    column: str
    """Name of the column of the phase, or its number from 1."""
    unit: str
    timed: bool
    """Whether the file has times, by which gaps are seen."""
    flags: tuple[Flag, ...]


def read_phase(
    path: Path, unit: str | None = None, tau0_s: float | None = None, column: str | None = None
) -> FilePhase:
    """The phase of a file; its unit, interval and column are those of the file where they are not given.

    Raises PlanError if the file is none of the forms, is ambiguous, or contradicts what is given.
    """
    if unit is not None and unit not in UNITS:
        raise PlanError("unit", f"there is no unit {unit!r}", f"use one of {', '.join(UNITS)}")
    check_regular("file", path)
    try:
        found = _recorded(path, column)
    except OSError as error:
        raise PlanError("file", f"cannot read {path}: {error.strerror}", "give a readable file") from error
    except (ValueError, EOFError) as error:
        raise PlanError("file", _no_numbers(path, error), "give one phase a line, or time and phase") from error
    chosen = found.chosen(column)
    written = found.columns[chosen]
    named = written.name or str(chosen + 1)
    if written.unit == FREQUENCY:
        raise PlanError("column", f"'{named}' of {path} is a frequency, not a phase", "name a column of phase")
    if unit is not None and written.unit in UNITS and written.unit != unit:
        raise PlanError("unit", f"'{named}' of {path} is in {written.unit}, not in {unit}", "leave it out")
    if np.isinf(written.values).any():
        raise PlanError("file", f"{path} holds infinite phases", "write nan for what is missing")
    used = unit or written.unit or "s"
    phase_s = written.values * UNITS.get(used, 1.0)
    timed = found.times is not None and found.time_column != chosen
    if found.tau0_s is not None and not (found.tau0_s > 0 and np.isclose(found.tau0_s, tau0_s or found.tau0_s)):
        raise PlanError("tau0", f"the head of {path} says {found.tau0_s:g} s", "give that, or nothing")
    tau0_s = tau0_s or found.tau0_s
    flags = list(found.flags)
    if timed and found.times is not None:
        on_grid = grid(found.times, found.time_units_s, found.resolution, tau0_s)
        tau0_s, place = on_grid.tau0_s, on_grid.place
        phase_s = phase_s - _frequency(phase_s, on_grid.since_s) * on_grid.late_s
        if shared := int(np.count_nonzero(np.diff(place) == 0)):
            text = plural(
                "{count} reading came in the interval of the one before it and is left out",
                "{count} readings came in the interval of the one before them and are left out",
                count=shared,
            )
            flags.append(Flag(name="uneven-times", text=text))
    elif tau0_s is None:
        raise PlanError("tau0", f"it is not given, and {path} has no times", "give the time from one phase to the next")
    else:
        place = np.arange(len(phase_s), dtype=np.int64)
    if unit is None and not written.unit:
        _check_seconds(path, phase_s, place, tau0_s)
    return FilePhase(tau0_s, place, phase_s, found.form, named, used, timed, tuple(flags))


def _check_seconds(path: Path, phase_s: Floats, place: Integers, tau0_s: float) -> None:
    """Raises PlanError if phases without a unit change by more than any clock's, taken as seconds."""
    steps = np.abs(np.diff(phase_s)) / (np.diff(place).clip(1) * tau0_s)
    usual = float(np.median(steps[np.isfinite(steps)])) if np.isfinite(steps).any() else 0.0
    if usual > MOST_RATE:
        problem = f"it is not given, and as seconds the phases of {path} change by {100 * usual:.3g} % of the time"
        raise PlanError("unit", problem, "give the unit of the phases, such as ns")


def _recorded(path: Path, column: str | None) -> Recorded:
    if path.suffix == ".npy":
        return read_array(np.asarray(np.load(path, allow_pickle=False), np.float64))
    first = list(islice(_lines(path), LOOKED_AT))
    if any(is_servo(line) for line in first):
        return read_servo(_lines(path))
    forms = {form for line in first if (form := daemon_form(line))}
    if len(forms) == 1:
        return read_daemon(forms.pop(), _lines(path))
    return read_columns(_lines(path), column)


def _lines(path: Path) -> Iterator[str]:
    """Without a byte order mark."""
    with path.open(encoding="utf-8-sig") as file:
        yield from file


def _no_numbers(path: Path, error: Exception) -> str:
    problem = f"{path} is no list of numbers: {str(error).partition(chr(10))[0].rstrip('.')}"
    try:
        first = [line for line in islice(_lines(path), LOOKED_AT) if line.strip()] if path.suffix != ".npy" else []
    except (ValueError, OSError):
        first = []
    return f"{problem}: {shown_lines(first)}" if first else problem


def _frequency(phase_s: Floats, since_s: Floats) -> float:
    """By which a phase that was read late is brought to its place, as a log of readings is."""
    present = np.isfinite(phase_s)
    rates = np.diff(phase_s[present]) / np.diff(since_s[present])
    return float(np.median(rates)) if len(rates) else 0.0
