"""Marks of the reference input with the instrument's timestamps: PPS or 10 MHz. Computes no frequency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from keisoku.errors import EngineError
from keisoku.ground.fpga.instrument import Instrument

ReferenceSignal = Literal["pps", "10mhz"]
PERIODS_NS: dict[ReferenceSignal, float] = {"pps": 1e9, "10mhz": 100.0}
TICK_NS = 320 / 41
"""Period of the time base, which is the step of its timestamps."""
_LEAST_TIMEOUT_TICKS = 64
_TIMEOUT_PERIODS = 1.5
_PATIENCE_MARKS = 3
_WRAP = 1 << 48


@dataclass(frozen=True, slots=True)
class Stamped:
    """A mark of a series: its number, and its time on the instrument's clock since the first one's."""

    number: int
    time_ns: int


def marks(instrument: Instrument, kind: ReferenceSignal, period_ns: float, edges: int, count: int) -> Iterator[Stamped]:
    """`count` marks, each `edges` periods of the reference after the one before, yielded as they arrive.

    Raises EngineError if no mark comes, or the reference fails between two of them.
    """
    timeout = max(round(_TIMEOUT_PERIODS * period_ns / TICK_NS), _LEAST_TIMEOUT_TICKS)
    instrument.watch_reference(kind == "10mhz", edges, timeout)
    mark_ns = round(edges * period_ns)
    losses, first, elapsed_ns, last_ns = 0, 0, 0, 0
    for place in range(count):
        mark = instrument.next_mark()
        patience_ns = _PATIENCE_MARKS * mark_ns + instrument.least_pause_ns
        pause_ns = max(mark_ns // 4, instrument.least_pause_ns)
        while mark is None:
            if patience_ns <= 0:
                raise EngineError(f"there is no {kind} at the reference input of {instrument.name}: check its cable")
            instrument.let_pass(min(pause_ns, patience_ns))
            patience_ns -= pause_ns
            mark = instrument.next_mark()
        if place == 0:
            losses, first, last_ns = mark.losses, mark.number, mark.time_ns
        if mark.losses != losses:
            raise EngineError(f"the reference of {instrument.name} failed after {place} marks: check its cable")
        elapsed_ns += (mark.time_ns - last_ns) % _WRAP
        last_ns = mark.time_ns
        yield Stamped(mark.number - first, elapsed_ns)
