"""How often the intervals of all figures of devices contain the truth, on random simulated devices in virtual time.

Run it by itself: `python benchmarks/accuracy/accuracy.py [--write] [FIRST LAST [FAMILY...]]`, with the range of seeds:
those below 5000 and from 20000 to 20999 are for choosing constants, all others for showing what was chosen; the table
is of seeds that were not seen before. `--write` puts its summary into docs/accuracy.md. The truth is computed from each
device's description by `accuracy_physics.py`. The goal is that 93 to 98 % of at least 100 intervals of each quantity
contain the truth, and that the median uncertainty is at most 4 times the median error. Where nothing is random an
interval is a bound, which has rows of its own. Exit code 1 if an estimate is marked exact, or if so many intervals miss
the truth as would by chance in 1 % of runs only, if 7 % missed it, or if intervals are wider than a rule of the table
allows.

Every comparison has a ratio of its own; their median, with its interval of 95 % (order statistics), is what the goal
asks of: a row that scatters fails if it is surely above 4. The ratio of the two medians is over devices whose scatter
differs by orders of magnitude, and is larger for that alone: `of right ones` is what it would be if every interval were
exactly right (errors that are drawn from normal distributions of these widths), with its interval of 95 %.

Where steps (of stamps, of buckets) are most of an interval, errors lie anywhere within the step: such comparisons have
rows of their own, and so have those in which nothing is random. The median error then says little. `95 % need` does:
the share of the interval that contains 95 % of the errors, which is 1 for an interval of 95 %. A row in which it is
below 1/4 is too wide. Only rows that scatter have ratios; one whose median error is below 1/100 of the uncertainty has
none either (†).
"""

from __future__ import annotations

import math
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
from accuracy_devices import FAMILIES, Compared, Family

from keisoku.ground.statistics.difference import ROUNDING

LEAST_INSIDE = 0.93
CHANCE = 0.01
STILL = " (nothing random)"
STEPS = " (steps)"
NEEDED = 0.95
LEAST_NEEDED = 1 / 4
"""Of an interval, by 95 % of the errors: less would be more than four times too wide."""
ENOUGH = 20
"""Comparisons of a row; of fewer, 95 % is that of the largest error."""
NO_RATIO = 1 / 100
"""Median of error over uncertainty below which their ratio says nothing."""
MOST_RATIO = 4.0
"""Uncertainty over error, the median."""
OF_95 = 1.96
"""Half of an interval of 95 %, in standard deviations of a normal distribution."""
DRAWS = 1000
EXTREMES = ("latency: min",)
"""Quantities whose error is exponential: a right interval of 95 % has ln 20 / ln 2 = 4.3 of its medians, not 2.9."""
COUNTS = (f"back-to-back: burst{STILL}", f"microburst: burst{STILL}")
"""Quantities that are counted."""
FIRST = 90000
DEVICES = {
    "latency": 500,
    "variation": 300,
    "ratios": 150,
    "limited": 120,
    "ways": 150,
    "clocks": 250,
    "fillings": 520,
    "congested": 300,
}
"""How many of each family are drawn, so that every quantity that scatters is compared a hundred times; else 150."""
PAGE = Path(__file__).parents[2] / "docs/accuracy.md"
HEAD = "| quantities, seeds"


def compared(seeds: Iterable[int], families: Sequence[Family] = FAMILIES) -> dict[str, list[Compared]]:
    """All comparisons by quantity."""
    found: dict[str, list[Compared]] = defaultdict(list)
    for seed in seeds:
        for family in families:
            for one in family(Random(f"{family.__name__} {seed}")):
                found[one.quantity + _kind(one)].append(one)
    return found


def _kind(one: Compared) -> str:
    """What decides how wide the interval is, by the device and by the figure's own budget."""
    if one.still:
        return STILL
    budget = one.figure.budget if one.figure is not None else ()
    squares = [(part.uncertainty**2, part.distribution == "rectangular") for part in budget]
    return STEPS if 2 * sum(square for square, step in squares if step) > sum(square for square, _ in squares) else ""


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
    widths = widths_and_errors(known)
    unit = known[0].figure.unit if known and known[0].figure is not None else ""
    if not widths:
        return f"| {name} | {len(all_of_it)} | {len(all_of_it) - len(known)} |" + " – |" * 8
    width, error = statistics.median(w for w, _ in widths), statistics.median(e for _, e in widths)
    own, needed = shares(widths)
    ratios = "† | † | †"
    if own >= NO_RATIO and not name.endswith((STILL, STEPS)):
        right, each = ratio_of_right(widths), ratio_of_each(widths)
        ratios = f"{width / error if error else math.inf:.2g} | {_with_ends(right)} | {_with_ends(each)}"
    return (
        f"| {name} | {len(all_of_it)} | {len(all_of_it) - len(known)} | {exact} | {100 * inside / len(known):.1f} % |"
        f" {width:.3g} {unit} | {error:.3g} {unit} | {ratios} | {needed:.2g} |"
    )


def widths_and_errors(known: Sequence[Compared]) -> list[tuple[float, float]]:
    """Half the interval of each figure that has one, and how far the figure is from the truth."""
    return [
        (width, abs(one.figure.value - one.truth))
        for one in known
        if one.figure is not None and (width := half_width(one)) is not None
    ]


def shares(widths: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Errors as shares of half an interval: the median, and what 95 % do not exceed."""
    ranked = sorted(error / width if width else 0.0 if not error else 99 for width, error in widths)
    return statistics.median(ranked), ranked[max(0, math.ceil(NEEDED * len(ranked)) - 1)]


def ratio_of_each(widths: Sequence[tuple[float, float]], confidence: float = 0.95) -> tuple[float, float, float]:
    """Uncertainty over error of each comparison: the median, and its interval by the ranks of a binomial."""
    ranked = sorted(width / error if error else math.inf for width, error in widths)
    deviates = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    apart = deviates * math.sqrt(len(ranked)) / 2
    low, high = math.floor(len(ranked) / 2 - apart), math.ceil(len(ranked) / 2 + apart)
    return statistics.median(ranked), ranked[max(low, 0)], ranked[min(high, len(ranked) - 1)]


def ratio_of_right(widths: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Median uncertainty over median error, if each error were normal with the interval's own width: the median, and
    what 95 % of such tables have."""
    halves = np.array([width for width, _ in widths])
    errors = np.abs(np.random.default_rng(1).normal(0, halves / OF_95, (DRAWS, len(halves))))
    middle = np.median(errors, axis=1)
    low, median, high = np.quantile(np.median(halves) / middle[middle > 0], [0.025, 0.5, 0.975])
    return float(median), float(low), float(high)


def _with_ends(found: tuple[float, float, float]) -> str:
    return "{:.2g} ({:.2g} to {:.2g})".format(*found)


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
        if name.endswith(STILL) or not known:
            continue
        widths = widths_and_errors(known)
        if not widths:  # bounds alone
            continue
        _, needed = shares(widths)
        if len(widths) >= ENOUGH and needed < LEAST_NEEDED:
            wrong.append(f"{name}: 95 % of the errors need {needed:.2g} of the interval")
        if len(widths) >= ENOUGH and name not in EXTREMES and not name.endswith(STEPS):
            each = ratio_of_each(widths, 1 - CHANCE)
            if each[1] > MOST_RATIO:
                wrong.append(f"{name}: the median interval is {_with_ends(each)} errors wide")
    return wrong


def _at_most(inside: int, count: int) -> float:
    """The chance that no more intervals contain the truth, if the goal is just met (binomial)."""
    each = (math.comb(count, k) * LEAST_INSIDE**k * (1 - LEAST_INSIDE) ** (count - k) for k in range(inside + 1))
    return sum(each)


def table(seeds: str, found: dict[str, list[Compared]]) -> str:
    """Markdown; quantities that scatter come first, and those with the same cells share a row."""
    lines = [
        f"| quantity, seeds {seeds} | compared | no interval | exact | truth inside |"
        " median uncertainty | median error | their ratio | of right ones | median of each ratio | 95 % need |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in ("", STEPS, STILL):
        alike: dict[str, list[str]] = defaultdict(list)
        for name, all_of_it in found.items():
            if _suffix(name) == kind:
                alike[row(name, all_of_it).removeprefix(f"| {name}")].append(name.removesuffix(kind))
        lines += [f"| {'; '.join(names)}{kind}{cells}" for cells, names in alike.items()]
    return "\n".join(lines)


def summary(seeds: str, found: dict[str, list[Compared]]) -> str:
    """Markdown: a row for the quantities of each family that scatter, and one for the others of each kind."""
    families: dict[str, list[str]] = defaultdict(list)
    for name in sorted(found, key=lambda name: ("", STEPS, STILL).index(_suffix(name))):
        families[_family(name)].append(name)
    lines = [f"{HEAD} {seeds} | number | compared | truth inside | median ratio |", "|---|---:|---:|---:|---:|"]
    lines += [_together(family, [found[name] for name in names]) for family, names in families.items()]
    return "\n".join(lines)


def _family(name: str) -> str:
    """Those of one procedure; the least latency, whose error is exponential, is none of them."""
    if kind := _suffix(name):
        return f"all{kind}"
    return name if name in EXTREMES else re.split(r":| \(| by ", name)[0]


def _suffix(name: str) -> str:
    return next((kind for kind in (STEPS, STILL) if name.endswith(kind)), "")


def _together(family: str, quantities: list[list[Compared]]) -> str:
    """One line for several quantities; their units differ, so only counts, shares and ratios are in it."""
    known = [[one for one in each if one.figure is not None and one.figure.bounds is not None] for each in quantities]
    inside = [sum(map(is_inside, each)) for each in known]
    shares_of_each = [100 * count / len(each) for count, each in zip(inside, known, strict=True) if each]
    share = f"{100 * sum(inside) / sum(map(len, known)):.1f} %"
    if len(shares_of_each) > 1:
        share += f" ({min(shares_of_each):.1f} to {max(shares_of_each):.1f} %)"
    widths = [] if family.endswith((STEPS, STILL)) else list(map(widths_and_errors, known))
    ratios = sorted(ratio_of_each(each)[0] for each in widths if len(each) >= ENOUGH)
    ratio = " to ".join(dict.fromkeys(f"{each:.2g}" for each in (ratios[0], ratios[-1]))) if ratios else "–"
    return f"| {family} | {len(quantities)} | {sum(map(len, quantities))} | {share} | {ratio} |"


def write(made: str) -> None:
    """Puts the summary in the place of the one in docs/accuracy.md."""
    before, rest = PAGE.read_text().split(HEAD, 1)
    after = rest.split("\n\n", 1)[1]
    PAGE.write_text(f"{before}{made}\n\n{after}")


def main() -> int:
    """Prints the table, and what is wrong; returns the exit code."""
    given = [word for word in sys.argv[1:] if word != "--write"]
    chosen = [family for family in FAMILIES if len(given) < 3 or family.__name__ in given[2:]]
    began = time.monotonic()
    found: dict[str, list[Compared]] = {}
    for family in chosen:
        first, last = FIRST, FIRST + DEVICES.get(family.__name__, 150)
        if len(given) > 1:
            first, last = int(given[0]), int(given[1])
        found |= compared(range(first, last), [family])
        print(f"{family.__name__}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    seeds = f"{given[0]} to {int(given[1]) - 1}" if len(given) > 1 else f"from {FIRST}"
    print(table(seeds, found))
    if "--write" in sys.argv:
        write(summary(seeds, found))
    wrong = failures(found)
    print("", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
