"""How often a flag is raised on random paths of known classes, as a table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence


def print_table(flagged: Callable[[int], tuple[str, bool]], classes: Sequence[str], step: int, heading: str) -> None:
    """Of the words FIRST (default 1) and COUNT (default 200) of the command: COUNT seeds from FIRST, `step` apart.

    `flagged` gives the class of a seed's path, and whether the flag was raised.
    """
    first, count = (int(word) for word in [*sys.argv[1:], *("1", "200")[len(sys.argv) - 1 :]])
    found = Counter(flagged(seed) for seed in range(first, first + step * count, step))
    print(f"seeds from {first}, {step} apart\n\n| path | number | {heading} |\n|---|---|---|")
    for name in classes:
        print(f"| {name} | {found[name, True] + found[name, False]} | {found[name, True]} |")
