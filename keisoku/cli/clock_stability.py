"""`keisoku clock stability` and `keisoku clock analyse`: log a clock for days, and tell its stability from the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME

import click
import pyarrow as pa
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from keisoku.cli.observation import new_directory, publish
from keisoku.cli.options import seconds
from keisoku.clock.host_clocks import host_clocks
from keisoku.clock.opening import choose, counter, open_reference
from keisoku.clock.phase_file import UNITS, read_phase
from keisoku.clock.phase_log import PhaseLog, from_phase
from keisoku.clock.reading import Reading, narrowest
from keisoku.clock.reference import KERNEL, Reference, flags
from keisoku.clock.reference_local import CLOCKS, bracket
from keisoku.clock.stability import KIND, Clock, stability
from keisoku.clock.stability_log import NS_PER_S, Logger, host_flags, logged, place
from keisoku.errors import KeisokuError, PlanError
from keisoku.record.observation import Flag, Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.report.stability_plot import stability_plots

PHASE = "phase"
"""Table of a run that was made from a file of phase."""
COUNTER = "counter"
MEASURED = {
    "realtime": CLOCK_REALTIME,
    "monotonic": CLOCK_MONOTONIC,
    "raw": CLOCK_MONOTONIC_RAW,
    "boottime": CLOCK_BOOTTIME,
}
"""Clocks that can be measured, besides the counter."""
_EVERY_MIN_S = 0.001
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TRIES = 16
