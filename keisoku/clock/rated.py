"""The rate of the clock in figures that are intervals, or come from intervals: of paths, mostly.

Pure. A rate that is wrong by a share makes every time and every bandwidth wrong by that share, so one rule serves all.
"""

from __future__ import annotations

import math

from pydantic import TypeAdapter

from keisoku.analysis.quantity import Quantity
from keisoku.clock.rate import Rate
from keisoku.run.observation import Interval, Observation, ObservedRow

_TIMES = frozenset({"ns", "s", "ns/byte"})
UNITS = _TIMES | {"bit/s", "byte/s", "frames/s", "packets/s", "Hz"}
"""Figures of these units are as wrong as the second that they were measured with."""
KINDS = frozenset({"path-one-packet", "path-packet-pair"})
"""Measurements whose times are intervals by CLOCK_MONOTONIC or CLOCK_REALTIME, which are steered alike. A one-way
delay is none: it is a difference of two clocks, of which a rate says nothing."""
CONTEXT = "interval_clock"
"""Where a run keeps the rate that it was measured with."""
_RATE = TypeAdapter(Rate)


def to_context(rate: Rate) -> dict[str, object]:
    """For the context of a run, so that it can be analysed again without the machine it was measured on."""
    kept: dict[str, object] = _RATE.dump_python(rate, mode="json")
    return kept


def of_context(kept: object) -> Rate:
    """What `to_context` kept. Raises ValueError if it is something else."""
    return _RATE.validate_python(kept)


def rated(observation: Observation, rate: Rate) -> Observation:
    """The same with the rate taken off and in every budget and interval, and said once in the remarks."""
    rows = tuple(_row(row, rate) for row in observation.rows)
    flags = tuple(
        flag.model_copy(update={"figures": {name: _figure(figure, rate) for name, figure in flag.figures.items()}})
        for flag in observation.flags
    )
    remarks = (*observation.remarks, rate.statement) if rate.statement else observation.remarks
    return observation.model_copy(update={"rows": rows, "flags": flags, "remarks": remarks})


def _row(row: ObservedRow, rate: Rate) -> ObservedRow:
    figures = {name: _figure(figure, rate) for name, figure in row.figures.items()}
    intervals = {
        name: _interval(interval, row.figures[name], rate) if row.figures[name].unit in UNITS else interval
        for name, interval in row.intervals.items()
    }
    return row.model_copy(update={"figures": figures, "intervals": intervals})


def _figure(figure: Quantity, rate: Rate) -> Quantity:
    if figure.unit not in UNITS or figure.uncertainty == 0:
        return figure  # a count, a bound or a setting: nothing measured it
    return rate.with_rate(figure.model_copy(update={"value": figure.value * _factor(figure.unit, rate)}))


def _interval(interval: Interval, figure: Quantity, rate: Rate) -> Interval:
    """Each side in quadrature with the expanded uncertainty by the rate; the two are independent."""
    factor = _factor(figure.unit, rate)
    value = figure.value * factor
    of_rate = 2 * math.hypot(*(part.uncertainty for part in rate.contributions(value)))
    lower, upper = (end * factor for end in (interval.lower, interval.upper))
    return interval.model_copy(
        update={
            "lower": value - math.copysign(math.hypot(value - lower, of_rate), value - lower),
            "upper": value + math.copysign(math.hypot(upper - value, of_rate), upper - value),
        }
    )


def _factor(unit: str, rate: Rate) -> float:
    """A clock that runs fast shows intervals too long and whatever is divided by them too small."""
    share = rate.corrected(1.0)
    return share if unit in _TIMES else 1 / share
