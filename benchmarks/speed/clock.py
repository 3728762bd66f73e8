"""How well the counter's rate is found: keisoku in a second, and the crate `quanta`, turn by turn in one run.

Run it by itself: `python benchmarks/speed/clock.py [TURNS]`; prints a Markdown table. The truth is CLOCK_MONOTONIC over
all of the run, against which both calibrate: so it tells how well a second repeats, not how right the oscillator is.
quanta keeps a calibration for the life of a process, so each turn is a process of its own
(`core/examples/quanta_rate.rs`). It asserts nothing; the figures depend on the machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from keisoku.subjects.clock import frequency
from keisoku.subjects.clock.host_clocks import host_clocks
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.local import brackets

ROOT = Path(__file__).parents[2]
TURNS = 10
READINGS, PAUSE_S = 900, 0.001
"""About a second, with what reading takes."""
_BUILD = ["cargo", "build", "--release", "--locked", "--quiet", "--example", "quanta_rate"]


def measure(turns: int = TURNS) -> dict[str, Any]:
    """Relative errors of each turn and the seconds that each took. Raises CalledProcessError without a compiler."""
    subprocess.run(_BUILD, cwd=ROOT, check=True)
    program = ROOT / "target" / "release" / "examples" / "quanta_rate"
    before = host_clocks().steering
    every: list[Reading] = []
    found: dict[str, list[tuple[float, float]]] = {"two points": [], "least squares": [], "quanta": []}
    for _ in range(turns):
        begun = time.monotonic()
        readings = brackets(time.CLOCK_MONOTONIC, READINGS, PAUSE_S)
        took = time.monotonic() - begun
        every += readings
        fit = frequency.least_squares(readings)
        found["least squares"].append((fit.frequency.hz, took))
        found["two points"].append((frequency.two_point(readings).hz, took))
        hz, seconds = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        found["quanta"].append((float(hz), float(seconds)))
    truth = frequency.least_squares(every).frequency
    return {
        "truth_hz": truth.hz,
        "truth_relative": truth.relative,
        "over_s": (every[-1].reference_ns - every[0].reference_ns) / 1e9,
        "steered": before != host_clocks().steering and before.synchronised,
        "errors": {name: [hz / truth.hz - 1 for hz, _ in turns] for name, turns in found.items()},
        "seconds": {name: statistics.median(seconds for _, seconds in turns) for name, turns in found.items()},
    }


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    names = {"two points": "keisoku, two points", "least squares": "keisoku, least squares", "quanta": "quanta 0.13"}
    lines = [
        "| calibration | takes | lowest error | highest error | standard deviation |",
        "|---|---|---|---|---|",
    ]
    for name, shown in names.items():
        errors = [error * 1e9 for error in figures["errors"][name]]
        cells = (f"{value:+.2f} ppb" for value in (min(errors), max(errors)))
        spread = f"{statistics.stdev(errors):.2f} ppb" if len(errors) > 1 else "–"
        lines.append(f"| {shown} | {figures['seconds'][name]:.3f} s | {' | '.join(cells)} | {spread} |")
    turns = len(figures["errors"]["quanta"])
    lines.append("")
    lines.append(
        f"{turns} turns; against CLOCK_MONOTONIC over {figures['over_s']:.1f} s"
        f" ({figures['truth_hz']:.2f} Hz, itself known to {2e9 * figures['truth_relative']:.2f} ppb, k = 2)"
        + (", which was steered meanwhile." if figures["steered"] else ".")
    )
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)))


if __name__ == "__main__":
    main()
