"""Phase that another program logged: a text file of numbers, or NumPy's own format. Never guesses a unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import check_regular
from keisoku.subjects.clock.stability.phase_log import PhaseLog, from_phase
from keisoku.subjects.clock.stability.power_law import Floats

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Names of units, in s."""


def read_phase(path: Path, unit: str = "s") -> Floats:
    """Phase in s, one value a line (the last column of several; '#' begins a comment, 'nan' is missing), or .npy.

    Columns are separated by blanks, or by commas. Raises PlanError if the file holds something else.
    """
    if unit not in UNITS:
        raise PlanError("unit", f"there is no unit {unit!r}", f"use one of {', '.join(UNITS)}")
    check_regular("file", path)
    try:
        values = np.load(path, allow_pickle=False) if path.suffix == ".npy" else _numbers(path)
        phase = np.asarray(values, np.float64)
    except OSError as error:
        raise PlanError("file", f"cannot read {path}: {error.strerror}", "give a readable file") from error
    except ValueError as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise PlanError("file", f"{path} is no list of numbers: {reason}", "give one phase a line") from error
    if phase.ndim != 1:
        raise PlanError("file", f"{path} holds no single column of numbers", "give one phase a line")
    if np.isinf(phase).any():
        raise PlanError("file", f"{path} holds infinite phases", "write nan for what is missing")
    return phase * UNITS[unit]


def read_log(path: Path, tau0_s: float, unit: str = "s") -> PhaseLog:
    """The same as a log with `tau0_s` between its lines."""
    return from_phase(read_phase(path, unit), tau0_s)


def _numbers(path: Path) -> Floats:
    with path.open(encoding="utf-8") as file:
        first = next((line for line in file if line.strip() and not line.lstrip().startswith("#")), "")
    delimiter = "," if "," in first else None
    columns = len(first.split(delimiter)) if first else 0
    if not columns:
        raise ValueError("it is empty")
    return np.loadtxt(path, delimiter=delimiter, usecols=columns - 1, ndmin=1, encoding="utf-8")
