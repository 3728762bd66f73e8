"""Logs of LinuxPTP's servos: ptp4l, phc2sys and ts2phc, from the terminal, syslog or the journal.

The offset is in ns, as linuxptp's print.c, clock.c and phc2sys.c write it; the stamp is CLOCK_MONOTONIC in s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from keisoku.errors import PlanError
from keisoku.subjects.clock.stability.phase_file.recorded import FREQUENCY, Column, Recorded, shown_lines, steered

_HEAD = r"\b(?P<program>ptp4l|phc2sys|ts2phc)(?:\[[\d.:]+\])?:? +(?:\[(?P<inner>\d+\.\d+)[\d:]*\]:? *)?"
_OFFSET = re.compile(
    _HEAD + r"(?P<clock>.*?)\boffset +(?P<offset>[+-]?\d+) +s\d+ +freq +(?P<freq>[+-]?\d+)"
    r"(?: +(?:path +)?delay +(?P<delay>[+-]?\d+))?\s*$"
)
_STAMP = re.compile(r"\b(?:ptp4l|phc2sys|ts2phc)\[(\d+\.\d+)[\d:]*\]:")
_SUMMARY = re.compile(_HEAD + r".*\brms +\d+ +max +\d+")
_RESOLUTION_S = 1e-3


def is_servo(line: str) -> bool:
    """Whether a servo wrote this line about an offset."""
    return bool(_OFFSET.search(line) or _SUMMARY.search(line))


def read_servo(lines: Iterable[str]) -> Recorded:
    """Offset, frequency and path delay. Raises PlanError for a log of several clocks, or of summaries only."""
    rows, first, clocks = [], list[str](), dict[str, None]()
    for line in lines:
        if found := _OFFSET.search(line):
            stamp = found["inner"] or (said[1] if (said := _STAMP.search(line)) else "nan")
            rows.append((float(stamp), float(found["offset"]), float(found["freq"]), float(found["delay"] or "nan")))
            clocks[" ".join((found["program"], *found["clock"].split()))] = None
            first += [line] if len(first) < 2 else []
        elif not rows and _SUMMARY.search(line):
            first = first or [line]
    if not rows:
        problem = f"it holds only summaries of many offsets (rms, max): {shown_lines(first)}"
        raise PlanError("file", problem, "log each offset: set summary_interval to the interval of Sync")
    if len(clocks) > 1:
        raise PlanError("file", f"it holds {len(clocks)} clocks: {', '.join(clocks)}", "keep the lines of one clock")
    table = np.array(rows)
    program = next(iter(clocks)).split()[0]
    columns = [Column("offset", table[:, 1], "ns"), Column("freq", table[:, 2], FREQUENCY)]
    if np.isfinite(table[:, 3]).any():
        columns.append(Column("path delay" if program == "ptp4l" else "delay", table[:, 3], "ns"))
    return Recorded(
        form=program,
        columns=tuple(columns),
        phase=0,
        times=table[:, 0] if np.isfinite(table[:, 0]).all() else None,
        resolution=_RESOLUTION_S,
        first_lines=tuple(first),
        flags=(steered(program),),
    )
