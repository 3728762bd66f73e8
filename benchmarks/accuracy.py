"""How often the intervals of all figures of devices contain the truth, on random simulated devices in virtual time.

Run it by itself: `python benchmarks/accuracy.py [FIRST LAST [FAMILY...]]`, with the range of seeds: those below 1000
are for choosing constants, all others for showing what was chosen. The truth is computed from each device's description
by `accuracy_physics.py`. The goal is that 93 to 98 % of at least 100 intervals of each quantity contain the truth, and
that the median uncertainty is at most 4 times the median error. Exit code 1 if an estimate is marked exact, or if so
many intervals miss the truth as would by chance in 1 % of runs only, if 7 % missed it.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random

from accuracy_devices import FAMILIES, Compared

from keisoku.analysis.difference import ROUNDING

LEAST_INSIDE = 0.93
CHANCE = 0.01
COUNTS = ("back-to-back: burst", "microburst: burst")
"""Quantities that are counted."""


def compared(seeds: Iterable[int], families: Sequence = FAMILIES) -> dict[str, list[Compared]]:
    """All comparisons by quantity."""
    found: dict[str, list[Compared]] = defaultdict(list)
    for seed in seeds:
        for family in families:
            for one in family(Random(f"{family.__name__} {seed}")):
                found[one.quantity].append(one)
    return found


def half_width(one: Compared) -> float | None:
    """Half the width of a figure's interval; None if it has none."""
    if one.figure is None or one.figure.bound or one.figure.bounds is None:
        return None
    lower, upper = one.figure.bounds
    return (upper - lower) / 2


def is_inside(one: Compared) -> bool:
    """Whether the interval contains the truth; a bound is an interval that is open at one end."""
    if one.figure is None or one.figure.bounds is None:
        return False
    lower, upper = one.figure.bounds
    noise = ROUNDING * abs(one.truth)
    return lower - noise <= one.truth <= upper + noise


def row(name: str, all_of_it: list[Compared]) -> str:
    """One line of the table."""
    known = [one for one in all_of_it if one.figure is not None and one.figure.bounds is not None]
    exact = sum(half_width(one) == 0 for one in known)
    inside = sum(map(is_inside, known))
    widths = [(half_width(one), abs(one.figure.value - one.truth)) for one in known if half_width(one) is not None]
    unit = known[0].figure.unit if known else ""
    if not widths:
        return f"| {name} | {len(all_of_it)} | {len(all_of_it) - len(known)} | – | – | – | – | – | – |"
    width, error = statistics.median(w for w, _ in widths), statistics.median(e for _, e in widths)
    own = statistics.median(e / w if w else 0.0 if not e else 99 for w, e in widths)
    return (
        f"| {name} | {len(all_of_it)} | {len(all_of_it) - len(known)} | {exact} | {100 * inside / len(known):.1f} % |"
        f" {width:.3g} {unit} | {error:.3g} {unit} | {width / error if error else float('inf'):.2g} |"
        f" {1 / own if own else float('inf'):.2g} |"
    )


def failures(found: dict[str, list[Compared]]) -> list[str]:
    """What the table shows to be wrong."""
    wrong = []
    for name, all_of_it in found.items():
        known = [one for one in all_of_it if one.figure is not None and one.figure.bounds is not None]
        inside = sum(map(is_inside, known))
        if any(half_width(one) == 0 for one in known) and name not in COUNTS:
            wrong.append(f"{name}: an estimate is marked exact")
        if _at_most(inside, len(known)) < CHANCE:
            wrong.append(f"{name}: only {inside} of {len(known)} intervals contain the truth")
    return wrong


def _at_most(inside: int, count: int) -> float:
    """The chance that no more intervals contain the truth, if the goal is just met (binomial)."""
    each = (math.comb(count, k) * LEAST_INSIDE**k * (1 - LEAST_INSIDE) ** (count - k) for k in range(inside + 1))
    return sum(each)


def main() -> int:
    """Prints the table, and what is wrong; returns the exit code."""
    first, last = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1000, 1100)
    chosen = [family for family in FAMILIES if len(sys.argv) < 4 or family.__name__ in sys.argv[3:]]
    began = time.monotonic()
    found = compared(range(first, last), chosen)
    print(
        f"| quantity, seeds {first} to {last - 1} | compared | no interval | exact | truth inside |"
        " median uncertainty | median error | their ratio | median of each ratio |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, all_of_it in found.items():
        print(row(name, all_of_it))
    wrong = failures(found)
    print("", *wrong, sep="\n")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
