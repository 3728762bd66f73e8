"""How often `keisoku ab` finds a slowdown of 5 % of a real device, and how often it gives a false alarm.

Run it by itself, with root: `python benchmarks/detection/paired_real.py [--tries 10] [--equals 20] [--within 10min]`. A
is `lab:bridge?capacity=300kpps`; B has 285 kpps in a try and the same capacity in a comparison of equals. Each kind is
carried out quiet and beside the disturber of the tests, all in random order. Equals take 14 pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.disturber import Disturber

A = "lab:bridge?capacity=300kpps"
SLOWER = "lab:bridge?capacity=285kpps"
MEASUREMENT = ["throughput", "--size", "64", "--duration", "0.1s", "--resolution", "1%", "--waits", "0.02s"]
EQUALS_PAIRS = 14


def compared(b: str, ends: list[str], disturbed: bool, seed: int, folder: Path) -> tuple[str, float]:
    """The verdict in words, and how long it took in seconds."""
    began_s = time.monotonic()
    command = [sys.executable, "-m", "keisoku", "ab", *MEASUREMENT, "--a", f"--dut {A}", "--b", f"--dut {b}"]
    command += [*ends, "--seed", str(seed), "--json", "--out", str(folder / str(seed))]
    with Disturber(seed=seed) if disturbed else nullcontext():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        raise SystemExit(done.stderr)
    row = json.loads(done.stdout)["results"][0]["rows"][0]
    found = f"{row['remark']}, {row['figures']['change']['value']:.1f} %, {row['figures']['pairs']['value']:.0f} pairs"
    return found, time.monotonic() - began_s


def main() -> None:
    """Measures all and prints a line for each comparison, then how many were found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--equals", type=int, default=20)
    parser.add_argument("--within", default="10min")
    asked = parser.parse_args()
    todo = [(SLOWER, disturbed) for disturbed in (False, True) for _ in range(asked.tries)]
    todo += [(A, place % 2 == 1) for place in range(asked.equals)]
    random.Random(1).shuffle(todo)
    with tempfile.TemporaryDirectory() as folder:
        for seed, (b, disturbed) in enumerate(todo, 1):
            ends = ["--within", asked.within] if b == SLOWER else ["--pairs", str(EQUALS_PAIRS)]
            verdict, took_s = compared(b, ends, disturbed, seed, Path(folder))
            state = "disturbed" if disturbed else "quiet"
            print(f"{'slower' if b == SLOWER else 'equal'} {state} {took_s:.0f} s: {verdict}", flush=True)


if __name__ == "__main__":
    main()
