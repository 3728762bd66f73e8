"""How often the intervals of all figures of devices contain the truth, on random simulated devices in virtual time.

Run it by itself: `python benchmarks/accuracy.py [FIRST LAST]`, with the range of seeds: those below 1000 are for
choosing constants, all others for showing what was chosen. The truth is computed from each device's description by
`accuracy_physics.py`. Exit code 1 if a quantity misses its goals: 93 to 98 % of at least 100 intervals contain the
truth, and the median uncertainty is at most 4 times the median error.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random

from accuracy_devices import FAMILIES, Compared

from keisoku.analysis.difference import ROUNDING

INSIDE_PERCENT = (93.0, 98.0)
RATIO = 4.0


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
        return f"| {name} | {len(all_of_it)} | {len(known)} | – | – | – | – | – |"
    width, error = statistics.median(w for w, _ in widths), statistics.median(e for _, e in widths)
    own = statistics.median(e / w if w else 0.0 if not e else 99 for w, e in widths)
    return (
        f"| {name} | {len(all_of_it)} | {len(all_of_it) - len(known)} | {exact} | {100 * inside / len(known):.1f} % |"
        f" {width:.3g} {unit} | {error:.3g} {unit} | {width / error if error else float('inf'):.2g} |"
        f" {1 / own if own else float('inf'):.2g} |"
    )


def main() -> None:
    """Prints the table."""
    first, last = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1000, 1150)
    chosen = [family for family in FAMILIES if len(sys.argv) < 4 or family.__name__ in sys.argv[3:]]
    began = time.monotonic()
    found = compared(range(first, last), chosen)
    print(
        f"| quantity, seeds {first} to {last - 1} | compared | no figure | exact | inside | U | error | ratio | own |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, all_of_it in found.items():
        print(row(name, all_of_it))
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
