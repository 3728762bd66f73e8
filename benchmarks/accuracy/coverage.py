"""How often the interval of a single run contains the truth: throughput, p50, p99, and loss at 110 %, on real devices.

`python benchmarks/accuracy/coverage.py [RUNS]` (needs root) measures each device so often (default 20), quiet and
beside the disturber of the tests, in random order. The truth is the capacity where the device has a known one, and the
median of all runs of both conditions elsewhere. A capacity lets a burst of 0.32 ms pass (docs/lab.md), so that in
trials of 0.2 s every load up to 1.0016 of it is truly without loss: an interval that meets this range is right. A bound
('at least') is right if no run showed less to be the truth.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.disturber import Disturber

from keisoku.ground.entry import Work
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find

CAPACITY_FPS = 300_000
DEVICES = {
    "bridge": "lab:bridge",
    "router": "lab:router",
    "bridge, 300 kframes/s": f"lab:bridge?capacity={CAPACITY_FPS // 1000}kpps",
}
BURST_S, TRIAL_S = 320e-6, 0.2
LOAD_FPS = 1.1 * CAPACITY_FPS
PHASES = {"learning_wait_s": 0.01, "drain_s": 0.02, "rest_s": 0.02}


def plan(dut: str, seed: int) -> dict[str, object]:
    """Throughput to 2 %, latency of five trials at 100 kframes/s, and one trial at 110 % of the known capacity."""
    return {
        "methods": ["throughput", "latency", "trial"],
        "dut": dut,
        "frame_bytes": [64],
        "calibration": "none",
        "seed": seed,
        "phases": PHASES,
        "throughput": {"trial_s": TRIAL_S, "resolution_percent": 2.0},
        "latency": {"trial_s": 0.2, "repetitions": 5, "rate_fps": 100_000},
        "trial": {"trial_s": 0.5, "rate_fps": LOAD_FPS},
    }


def measured(dut: str, seed: int, disturbed: bool, folder: Path) -> dict[str, dict[str, Any]]:
    """The figures of one run by name."""
    path = folder / f"{seed}"
    with Disturber(seed=seed) if disturbed else nullcontext():
        device = find("device")
        run = carry_out(Work(device, parsed(device.settings, plan(dut, seed)), path))
    found: dict[str, dict[str, Any]] = {}
    for result in run.results:
        row = result.rows[0]
        wanted = {"throughput": ("throughput",), "latency": ("p50", "p99"), "trial": ("loss",)}[result.measurement]
        found |= {name: json.loads(row.figures[name].model_dump_json()) for name in wanted if name in row.figures}
    return found


def ends(figure: dict[str, Any]) -> tuple[float, float]:
    """The interval of a figure; a bound is open at one end."""
    if figure.get("bound"):
        return (figure["value"], float("inf")) if figure["bound"] == "at least" else (0.0, figure["value"])
    if "interval" in figure:
        return figure["interval"]["lower"], figure["interval"]["upper"]
    return figure["value"] - figure["uncertainty"], figure["value"] + figure["uncertainty"]


def table(runs: dict[tuple[str, bool], list[dict[str, Any]]]) -> str:
    """Markdown: one line a device, figure and condition."""
    lines = [
        "| device | figure | host | measured | bounds | truth | intervals with the truth | median half width |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for device in DEVICES:
        for name in ("throughput", "p50", "p99", "loss"):
            everything = [one[name] for state in (False, True) for one in runs[device, state] if name in one]
            truth = statistics.median(figure["value"] for figure in everything) if everything else 0.0
            most = truth
            if "300" in device and name in ("throughput", "loss"):
                truth = CAPACITY_FPS if name == "throughput" else 100 * (1 - CAPACITY_FPS / LOAD_FPS)
                most = CAPACITY_FPS * (1 + BURST_S / TRIAL_S) if name == "throughput" else truth
            elif all(figure.get("bound") == "at least" for figure in everything):
                most = truth = max((figure["value"] for figure in everything), default=0.0)
            for state in (False, True):
                figures = [one[name] for one in runs[device, state] if name in one]
                bounds = [figure for figure in figures if figure.get("bound")]
                right = sum(lower <= most and truth <= upper for lower, upper in map(ends, figures))
                widths = [(upper - lower) / 2 for f in figures if not f.get("bound") for lower, upper in [ends(f)]]
                width = f"{statistics.median(widths):.3g}" if widths else ""
                lines.append(
                    f"| {device} | {name} | {'disturbed' if state else 'quiet'} | {len(figures) - len(bounds)} |"
                    f" {len(bounds)} | {truth:.6g} | {right} of {len(runs[device, state])} | {width} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Measures all and prints the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    order = [(device, state) for device in DEVICES for state in (False, True) for _ in range(count)]
    random.Random(1).shuffle(order)
    runs: dict[tuple[str, bool], list[dict[str, Any]]] = {
        (device, state): [] for device in DEVICES for state in (False, True)
    }
    with tempfile.TemporaryDirectory() as folder:
        for seed, (device, state) in enumerate(order, 1):
            found = measured(DEVICES[device], seed, state, Path(folder))
            runs[device, state].append(found)
            print(seed, device, "disturbed" if state else "quiet", json.dumps(found), file=sys.stderr, flush=True)
    print(table(runs))


if __name__ == "__main__":
    main()
