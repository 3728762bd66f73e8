"""Runs a command while CPUs stand still now and then, as on a host that has other guests. Root only.

    python tests/stall.py --every 0.5 --longest 0.1 -- python -m pytest tests/lab

A process for each CPU takes it away from everything else at random moments: on its own, and all of them at once.
The times are a function of the seed. No test uses it: it is how to see that none depends on an undisturbed host.
"""

from __future__ import annotations

import argparse
import heapq
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator

SHORTEST_S = 0.01
TOGETHER = 4
"""Times as many stalls of one CPU alone as of all at once."""


def moments(seed: int | str, every_s: float, longest_s: float) -> Iterator[tuple[float, float]]:
    """Beginnings and lengths of stalls in s, a Poisson process without end."""
    chosen = random.Random(seed)
    begin_s = 0.0
    while True:
        begin_s += chosen.expovariate(1 / every_s)
        length_s = chosen.uniform(SHORTEST_S, longest_s)
        yield begin_s, length_s
        begin_s += length_s


def stall(cpu: int, began_s: float, seed: int, every_s: float, longest_s: float) -> None:
    """Takes a CPU away until the process that started this one is gone."""
    parent = os.getppid()
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    own = moments(f"{seed} {cpu}", every_s, longest_s)
    common = moments(seed, TOGETHER * every_s, longest_s)
    for begin_s, length_s in heapq.merge(own, common):
        time.sleep(max(0.0, began_s + begin_s - time.monotonic()))
        if os.getppid() != parent:
            return
        while time.monotonic() < began_s + begin_s + length_s:
            pass


def main() -> int:
    """The command's exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--every", type=float, default=0.5, help="mean s between two stalls of a CPU (0.5)")
    options.add_argument("--longest", type=float, default=0.1, help="of a stall, in s (0.1)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("command", nargs="+")
    chosen = options.parse_args()
    began_s = time.monotonic()
    stalling = [
        multiprocessing.Process(
            target=stall, args=(cpu, began_s, chosen.seed, chosen.every, chosen.longest), daemon=True
        )
        for cpu in sorted(os.sched_getaffinity(0))
    ]
    for process in stalling:
        process.start()
    try:
        return subprocess.run(chosen.command, check=False).returncode
    finally:
        for process in stalling:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
