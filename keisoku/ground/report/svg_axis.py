"""One axis of a static picture: positions of values, and the labelled values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from keisoku.language import translated

_TICKS = 6
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LEAST_ROOM = 1e-300  # beside the values: below this, a double has no digits left to divide by


class Axis:
    """From `start` to `end` in pixels; `given` is the axis as Plotly has it, `values` what is drawn on it."""

    def __init__(self, given: dict[str, Any], values: Sequence[Any], start: float, end: float) -> None:
        self.start, self.end = start, end
        self.title = translated(given.get("title", {}).get("text", ""))
        self.strong_zero = bool(given.get("zeroline"))
        self._given = given
        self._names: list[Any] = []
        self._log = given.get("type") == "log"
        if given.get("type") == "category":
            self._names = list(dict.fromkeys(values))
            if given.get("autorange") == "reversed":
                self._names.reverse()
            self._order = {name: float(at) for at, name in enumerate(self._names)}
            self._low, self._high = -0.5, max(1, len(self._names)) - 0.5
            return
        known = [float(value) for value in values if math.isfinite(value) and (value > 0 or not self._log)]
        low, high = min(known, default=1.0), max(known, default=10.0)
        if self._log:
            low, high = math.log10(low), math.log10(high)
        room = max((high - low or abs(high) or 1.0) * 0.05, _LEAST_ROOM)
        to_zero = given.get("rangemode") == "tozero" and not self._log
        self._low = 0.0 if to_zero and low >= 0 else low - room
        self._high = 0.0 if to_zero and high <= 0 < -low else high + room
        if "range" in given and given["range"] is not None:
            self._low, self._high = map(float, given["range"])

    @property
    def named(self) -> bool:
        """Whether its values are names."""
        return bool(self._names)

    def place(self, value: Any) -> float | None:
        """Position in pixels; None for a value that is not on the axis, such as zero on a logarithmic one."""
        if self._names:
            if value not in self._order:
                return None
            at = self._order[value]
        elif not math.isfinite(value) or (self._log and value <= 0):
            return None
        else:
            at = math.log10(value) if self._log else float(value)
        share = (at - self._low) / (self._high - self._low)
        return self.start + share * (self.end - self.start)

    def clamped_px(self, at: float) -> float:
        """The position in pixels, or the end of the axis that it lies beyond."""
        low, high = sorted((self.start, self.end))
        return min(max(at, low), high)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and name of each."""
        if self._names:
            return [(at, _named(name)) for name in self._names if (at := self.place(name)) is not None]
        if "tickvals" in self._given:
            named = zip(self._given["tickvals"], self._given["ticktext"], strict=True)
            return [(at, translated(text)) for value, text in named if (at := self.place(value)) is not None]
        values = self._decades() if self._log else self._steps()
        power = self._given.get("exponentformat") == "power"
        return [(at, _number(value, power)) for value in values if (at := self.place(value)) is not None]

    def _steps(self) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        rough = (self._high - self._low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self._low / step - 1e-9), math.floor(self._high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def _decades(self) -> list[float]:
        """Powers of ten; twice and five times these where there are few, and even steps where there are none."""
        first, last = math.floor(self._low), math.ceil(self._high)
        every = max(1, (last - first) // (2 * _TICKS))
        factors = (1, 2, 5) if self._high - self._low < 2 else (1,)
        found = [factor * 10.0**power for power in range(first, last + 1, every) for factor in factors]
        inside = [value for value in found if self._low <= math.log10(value) <= self._high]
        if len(inside) > 1:
            return inside
        low, high = 10.0**self._low, 10.0**self._high
        return [_round(low), _round(high)]


def _named(name: Any) -> str:
    return translated(name) if isinstance(name, str) else str(name)


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def _number(value: float, power: bool) -> str:
    """With thin spaces between thousands (ISO 80000-1 §7.3.1), or as a power of ten where the plot asks for it."""
    exponent = math.log10(value) if value > 0 else 0.0
    if power and abs(exponent) >= 3 and abs(exponent - round(exponent)) < 1e-9:
        return "10" + str(round(exponent)).translate(_RAISED)
    shown = f"{value:.10g}"
    if "e" in shown:
        factor, _, exponent_text = shown.partition("e")
        return ("" if factor == "1" else f"{factor}×") + "10" + str(int(exponent_text)).translate(_RAISED)
    whole, point, rest = shown.partition(".")
    grouped = f"{int(whole):,}".replace(",", "\u202f") if whole.lstrip("-").isdigit() else whole
    return (f"-{grouped}" if whole == "-0" else grouped) + point + rest
