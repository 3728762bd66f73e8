"""The only place that formats a figure: unit, rounding, uncertainty.

No digit below the uncertainty is ever shown, and an unknown uncertainty is marked. A figure that is only a bound says
so. No other module may format a `Quantity`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from keisoku.ground.statistics.difference import ROUNDING, without_rounding
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase

SCALES: dict[str, tuple[tuple[int, str], ...]] = {
    "ns": ((0, "ns"), (3, "µs"), (6, "ms"), (9, "s")),
    "ns/s": ((0, "ns/s"), (3, "µs/s"), (6, "ms/s")),
    "frames/s": ((0, "frames/s"), (3, "kframes/s"), (6, "Mframes/s"), (9, "Gframes/s")),
    # Differences between frequencies, down to those between the best clocks.
    "ppb": ((-9, "×10⁻¹⁸"), (-6, "×10⁻¹⁵"), (-3, "×10⁻¹²"), (0, "ppb"), (3, "ppm")),
    "bit/s": ((0, "bit/s"), (3, "kb/s"), (6, "Mb/s"), (9, "Gb/s"), (12, "Tb/s")),
}
"""Powers of ten and the unit's name there; any other unit is shown as it is."""

DIGITS_UNKNOWN = 4
"""Significant digits of a value with an unknown uncertainty, and of a bound."""
DIGITS_EXACT = 7
DIGITS_REAL = 10
"""A bound is rounded to so many digits first: those after them can be from the arithmetic."""
WIDE = Context(prec=700, rounding=ROUND_HALF_EVEN)
"""Enough for any float written out in full; the default precision refuses large ones."""
THIN_SPACE = "\u202f"
UNKNOWN_MARK, EXACT_MARK, RESOLUTION_MARK, OBSERVED_MARK = "†", "‡", "§", "¶"
MARKS = {
    UNKNOWN_MARK: phrase("uncertainty not known"),
    EXACT_MARK: phrase("exact (a count, or a setting)"),
    RESOLUTION_MARK: phrase("resolution of this run alone; how much the figure varies between runs is not known"),
    OBSERVED_MARK: phrase("observed in this run; of what other runs would observe only this bound is known"),
}
_COVERED = {"resolution": RESOLUTION_MARK, "observed": OBSERVED_MARK}


@dataclass(frozen=True)
class Digits:
    """A figure as text. `uncertainty` is empty if the value is exact, a bound, or its uncertainty not known."""

    value: str
    uncertainty: str
    unit: str
    mark: str
    """One of `MARKS`, or empty if an uncertainty, an interval or a bound is shown."""
    ends: str = ""
    """'5.1 … 5.9', of an interval that is not symmetrical."""
    bound: str = ""
    """'at least' or 'at most'."""

    @property
    def number(self) -> str:
        """'12.34', 'at least 0.57': without uncertainty and unit."""
        return _bounded(self.bound, self.value)

    @property
    def short(self) -> str:
        """'12.34', '≥ 0.57', '12.3†': where `interval` has a line of its own, and a column must be narrow."""
        sign = {"": "", "at least": "≥ ", "at most": "≤ "}[self.bound]
        return f"{sign}{self.value}{self.mark}"

    @property
    def interval(self) -> str:
        """'5.1 … 5.9', '± 0.05', or empty if none is shown."""
        return self.ends or (f"± {self.uncertainty}" if self.uncertainty else "")

    @property
    def compact(self) -> str:
        """'12.34 ± 0.05', '5.4 (5.1 … 5.9)', '12.3†' or 'at least 0.57', for a table whose header names the unit."""
        if self.ends:
            return f"{self.value} ({self.ends}){self.mark}"
        if self.uncertainty:
            return f"{self.number} ± {self.uncertainty}{self.mark}"
        return join_texts("", [self.number, self.mark]) if self.mark else self.number


def digits(quantity: Quantity, unit: str | None = None) -> Digits:
    """Rounds `quantity` to its uncertainty, in `unit` (a name of `SCALES`) or the one that suits it.

    The uncertainty keeps one significant digit, two if it starts with 1 or 2 (GUM 7.2.6). One that is only from the
    arithmetic is not shown. A bound is rounded to the side on which it remains true. A value that is not finite is
    shown as a dash. Raises KeyError if `unit` is of another kind.
    """
    power, name = _scale(quantity.unit, unit, _magnitude(quantity))
    if not math.isfinite(quantity.value):
        return Digits("–", "", name, "")
    value = Decimal(repr(quantity.value)).scaleb(-power)
    mark = _COVERED.get(quantity.covers, "")
    if quantity.bound:
        return Digits(_rounded_bound(value, quantity.bound), "", name, mark, bound=quantity.bound)
    uncertainty, interval = quantity.uncertainty, quantity.interval
    if quantity.covers == "repetitions":
        uncertainty = interval = None
    if interval is not None and (shown := _with_ends(quantity, interval, name, mark)):
        return shown
    if uncertainty is None or not math.isfinite(uncertainty) or uncertainty < 0:
        return Digits(_significant(value, DIGITS_UNKNOWN), "", name, UNKNOWN_MARK)
    if without_rounding(quantity).uncertainty == 0:
        # What is computed from points without scatter is no count.
        mark = mark or (RESOLUTION_MARK if uncertainty else EXACT_MARK)
        return Digits(_significant(value, DIGITS_EXACT), "", name, mark)
    error = Decimal(repr(uncertainty)).scaleb(-power)
    place = _place(error)
    return Digits(_plain(value.quantize(place, context=WIDE)), _plain(error.quantize(place, context=WIDE)), name, mark)


def text(quantity: Quantity) -> str:
    """One figure in a sentence: '12.34 ± 0.05 µs', '811 ns (exact)', '12.3 µs (uncertainty unknown)',
    'at least 570.5 kframes/s', '571 kframes/s (resolution ± 2 %)', '0.42 ± 0.01 ms, observed'."""
    shown = digits(quantity)
    if quantity.covers == "observed":
        figure = text(quantity.model_copy(update={"covers": ""})) if shown.uncertainty or shown.ends else ""
        return phrase("{figure}, observed", figure=figure or f"{shown.value} {shown.unit}")
    if shown.mark == RESOLUTION_MARK and not (shown.uncertainty or shown.ends):
        return phrase("{figure} (in this run)", figure=_bounded(shown.bound, f"{shown.value} {shown.unit}"))
    if shown.mark == RESOLUTION_MARK:
        figure = f"{shown.value} {shown.unit}"
        return phrase("{figure} (resolution {resolution})", figure=figure, resolution=_resolution(quantity, shown))
    if shown.ends:
        return f"{shown.compact} {shown.unit}"
    if shown.uncertainty:
        return f"{shown.value} ± {shown.uncertainty} {shown.unit}"
    figure = _bounded(shown.bound, f"{shown.value} {shown.unit}")
    if shown.mark == UNKNOWN_MARK:
        return phrase("{figure} (uncertainty unknown)", figure=figure)
    return phrase("{figure} (exact)", figure=figure) if shown.mark == EXACT_MARK else figure


def value_text(quantity: Quantity) -> str:
    """The value and its unit in at most four digits, for sentences beside a table with uncertainties."""
    known = digits(quantity)
    unknown = digits(quantity.model_copy(update={"uncertainty": None, "interval": None}), known.unit)
    figures = sum(character.isdigit() for character in known.value.lstrip("−0."))
    shown = known if figures <= DIGITS_UNKNOWN else unknown
    return _bounded(shown.bound, f"{shown.value} {known.unit}")


def _bounded(bound: str, figure: str) -> str:
    if not bound:
        return figure
    if bound == "at least":
        return phrase("at least {figure}", figure=figure)
    return phrase("at most {figure}", figure=figure)


def significant(value: float, figures: int) -> str:
    """`value`, of any unit, with so many significant digits at most, written without an exponent."""
    return _significant(Decimal(repr(value)), figures) if math.isfinite(value) else "–"


def column(quantities: Sequence[Quantity | None]) -> tuple[str, list[Digits | None]]:
    """A table's column in one unit: the unit for its head and the cells.

    Raises ValueError if the quantities are not of one unit.
    """
    known = [quantity for quantity in quantities if quantity is not None]
    units = {quantity.unit for quantity in known}
    if len(units) > 1:
        raise ValueError(f"one column cannot hold {' and '.join(sorted(units))}")
    if not known:
        return "", [None] * len(quantities)
    _, unit = _scale(known[0].unit, None, max(_magnitude(quantity) for quantity in known))
    return unit, [None if quantity is None else digits(quantity, unit) for quantity in quantities]


def scale(unit: str, magnitude: float) -> tuple[float, str]:
    """For an axis up to `magnitude`: the divisor of the values, and the unit's name after division."""
    power, name = _scale(unit, None, magnitude)
    return 10.0**power, name


def count(frames: int) -> str:
    """A whole number with thin spaces between thousands (ISO 80000-1 §7.3.1)."""
    return f"{frames:,}".replace(",", THIN_SPACE)


def _with_ends(quantity: Quantity, interval: Interval, unit: str, mark: str) -> Digits | None:
    """All three rounded to the last digit of the narrower side that has a width; None for an interval that is not
    finite, does not contain the value or has no width."""
    sides = quantity.value - interval.lower, interval.upper - quantity.value
    noise = ROUNDING * abs(quantity.value)
    width = min((side for side in sides if side > noise), default=0.0)
    if not math.isfinite(interval.upper - interval.lower) or min(sides) < -noise or not width:
        return None
    value, lower, upper = (
        digits(Quantity(value=each, unit=quantity.unit, uncertainty=width), unit)
        for each in (quantity.value, interval.lower, interval.upper)
    )
    # Zero is exact, whatever the interval: 0.0000 would say the opposite.
    numbers = [
        "0" if each == 0 else shown.value
        for each, shown in ((quantity.value, value), (interval.lower, lower), (interval.upper, upper))
    ]
    return Digits(numbers[0], "", unit, mark, f"{numbers[1]} … {numbers[2]}")


def _resolution(quantity: Quantity, shown: Digits) -> str:
    """'± 2 %' of the value; in the figure's own unit where the value is zero or itself a percentage, and for the ends
    of an interval."""
    if shown.ends:
        return f"{shown.ends} {shown.unit}"
    if not quantity.value or not quantity.uncertainty or quantity.unit == "%":
        return f"± {shown.uncertainty} {shown.unit}"
    share = 100 * quantity.uncertainty / abs(quantity.value)
    return f"± {digits(Quantity(value=share, unit='%', uncertainty=share)).uncertainty} %"


def _rounded_bound(value: Decimal, bound: str) -> str:
    """Towards the side on which the bound remains true; but 0.3 that the arithmetic made 0.30000000000000004 is 0.3."""
    if value == 0:
        return "0"
    real = value.quantize(Decimal(1).scaleb(value.adjusted() - DIGITS_REAL + 1), context=WIDE)
    place = Decimal(1).scaleb(min(0, value.adjusted() - DIGITS_UNKNOWN + 1))
    rounding = ROUND_FLOOR if bound == "at least" else ROUND_CEILING
    return _without_zeros(real.quantize(place, rounding=rounding, context=WIDE))


def _magnitude(quantity: Quantity) -> float:
    sizes = (abs(quantity.value), abs(quantity.uncertainty or 0.0))
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def _scale(base: str, unit: str | None, magnitude: float) -> tuple[int, str]:
    scales = SCALES.get(base, ((0, base),))
    if unit is not None:
        return {name: (power, name) for power, name in scales}[unit]
    fitting = [scale for scale in scales if magnitude >= 10.0 ** scale[0]]
    return fitting[-1] if fitting else scales[0]


def _place(error: Decimal) -> Decimal:
    """The power of ten of the last digit that is shown with an uncertainty of `error`."""
    two_digits = error.as_tuple().digits[0] <= 2
    place = Decimal(1).scaleb(error.adjusted() - (1 if two_digits else 0))
    # 0.096 rounded to one digit is 0.1: its last digit is then one place higher.
    rounded = error.quantize(place, context=WIDE)
    return Decimal(1).scaleb(rounded.adjusted() - (1 if rounded.as_tuple().digits[0] <= 2 else 0))


def _significant(value: Decimal, figures: int) -> str:
    """At most `figures` significant digits, but never fewer than the whole number has."""
    if value == 0:
        return "0"
    place = Decimal(1).scaleb(min(0, value.adjusted() - figures + 1))
    return _without_zeros(value.quantize(place, context=WIDE))


def _without_zeros(value: Decimal) -> str:
    """Without the zeros after the point that say nothing."""
    shown = _plain(value)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _plain(value: Decimal) -> str:
    """Without exponent, with thin spaces between thousands, a true minus sign and no negative zero."""
    shown = f"{value.copy_abs():,f}".replace(",", THIN_SPACE)
    return f"−{shown}" if value < 0 else shown
