"""What a frame costs the tester besides clocks and sockets: signing, checking, comparing and accounting for it.

Run it by itself: `python benchmarks/speed/accounting.py [REPETITIONS]`; prints a Markdown table. The timed loops
are `core/examples/accounting.rs`, on 64-byte frames in memory, in processor time of their thread; medians
of repetitions in which all cases take turns. What comparing headers adds is the median of the differences
between *whole* and *whole and compare*, which follow each other in each repetition, either one first, with an
interval of at least 95 % by order statistics. It asserts nothing; the figures depend on the machine.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STREAMS = (1, 10, 100, 1000)
PATTERNS = {"in order": "in order", "0.1 % faults": "0.1 % lost, 0.1 % reordered"}


def measure(repetitions: int = 15) -> dict[str, Any]:
    """Nanoseconds a frame by case, and what comparing adds to them. Raises CalledProcessError without a compiler."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "--example", "accounting", "--", str(repetitions)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return reduced(json.loads(done.stdout)["ns_per_frame"])


def reduced(each: dict[str, list[float]]) -> dict[str, Any]:
    """Medians of what was measured in each repetition."""
    cases = [f"{streams} streams, {pattern}" for streams in STREAMS for pattern in PATTERNS]
    return {
        "ns_per_frame": {name: statistics.median(values) for name, values in each.items()},
        "comparing_adds": {case: added(each[f"whole, {case}"], each[f"whole and compare, {case}"]) for case in cases},
    }


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    ns = figures["ns_per_frame"]
    lines = ["| ns a frame | " + " | ".join(f"{streams} streams" for streams in STREAMS) + " |", "|---" * 5 + "|"]
    for part in ("arrive", "whole", "whole and compare"):
        for pattern, words in PATTERNS.items():
            cells = (f"{ns[f'{part}, {streams} streams, {pattern}']:.1f}" for streams in STREAMS)
            lines.append(f"| {part}, {words} | " + " | ".join(cells) + " |")
    for pattern, words in PATTERNS.items():
        cells = (figures["comparing_adds"][f"{streams} streams, {pattern}"] for streams in STREAMS)
        lines.append(f"| comparing adds, {words} | " + " | ".join(cells) + " |")
    alone = ("patch", "parse and check", "compare header", "loop alone", "clock read (clock_gettime)")
    lines.append("")
    lines.append("By themselves: " + ", ".join(f"{name} {ns[name]:.1f} ns" for name in alone) + ".")
    return "\n".join(lines)


def added(without: list[float], with_it: list[float]) -> str:
    """The median of the differences, with an interval of at least 95 % if there are enough of them."""
    differences = sorted(one - other for one, other in zip(with_it, without, strict=True))
    count = len(differences)
    below = 0
    # So many of the lowest may be left out at each side: the median is beyond them as seldom as as many heads fall.
    while 2 * sum(math.comb(count, heads) for heads in range(below + 1)) <= 0.05 * 2**count:
        below += 1
    middle = f"{statistics.median(differences):.1f}"
    return f"{middle} ({differences[below - 1]:.1f} to {differences[-below]:.1f})" if below else middle


def main() -> None:
    """Prints the table."""
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15)))


if __name__ == "__main__":
    main()
