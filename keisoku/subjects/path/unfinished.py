"""The parts that are missing in a run that was stopped before its end, as one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.run.result import Flag
from keisoku.language import join_texts, phrase

UNFINISHED = "unfinished"


def unfinished(present: Sequence[str], missing: Sequence[str]) -> Flag:
    """`present`: stages with data, in their order; the last one may be cut short."""
    parts = [phrase("nothing was measured of {listed}", listed=_listed(missing))] if missing else []
    parts += [phrase("the data of {present} may be incomplete", present=present[-1])] if present else []
    return Flag(
        name=UNFINISHED,
        text=phrase("the measurement was stopped before its end: {parts}", parts=_both(parts)),
    )


def _both(parts: Sequence[str]) -> str:
    return phrase("{first}, and {second}", first=parts[0], second=parts[1]) if len(parts) > 1 else join_texts("", parts)


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return phrase("{most} and {last}", most=join_texts(", ", most), last=last) if most else last
