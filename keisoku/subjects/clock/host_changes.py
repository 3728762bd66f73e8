"""What happened to the kernel's clocks between two readings of them: another source, a suspend, a step, other steering.

A change is reported only if the bounds prove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from keisoku.ground.run.result import Flag
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.subjects.clock.host_clocks import HostClocks


def change_flags(looks: Sequence[HostClocks]) -> list[Flag]:
    """One flag for each kind of change between neighbouring readings of the state, with its total."""
    flags = []
    sources = list(dict.fromkeys(look.clock_source for look in looks))
    if len(sources) > 1:
        change = " to ".join(sources)
        text = phrase(
            "the kernel changed its clock source ({change}): figures before and after belong to different clocks",
            change=change,
        )
        flags.append(Flag(name="clock-source-switched", text=text))
    if suspended := _moved([look.suspended_ns for look in looks]):
        text = phrase("the host was suspended: the counter may have stopped or restarted")
        flags.append(Flag(name="suspended", text=text, figures={"for": _ns(suspended)}))
    if stepped := _moved([look.realtime_ns for look in looks]):
        flags.append(
            Flag(name="time-stepped", text=phrase("the time of day was stepped"), figures={"by": _ns(stepped)})
        )
    frequencies = [look.steering.frequency_ppb for look in looks]
    if frequencies and max(frequencies) > min(frequencies):
        text = phrase("the kernel's clock was steered to another rate meanwhile")
        by = Quantity(value=max(frequencies) - min(frequencies), unit="ppb", uncertainty=0.0, covers="observed")
        flags.append(Flag(name="steered", text=text, figures={"by": by}))
    return flags


def _moved(bounds: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Sum of the steps that are proven, as bounds; None if there is none."""
    low = high = 0
    proven = False
    for before, after in pairwise(bounds):
        step = after[0] - before[1], after[1] - before[0]
        if step[0] > 0 or step[1] < 0:
            low, high, proven = low + step[0], high + step[1], True
    return (low, high) if proven else None


def _ns(bounds: tuple[int, int]) -> Quantity:
    return Quantity(value=(bounds[0] + bounds[1]) / 2, unit="ns", uncertainty=(bounds[1] - bounds[0]) / 2)
