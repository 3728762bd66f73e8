"""All benchmarks in one run: `python benchmarks/speed/bench.py [--quick]`, or `make bench`. Needs root.

Prints each table as soon as it is there, writes all figures to `results/` and the tables into README.md.
What it makes on the host, namespaces and compiled programs, it removes on any exit.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import accounting
import clock
import engines
import frame_cost
import frames
import gaps
import limit_search
import lossless
import path
import path_pair
import results
import serial_link
import simulated
import stream
import throughput
import transactions
import wire
from peers.compiled import compiled

from keisoku.faces.cli import interruption
from keisoku.ground.lab.available import available

PARTS = (
    "throughput",
    "engines",
    "lossless",
    "frame-cost",
    "gaps",
    "accounting",
    "clock",
    "frames",
    "wire",
    "links",
    "path",
    "path-pair",
    "stream",
    "transactions",
    "limit",
    "simulated",
)


def main() -> None:
    """Runs the parts that are asked for, all by default."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a few seconds a cell; README.md stays as it is")
    options.add_argument(
        "--only", choices=PARTS, nargs="+", default=PARTS, help="parts to run; README.md stays as it is"
    )
    chosen = options.parse_args()
    interruption.install()  # also on SIGTERM: senders of others would go on for ever
    if reason := available():
        sys.exit(f"the benchmarks need a lab: {reason}")
    found: results.Results = {"at": results.now(), "quick": chosen.quick, "repetitions": 3 if chosen.quick else 5}
    found["machine"] = results.machine()
    with tempfile.TemporaryDirectory(prefix="keisoku-bench-") as folder:
        where = Path(folder)
        seconds = 0.5 if chosen.quick else 2.0
        bench = throughput.Bench(compiled(where), where, seconds, found["repetitions"])
        for part in chosen.only:
            print(f"\n## {part}\n", flush=True)
            run_part(part, bench, chosen.quick, found)
            # After each part: what is measured is not lost if a later one fails.
            path = results.write(found)
    print(f"\nwritten: {path.name}")
    if not chosen.quick and set(chosen.only) == set(PARTS):
        results.publish(found, f"speed/results/{path.name}")


def run_part(part: str, bench: throughput.Bench, quick: bool, found: results.Results) -> None:
    """Runs one part, prints it and keeps it."""
    if part == "throughput":
        found[part] = []
        for device in throughput.DEVICES:
            rows = throughput.compare(bench, device)
            print(results.throughput_table(rows), flush=True)
            found[part] += rows
    elif part == "engines":
        found[part] = engines.compare(bench)
        print(engines.table(found[part]), flush=True)
    elif part == "lossless":
        found[part] = [row for device in throughput.DEVICES[1:] for row in lossless.compare(bench, device)]
        print(results.lossless_table(found[part]), flush=True)
    elif part == "frame-cost":
        looks = replace(bench, seconds=frame_cost.LOOK_S)
        found[part] = [row for device in throughput.DEVICES[1:] for row in frame_cost.compare(looks, device)]
        print(frame_cost.table(found[part]), flush=True)
    elif part == "gaps":
        found[part] = gaps.compare(bench)
        print(results.gaps_table(found[part]), flush=True)
    elif part == "accounting":
        found[part] = accounting.measure()
        print(accounting.table(found[part]), flush=True)
    elif part == "clock":
        found[part] = clock.measure(3 if quick else clock.TURNS)
        print(clock.table(found[part]), flush=True)
    elif part == "frames":
        found[part] = printed(frames.main, "--seconds", "3" if quick else "10")
    elif part == "wire":
        found[part] = printed(wire.main, "--seconds", "0.2" if quick else "0.3")
    elif part == "links":
        found[part] = printed(serial_link.main, "--repeats", "20" if quick else "100")
    elif part == "path":
        found[part] = printed(path.main, *(["--quick"] if quick else []))
    elif part == "path-pair":
        found[part] = printed(path_pair.main, "--repetitions", "1" if quick else "5")
    elif part == "stream":
        found[part] = printed(stream.main, *(["--quick"] if quick else []))
    elif part == "transactions":
        found[part] = printed(transactions.main, "--turns", "1" if quick else "5")
    elif part == "limit":
        found[part] = limit_search.measure(20 if quick else 300)
        print(limit_search.table(found[part]), flush=True)
    else:
        found[part] = printed(simulated.main, "2" if quick else "20")


def printed(script: Callable[[], None], *words: str) -> list[str]:
    """Runs a benchmark that prints, with its command line; shows and returns the lines."""
    kept = io.StringIO()
    before = sys.argv
    sys.argv = [before[0], *words]
    try:
        with contextlib.redirect_stdout(kept):
            script()
    finally:
        sys.argv = before
        print(kept.getvalue(), end="", flush=True)
    return kept.getvalue().splitlines()


if __name__ == "__main__":
    main()
