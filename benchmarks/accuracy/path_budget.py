"""Whether `keisoku path one-packet --budget` is hard: the time of the whole command, beside busy processes.

`python benchmarks/accuracy/path_budget.py [--hogs N …] [--budgets S …]` (needs root) measures a path of three links in
the lab for each budget, with N busy processes for each CPU (default 0 and 6), and prints how long the command took, how
much of it was before the first probe and after the last one, and how many probes it sent. Judges nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.compute as pc

from keisoku.errors import KeisokuError
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.directory import RunDirectory

M = 1_000_000
HOPS = (Hop(100 * M), Hop(40 * M), Hop(100 * M))


@contextmanager
def hogs(each_cpu: int) -> Iterator[None]:
    """Busy processes in the session of the command: in another one the kernel would give both sessions half each."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(each_cpu * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def row(lab: PathLab, each_cpu: int, budget_s: float) -> str:
    """One run of the command, which cannot reach its precision."""
    host = f"{lab.target_address}@{lab.tester_namespace}"
    words = ["path", "one-packet", host, "--precision", "0.01", "--budget", f"{budget_s:g}s"]
    with tempfile.TemporaryDirectory(prefix="keisoku-bench-") as folder, hogs(each_cpu):
        out = Path(folder) / "run"
        began_s = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "keisoku", *words, "--out", str(out)], capture_output=True, text=True
        )
        ended_s = time.time()
        cells = [f"{each_cpu}", f"{budget_s:g} s", f"{ended_s - began_s:.1f} s", *("–",) * 3, f"{done.returncode}"]
        try:
            sent = RunDirectory.open(out).rows("probes")["sent_ns"]
            first_s, last_s = pc.min(sent).as_py() / 1e9, pc.max(sent).as_py() / 1e9
            cells[3:6] = [f"{first_s - began_s:.1f} s", f"{ended_s - last_s:.1f} s", f"{len(sent)}"]
        except KeisokuError:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hogs", type=int, nargs="+", default=[0, 6])
    options.add_argument("--budgets", type=float, nargs="+", default=[5, 15, 30])
    chosen = options.parse_args()
    print(
        "| busy processes for each CPU | budget | the command took | before the first probe | after the last | probes"
        " | exit code |"
    )
    print("|---|---|---|---|---|---|---|")
    with PathLab(list(HOPS), icmp="unlimited") as lab:
        for each_cpu in chosen.hogs:
            for budget_s in chosen.budgets:
                print(row(lab, each_cpu, budget_s), flush=True)


if __name__ == "__main__":
    main()
