"""How good a limit is found in how many evaluations: keisoku beside golden section, Kiefer–Wolfowitz and a grid.

Run it by itself: `python benchmarks/speed/limit_search.py [SEARCHES]`; prints a Markdown table. The three landscapes
are measured ones (HTTP beside bulk traffic through HTB, points joined by monotone cubics over the logarithm of the
rate); an evaluation is the truth times 1 + 5 % normal noise. Regret is what the found limit's true figure lacks to the
best, in percent: mean and 95th percentile. Everything is simulated, so nothing depends on the machine. It asserts
nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.search import SearchSettings, limit_search

NOISE = 0.05
EVALUATIONS = 24
FIRST_SEED = 920_000
"""Of searches and of noise. keisoku's settings were chosen on seeds below 700 000: other ones are shown."""
GOLDEN = (math.sqrt(5) - 1) / 2
Evaluate = Callable[[Limit], float]


class Landscape:
    """A true figure of merit over limits, from measured points (rate, figure) and the figure without a limit."""

    def __init__(self, floor: float, line: float, points: dict[float, float], unlimited: float) -> None:
        self.candidates = Candidates(floor, line)
        self.unlimited = unlimited
        rates = sorted({**points, line: unlimited} if line not in points else points)
        self.curve = PchipInterpolator(np.log(rates), [points.get(rate, unlimited) for rate in rates])
        fine = np.geomspace(floor, line, 2000)
        self.best = max(unlimited, max(self.truth(rate) for rate in fine))

    def truth(self, limit: Limit) -> float:
        """The figure without noise."""
        return self.unlimited if limit is None else float(self.curve(math.log(limit)))

    def regret(self, limit: Limit) -> float:
        """In percent of the best."""
        return 100 * (1 - self.truth(limit) / self.best)


def _shared_fifo() -> dict[float, float]:
    """S1: √(A·B) of bulk A (Mb/s) and requests B (of 81.6 kbit), joined over the limit before the root is taken."""
    bulk = PchipInterpolator([5, 10, 40, 60, 72.1], [5, 10, 40, 59.3, 72.1])
    requests = PchipInterpolator([5, 10, 40, 60, 72.1], [728, 711, 609, 449, 292])
    caps = [*np.geomspace(5, 72.1, 60).tolist(), 100.0]
    return {cap: math.sqrt(float(bulk(min(cap, 72.1)) * requests(min(cap, 72.1))) * 0.0816) for cap in caps}


LANDSCAPES = {
    "S2 peak": Landscape(
        5, 100, {5: 76.4, 10: 81.3, 15: 86, 20: 90.1, 25: 88.8, 40: 76, 60: 57.4, 80: 39.5, 100: 36.7}, 36.7
    ),
    "S1 √(A·B)": Landscape(5, 100, _shared_fifo(), math.sqrt(72.1 * 292 * 0.0816)),
    "S3 monotone": Landscape(300, 40_000, {300: 3.09, 1000: 3.46, 20_000: 17.0, 40_000: 30.0}, 35.8),
}


def gaussian(space: Candidates, evaluate: Evaluate, seed: int, evaluations: int) -> tuple[Limit, Limit, int, int]:
    """keisoku's: its candidate, what it recommends after the confirmation, and the evaluations of both."""
    search = limit_search(space, SearchSettings(budget=evaluations, seed=seed))
    asked = next(search)
    while True:
        try:
            asked = search.send(evaluate(asked.limit))
        except StopIteration as end:
            found = end.value
            every = len(found.evaluations)
            spent = sum(1 for asked, _ in found.evaluations if asked.purpose != "confirm")
            return found.candidate, found.limit, spent, every


def golden(space: Candidates, evaluate: Evaluate, evaluations: int, repeats: int) -> Limit:
    """Golden section over the logarithm of the rate, each point the mean of `repeats`."""

    def at(x: float) -> float:
        return float(np.mean([evaluate(math.exp(x)) for _ in range(repeats)]))

    low, high = math.log(space.floor_bps), math.log(space.line_bps)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = at(left), at(right)
    for _ in range(evaluations // repeats - 2):
        if f_left > f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = at(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = at(right)
    return math.exp(left if f_left > f_right else right)


def kiefer_wolfowitz(space: Candidates, evaluate: Evaluate, evaluations: int) -> Limit:
    """Stochastic approximation over the logarithm of the rate; steps scaled by the first gradient and clipped."""
    low, high = math.log(space.floor_bps), math.log(space.line_bps)
    x, scale = (low + high) / 2, 0.0
    for n in range(1, evaluations // 2 + 1):
        reach = 0.15 * (high - low) / n**0.25
        up, down = min(high, x + reach), max(low, x - reach)
        slope = (math.log(evaluate(math.exp(up))) - math.log(evaluate(math.exp(down)))) / (up - down)
        scale = scale or 0.25 * (high - low) / max(abs(slope), 1e-3)
        step = max(-0.25 * (high - low), min(0.25 * (high - low), scale * slope / n))
        x = max(low, min(high, x + step))
    # An end of the scale is no limit at all: with one line, nothing else lies above it.
    return None if x > high - 1e-9 else math.exp(x)


def halving(space: Candidates, evaluate: Evaluate, evaluations: int) -> Limit:
    """A grid of eight with no limit among them, the worse half dropped after each of three rounds."""
    alive: list[Limit] = [*np.geomspace(space.floor_bps, space.line_bps, 8).tolist()[:-1], None]
    scores: dict[Limit, list[float]] = {limit: [] for limit in alive}
    for _ in range(3):
        for _ in range(max(1, evaluations // 3 // len(alive))):
            for limit in alive:
                scores[limit].append(evaluate(limit))
        alive = sorted(alive, key=lambda limit: -float(np.mean(scores[limit])))[: max(1, len(alive) // 2)]
    return alive[0]


def measure(searches: int = 300, evaluations: int = EVALUATIONS, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Regrets by landscape and way; for keisoku's also the evaluations spent and how often no limit was advised."""
    figures: dict[str, Any] = {}
    for name in names or tuple(LANDSCAPES):
        land = LANDSCAPES[name]
        ways: dict[str, list[float]] = {}
        spent, total, none = [], [], 0
        for seed in range(searches):
            random = np.random.default_rng((FIRST_SEED, seed))

            def evaluate(limit: Limit, land: Landscape = land, random: Any = random) -> float:
                return land.truth(limit) * max(0.01, 1 + NOISE * float(random.standard_normal()))

            space = land.candidates
            candidate, advised, search, every = gaussian(
                space, lambda x: math.log(evaluate(x)), FIRST_SEED + seed, evaluations
            )
            spent.append(search)
            total.append(every)
            none += advised is None
            found = {
                "keisoku": candidate,
                "keisoku, confirmed": advised,
                "golden ×1": golden(space, evaluate, evaluations, 1),
                "golden ×3": golden(space, evaluate, evaluations, 3),
                "Kiefer–Wolfowitz": kiefer_wolfowitz(space, evaluate, evaluations),
                "halving grid": halving(space, evaluate, evaluations),
            }
            for way, limit in found.items():
                ways.setdefault(way, []).append(land.regret(limit))
        figures[name] = {
            "regret_percent": {way: [float(np.mean(of)), float(np.percentile(of, 95))] for way, of in ways.items()},
            "evaluations": float(np.mean(spent)),
            "with_confirmation": float(np.mean(total)),
            "no_limit_share": none / searches,
        }
    return {"searches": searches, "evaluations": evaluations, "noise": NOISE, "landscapes": figures}


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    landscapes = figures["landscapes"]
    ways = list(next(iter(landscapes.values()))["regret_percent"])
    lines = ["| mean/p95 regret, % | " + " | ".join(ways) + " | evaluations (+ confirming) | no limit advised |"]
    lines.append("|---" * (len(ways) + 3) + "|")
    for name, of in landscapes.items():
        cells = " | ".join(f"{mean:.1f}/{tail:.1f}" for mean, tail in of["regret_percent"].values())
        spent = f"{of['evaluations']:.1f} (+ {of['with_confirmation'] - of['evaluations']:.1f})"
        lines.append(f"| {name} | {cells} | {spent} | {100 * of['no_limit_share']:.0f} % |")
    lines.append("")
    lines.append(f"{figures['searches']} searches each, {figures['evaluations']} evaluations at most, 5 % noise.")
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300)))


if __name__ == "__main__":
    main()
