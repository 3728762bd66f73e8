"""The parts that are missing in a run that was stopped before its end, as one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.run.result import Flag

UNFINISHED = "unfinished"


def unfinished(present: Sequence[str], missing: Sequence[str]) -> Flag:
    """`present`: stages with data, in their order; the last one may be cut short."""
    parts = [f"nothing was measured of {_listed(missing)}"] if missing else []
    parts += [f"the data of {present[-1]} may be incomplete"] if present else []
    return Flag(name=UNFINISHED, text=f"the measurement was stopped before its end: {', and '.join(parts)}")


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
