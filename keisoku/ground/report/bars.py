"""A distribution as bars of letters, for a terminal. It is computed elsewhere: here counts are only put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, translated

ROWS = 8
_LEAST_WIDTH, _MOST_WIDTH = 10, 50
_PARTS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Spread:
    """How often which values occurred: buckets in order, each from `lower` to below `upper`."""

    of: str
    """Of what: '64 byte'."""
    unit: str
    lower: Sequence[float]
    upper: Sequence[float]
    counts: Sequence[int]


def bars(spread: Spread, width: int) -> list[str]:
    """A title and at most `ROWS` lines of at most `width` letters; steps grow with the value, as tails are long.

    Empty where fewer than two different values are known.
    """
    total = sum(spread.counts)
    if not total or len(spread.counts) < 2 or spread.upper[-1] <= max(spread.lower[0], 0):
        return []
    first, last = max(spread.lower[0], 1.0), max(spread.upper[-1], 2.0)
    edges = [first * (last / first) ** (row / ROWS) for row in range(ROWS + 1)]
    found = [0] * ROWS
    for low, high, count in zip(spread.lower, spread.upper, spread.counts, strict=True):
        middle = max((low + high) / 2, first)
        found[min(int(ROWS * math.log(middle / first) / math.log(last / first)), ROWS - 1)] += count
    heads = [f"{_value(low, spread.unit)} …" for low in edges[:-1]]
    shares = [f"{100 * count / total:.3g} %" for count in found]
    at, end = max(map(len, heads)), max(map(len, shares))
    room = max(_LEAST_WIDTH, min(_MOST_WIDTH, width - at - end - 4))
    title = phrase(
        "Latency of {count} frames as they were stamped, {of}, up to {most}:",
        count=digits.count(total),
        of=spread.of,
        most=_value(last, spread.unit),
    )
    lines = [
        f"{head:>{at}}  {_bar(count / max(found) * room):<{room}}  {share:>{end}}"
        for head, count, share in zip(heads, found, shares, strict=True)
    ]
    return [translated(title), *lines]


def _bar(length: float) -> str:
    whole = int(length)
    part = _PARTS[round((length - whole) * 8)] if length else ""
    return ("█" * whole + part.strip()) or ("▏" if length else "")


def _value(value: float, unit: str) -> str:
    return digits.value_text(Quantity(value=float(f"{value:.3g}"), unit=unit))
