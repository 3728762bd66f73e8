"""What a frame costs the tester besides clocks and sockets: signing, checking, comparing and accounting for it.

Run it by itself: `python benchmarks/accounting.py [REPETITIONS]`; prints a Markdown table. The timed loops
are `core/examples/accounting.rs`, on 64-byte frames in memory, in processor time of their thread; medians
of repetitions in which all cases take turns. It asserts nothing; the figures depend on the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
STREAMS = (1, 10, 100, 1000)
PATTERNS = {"in order": "in order", "0.1 % faults": "0.1 % lost, 0.1 % reordered"}


def measure(repetitions: int = 15) -> dict[str, Any]:
    """Nanoseconds a frame by case, with the counts they come from. Raises CalledProcessError without a compiler."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "--example", "accounting", "--", str(repetitions)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    ns = figures["ns_per_frame"]
    lines = ["| ns a frame | " + " | ".join(f"{streams} streams" for streams in STREAMS) + " |", "|---" * 5 + "|"]
    for part in ("arrive", "whole", "whole and compare"):
        for pattern, words in PATTERNS.items():
            cells = (f"{ns[f'{part}, {streams} streams, {pattern}']:.1f}" for streams in STREAMS)
            lines.append(f"| {part}, {words} | " + " | ".join(cells) + " |")
    alone = ("patch", "parse and check", "compare header", "loop alone", "clock read (clock_gettime)")
    lines.append("")
    lines.append("By themselves: " + ", ".join(f"{name} {ns[name]:.1f} ns" for name in alone) + ".")
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15)))


if __name__ == "__main__":
    main()
