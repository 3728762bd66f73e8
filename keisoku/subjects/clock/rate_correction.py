"""The rate of the clock in figures that are intervals or computed from intervals, mostly of paths.

A rate that is wrong by a share makes every time and every bandwidth wrong by that share, so one rule serves all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import TypeAdapter

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.clock.interval_clock import interval_rate
from keisoku.subjects.clock.rate import Rate

_TIMES = frozenset({"ns", "s", "ns/byte"})
UNITS = _TIMES | {"bit/s", "byte/s", "frames/s", "packets/s", "Hz"}
"""Figures of these units have the relative error of the clock that measured them."""
CONTEXT = "interval_clock"
"""Where a run keeps the rate that it was measured with."""
_RATE = TypeAdapter(Rate)


def context(rate: Rate | None = None) -> dict[str, object]:
    """For the context of a run, so that it can be analysed again without the machine it was measured on.

    For measurements whose times are intervals by CLOCK_MONOTONIC or CLOCK_REALTIME, which are steered alike. A one-way
    delay is none: it is a difference of two clocks, of which a rate says nothing.
    """
    return {CONTEXT: _RATE.dump_python(interval_rate() if rate is None else rate, mode="json")}


def with_rate_of(directory: RunDirectory, result: Result) -> Result:
    """The result with the rate of the clock that its run was measured with. Raises ValueError if it is damaged."""
    return correct_for_rate(result, _RATE.validate_python(directory.context[CONTEXT]))


def correct_for_rate(result: Result, rate: Rate) -> Result:
    """The result corrected for the rate, with the rate in every budget and interval and once in the remarks."""
    remarks = [*result.remarks, rate.statement] if rate.statement else result.remarks
    return result.model_copy(
        update={
            "rows": [row.model_copy(update={"figures": _figures(row.figures, rate)}) for row in result.rows],
            "flags": [flag.model_copy(update={"figures": _figures(flag.figures, rate)}) for flag in result.flags],
            "remarks": remarks,
        }
    )


def _figures(figures: Mapping[str, Quantity], rate: Rate) -> dict[str, Quantity]:
    return {name: _figure(figure, rate) for name, figure in figures.items()}


def _figure(figure: Quantity, rate: Rate) -> Quantity:
    if figure.unit not in UNITS or (figure.uncertainty == 0 and figure.interval is None):
        return figure  # a count, a bound or a setting: nothing measured it
    rated = rate.with_rate(figure.model_copy(update={"value": figure.value * _factor(figure.unit, rate)}))
    if figure.interval is None:
        return rated
    return rated.model_copy(update={"interval": _interval(figure.interval, figure, rate)})


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
