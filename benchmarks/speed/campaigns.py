"""Cost of a campaign in one process, and on a Dask cluster of 1, 2 and 3 workers in network namespaces of their own.

python benchmarks/speed/campaigns.py      as root; needs the extra 'cluster'

Two kinds of runs: simulated ones, which take a core for about a second, and ones that wait for a second, as real trials
do. Each campaign is carried out twice, and the second time counts, so that the workers have loaded keisoku.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.command_line import start
from support.dask_cluster import DaskCluster

RUNS = 24
KINDS = {
    "simulated": 'methods = ["loss"]\nframe_bytes = [64]\ndut = "sim:gs908e"\n[measurements.m.loss]\ntrial_s = 60.0\n',
    "waiting": 'measurement = "clock stability"\nreference = "raw"\nduration_s = 1.0\nevery_s = 0.1\n',
}
PLAN = 'repetitions = {runs}\n[devices.d]\nresources = ["tester"]\n[measurements.m]\n{measurement}'


@dataclass(frozen=True)
class Speed:
    """What one campaign took, beside the same one in one process."""

    kind: str
    workers: int
    """0: in one process."""
    seconds: float
    as_fast: float


def main() -> list[Speed]:
    """Prints a table, and returns its rows."""
    speeds = []
    print(f"| {RUNS} runs | workers | s | times as fast as one process | runs of each worker |\n|---|---|---|---|---|")
    for kind, measurement in KINDS.items():
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "plan.toml").write_text(PLAN.format(runs=RUNS, measurement=measurement))
            alone_s = timed(folder, None)[0]
        speeds.append(Speed(kind, 0, alone_s, 1.0))
        print(f"| {kind} | one process | {alone_s:.1f} | 1 | {RUNS} |", flush=True)
        for workers in (1, 2, 3):
            with TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "plan.toml").write_text(PLAN.format(runs=RUNS, measurement=measurement))
                with DaskCluster(folder, ["tester=1"] * workers) as cluster:
                    timed(folder, cluster)
                    seconds, of_each = timed(folder, cluster)
            speeds.append(Speed(kind, workers, seconds, alone_s / seconds))
            print(f"| {kind} | {workers} | {seconds:.1f} | {alone_s / seconds:.2f} | {of_each} |", flush=True)
    return speeds


def timed(folder: Path, cluster: DaskCluster | None) -> tuple[float, str]:
    """Seconds of a campaign, and how many runs each worker made."""
    begin = monotonic()
    out = f"run-{begin}"
    words = ["campaign", "plan.toml", "--out", out]
    child = start(*words, cwd=folder) if cluster is None else cluster.keisoku(*words, "--cluster", cluster.address)
    _, said = child.communicate()
    seconds = monotonic() - begin
    assert child.returncode == 0, said
    lines = [json.loads(line) for line in (folder / out / "runs.jsonl").read_text().splitlines()]
    assert len({line["run"] for line in lines}) == len(lines) == RUNS
    made = [line["worker"] for line in lines]
    return seconds, ", ".join(str(made.count(worker)) for worker in sorted(set(made)))


if __name__ == "__main__":
    main()
