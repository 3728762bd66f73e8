"""How true `keisoku stream capacity` is on paths of real namespaces with random rates, in both directions.

`python benchmarks/accuracy/capacity_real.py [FIRST] [COUNT]` measures COUNT paths (default 4) with seeds from FIRST
(default 1) on, 10 s each way, the server in a process of its own. Rates are of IP packets, as the lab's links count
them. Prints a row for each direction. Needs root and a quiet machine.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from keisoku.ground.entry import Work
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find

MEASUREMENT = find("stream capacity")
LEAST_BPS, MOST_BPS = 3e6, 200e6


def main() -> None:
    """Measure, and print."""
    first, count = (int(given) for given in [*sys.argv[1:3], *("1", "4")[len(sys.argv) - 1 :]][:2])
    print("| seed | direction | truth, Mb/s | queue, ms | capacity, Mb/s | error | contained | remark |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(first, first + count):
        chance = random.Random(seed)
        up, down = (round(math.exp(chance.uniform(math.log(LEAST_BPS), math.log(MOST_BPS)))) for _ in range(2))
        queue_bytes = round(math.exp(chance.uniform(math.log(10_000), math.log(500_000))))
        with (
            find_path(f"path?hops=1G,{up}/{down},1G&queue={queue_bytes}&icmp=unlimited") as lab,
            tempfile.TemporaryDirectory() as folder,
        ):
            at = f"{lab.target_address}@{lab.target_namespace}"
            command = [sys.executable, "-m", "keisoku", "stream", "serve", "--at", at, "--port", "0", "--capacity"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                while "capacity" not in server.stdout.readline():
                    continue
                try:
                    settings = parsed(MEASUREMENT.settings, {"host": f"{lab.target_address}@{lab.tester_namespace}"})
                    (result,) = carry_out(Work(MEASUREMENT, settings, Path(folder) / "run")).results
                finally:
                    server.terminate()
        for row, truth_bps in zip(result.rows, (up, down), strict=True):
            found = row.figures["capacity"]
            lower, upper = found.bounds or (math.nan, math.nan)
            print(
                f"| {seed} | {row.case} | {truth_bps / 1e6:.3f} | {8e3 * queue_bytes / truth_bps:.1f}"
                f" | {found.bound} {found.value / 1e6:.3f} ± {(found.uncertainty or math.nan) / 1e6:.3f}"
                f" | {100 * (found.value / truth_bps - 1):+.2f} % | {lower <= truth_bps <= upper} | {row.remark} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
