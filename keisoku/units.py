"""Quantities as people write and read them: '0.5 Mpps', '2 s', '64-1518:64'. Knows no plan and no engine."""

from __future__ import annotations

import math
import re

from keisoku.errors import PlanError

_SIZE_UNITS = ("B", "kB", "MB", "GB", "TB")
RATE_UNITS = {"": 1.0, "fps": 1.0, "pps": 1.0, "frames/s": 1.0, "k": 1e3, "M": 1e6}
RATE_UNITS |= {
    f"{prefix}{unit}": factor
    for prefix, factor in (("k", 1e3), ("M", 1e6), ("G", 1e9))
    for unit in ("pps", "fps", "frames/s")
}
BIT_RATE_UNITS = {
    f"{prefix}{unit}": factor
    for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))
    for unit in ("", "b/s", "bit/s", "bps")
}
REQUEST_RATE_UNITS = {"": 1.0, "k": 1e3, "/s": 1.0, "requests/s": 1.0}
TIME_UNITS_NS = {"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0, "min": 6e10, "h": 3.6e12, "d": 8.64e13}
NAMED_SIZES = {
    "rfc2544": (64, 128, 256, 512, 1024, 1280, 1518),
    "rfc5180": (64, 128, 256, 512, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
    "rfc8219": (64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
    "rfc8219-translation": (84, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
    "rfc8239": (64, 128, 256, 512, 1024, 1518, 4096, 8000, 9216),
}
"""RFC 2544 §9.1; RFC 5180 §5.1.1 with its notes; RFC 8219 §5.1.1, where 84 replaces 64 in the direction from
IPv6 to IPv4 of a translator; RFC 8239 §2.3 "most common" for reports."""
LENGTH_UNITS_M = {"": 1.0, "m": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0}
_QUANTITY = re.compile(r"\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([^\s\d]*)\s*")


def quantity(field: str, text: str, units: dict[str, float]) -> float:
    """The number in `text` times its unit's factor.

    Raises PlanError naming `field` if it is no number or the unit is unknown.
    """
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise PlanError(field, f"'{text}' is not a number with a unit", f"write for example '1.5 {_known(units)[0]}'")
    number, unit = match.groups()
    if unit not in units:
        raise PlanError(field, f"unknown unit '{unit}'", f"use one of {', '.join(_known(units))}")
    value = float(number) * units[unit]
    if not math.isfinite(value):
        raise PlanError(field, f"'{text}' is too large", "give a smaller value")
    return value


def unit_of(text: str) -> str:
    """The unit of a quantity as it was written; empty if it has none."""
    match = _QUANTITY.fullmatch(text)
    return match[2] if match else ""


def rate(field: str, text: str) -> float:
    """A positive rate in frames/s."""
    return _positive(field, text, quantity(field, text, RATE_UNITS))


def bit_rate(field: str, text: str) -> float:
    """A positive rate in bit/s."""
    return _positive(field, text, quantity(field, text, BIT_RATE_UNITS))


def duration_ns(field: str, text: str) -> int:
    """A positive time in ns; a bare number is seconds."""
    return round(_positive(field, text, quantity(field, text, TIME_UNITS_NS)))


def time_text(seconds: float) -> str:
    """A time for a reader, to two digits: '0.25 s', '45 s', '4.6 min', '4.7 h', '3.1 d'."""
    for unit, each_s in (("d", 86_400), ("h", 3600), ("min", 60)):
        # Below twice the unit the smaller one says more: 90 min, not 1.5 h.
        if seconds >= 2 * each_s:
            return f"{_two_digits(seconds / each_s)} {unit}"
    return f"{_two_digits(seconds)} s"


def size_text(size_bytes: float) -> str:
    """A number of bytes for a reader, to three digits: '12 B', '1.23 MB'."""
    unit = 0
    while size_bytes >= 999.5 and unit < len(_SIZE_UNITS) - 1:
        size_bytes, unit = size_bytes / 1000, unit + 1
    return f"{size_bytes:.3g} {_SIZE_UNITS[unit]}"


def _two_digits(value: float) -> str:
    digits = 0 if value == 0 else 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):.10g}"


def length_m(field: str, text: str) -> float:
    """A length in m, a bare number as well. Raises PlanError if it is below zero or no length."""
    metres = quantity(field, text, LENGTH_UNITS_M)
    if metres < 0:
        raise PlanError(field, f"'{text}' is below zero", "give a length such as 0.20m")
    return metres


def frame_sizes(field: str, text: str) -> list[int]:
    """Sizes in bytes: '64,128,1518', a range 'FIRST-LAST:STEP' (last included) or 'rfc8219', in order, each once.

    Raises PlanError if that is not what is written.
    """
    if text.strip().lower() in NAMED_SIZES:
        return list(NAMED_SIZES[text.strip().lower()])
    sizes: set[int] = set()
    for part in str(text).replace(" ", "").split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+):(\d+))?", part)
        if match is None or match[3] == "0":
            raise PlanError(field, f"'{part}' is not a frame size", "write '64,128' or '64-1518:64' (bytes)")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first:
            raise PlanError(field, f"the range '{part}' is empty", "put the smaller size first")
        sizes |= {*range(first, last + 1, step), last}
    return sorted(sizes)


def _positive(field: str, text: str, value: float) -> float:
    if not value > 0:
        raise PlanError(field, f"'{text}' is not above zero", "give a positive value")
    return value


def _known(units: dict[str, float]) -> list[str]:
    return [unit for unit in units if unit]
