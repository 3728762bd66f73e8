"""What the limit of `keisoku system limit` lacks to the best one, on random systems whose top is beside a cliff.

The figure rises with the limit up to a top and then falls by 2 to 15 %, at once or within a tenth of the rate; an
evaluation has noise of 0.5 to 4 %. Prints regrets in percent; judges nothing. Not part of `make bench`.

Run: python benchmarks/accuracy/limit_cliffs.py [FIRST] [COUNT] (seeds from 1000 were not looked at before).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.search import LimitFound, SearchSettings, limit_search

BELOW = 3.0
"""Natural logarithms of the rate below the top, from which on the figure falls no further."""


@dataclass(frozen=True)
class CliffSystem:
    """A random system; figures are natural logarithms."""

    seed: int

    def drawn(self) -> tuple[Callable[[Limit], float], Candidates, float]:
        """The true figure by limit, the candidates, and the noise of an evaluation."""
        random = np.random.default_rng((77, self.seed))
        line = float(10 ** random.uniform(7.5, 9.5))
        share = random.uniform(0.3, 0.85) * math.log(100)
        top = math.log(line) - (share if random.random() < 0.9 else 0.1)
        drop, slope = random.uniform(0.02, 0.15), random.uniform(0.05, 0.6)
        after = float(random.uniform(0, 0.08) * random.choice([1, 1, -0.3]))
        width = random.choice([0.0, 0.0, 0.03, 0.1])

        def figure(limit: Limit) -> float:
            away = math.log(limit or line) - top
            if away <= 0:
                return slope * max(away, -BELOW)
            return -drop * min(1.0, away / width if width else 1.0) - after * away

        return figure, Candidates(line / 100, line), 10 ** random.uniform(-2.3, -1.4)


def regret(system: CliffSystem) -> tuple[float, LimitFound]:
    """In percent: what the limit to set lacks to the best; and the search."""
    figure, space, noise = system.drawn()
    random = np.random.default_rng((9, system.seed))
    search = limit_search(space, SearchSettings(seed=system.seed))
    asked = next(search)
    while True:
        try:
            asked = search.send(figure(asked.limit) + noise * float(random.standard_normal()))
        except StopIteration as end:
            found: LimitFound = end.value
            best = max(figure(limit) for limit in space.limits)
            return 100 * (1 - math.exp(figure(found.limit) - best)), found


if __name__ == "__main__":
    first, count = (int(word) for word in [*sys.argv[1:], *("1000", "40")[len(sys.argv) - 1 :]])
    found = np.array([regret(CliffSystem(seed))[0] for seed in range(first, first + count)])
    print("| systems | mean | median | 90 % | most | above 2 % | above 4 % |\n|---|---|---|---|---|---|---|")
    shown = [found.mean(), np.median(found), np.quantile(found, 0.9), found.max()]
    cells = " | ".join(f"{one:.2f} %" for one in shown)
    print(f"| {count} from seed {first} | {cells} | {(found > 2).sum()} | {(found > 4).sum()} |")
