"""How often the 95 % interval of the critical load contains the truth, on devices whose curve is known.

Run it by itself: `python benchmarks/accuracy/critical_load.py [RUNS]`. Trials are drawn, not sent: a trial at a load is
clean with the probability that the device's curve has there. The whole procedure is driven, with its choice of loads
and its end. Every run has a critical load of its own.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from search import _capabilities, _facts

from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LINK_BITS_PER_SECOND = 1e10
LIMIT_S = 60
"""Of load for each run: 120 trials."""
Curve = Callable[[float], float]
"""Probability of a clean trial at a load, relative to the critical load."""


def noisy(spread: float, lapse: float = 0.0) -> Curve:
    """A limit that is normally distributed, and trials that lose a frame at any load."""
    normal = NormalDist()
    shift = 1 + spread * normal.inv_cdf(0.5 / (1 - lapse))
    return lambda load: (1 - lapse) * normal.cdf((shift - load) / spread)


def logistic(spread: float) -> Curve:
    """Heavier tails than the model's."""
    return lambda load: 1 / (1 + math.exp(min(500.0, 1.7 * (load - 1) / spread)))


def leak(edge: float = math.inf) -> Curve:
    """Every frame is lost with the same small probability; above `edge` times the critical load some always are."""
    return lambda load: math.exp(-math.log(2) * load) if load < edge else 0.0


DEVICES: dict[str, Curve] = {
    "sharp": noisy(1e-6),
    "spread 0.3 %": noisy(0.003),
    "spread 1 %": noisy(0.01),
    "spread 3 %": noisy(0.03),
    "spread 10 %": noisy(0.1),
    "spread 2 %, 5 % lapses": noisy(0.02, 0.05),
    "logistic, 3 %": logistic(0.03),
    "leak": leak(),
    "leak, limit at 1.5": leak(1.5),
}


def estimated(curve: Curve, seed: int, **settings: float) -> tuple[Result, float]:
    """The result of one run, and the true critical load in frames/s."""
    chance = random.Random(seed)
    truth_fps = LINK_BITS_PER_SECOND / (84 * 8) * chance.uniform(0.2, 0.6)
    plan = parse({"methods": ["critical_load"], "dut": "sim:curve", "frame_bytes": [64], "critical_load": settings})
    method = begin("critical_load", plan, _capabilities(LINK_BITS_PER_SECOND), Bias(exact=True), {})
    reply, count = None, 0
    while True:
        try:
            trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
        except StopIteration as stop:
            return stop.value, truth_fps
        count += 1
        reply = drawn(trial, curve(trial.frames_per_second / truth_fps), truth_fps, count, chance)


def drawn(trial: Trial, clean: float, truth_fps: float, index: int, chance: random.Random) -> TrialRecord:
    """The record of a trial that is clean with this probability; a lossy one loses at least one frame."""
    offered = round(trial.frames_per_second * trial.duration_ns / NS_PER_S)
    above = max(0.0, 1 - truth_fps * chance.gauss(1, 0.03) / trial.frames_per_second)
    lost = 0 if chance.random() < clean else max(1, round(above * offered))
    return TrialRecord(
        index=index, method="critical_load", trial=trial, facts=_facts(offered, lost, trial.duration_ns, False),
        started_at="", engine_seconds=trial.duration_ns / NS_PER_S, invalid_because=[],
    )  # fmt: skip


def main() -> None:
    """Prints the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| device | intervals with the truth | trials | bias | rms error | half width | spread |")
    print("|---|---|---|---|---|---|---|")
    for name, curve in DEVICES.items():
        hits, trials, errors, widths, spreads = 0, [], [], [], []
        for seed in range(runs):
            result, truth_fps = estimated(curve, seed, limit_s=LIMIT_S)
            figures = result.rows[0].figures
            low, high = figures["critical_load"].bounds or (0.0, 0.0)
            hits += low <= truth_fps <= high
            trials.append(figures["trials"].value)
            errors.append(figures["critical_load"].value / truth_fps - 1)
            widths.append((high - low) / 2 / truth_fps)
            spreads.append(figures["spread"].value)
        rms = math.sqrt(statistics.mean(error**2 for error in errors))
        print(
            f"| {name} | {hits} of {runs} | {statistics.mean(trials):.0f} | {100 * statistics.mean(errors):+.2f} % |"
            f" {100 * rms:.2f} % | {100 * statistics.mean(widths):.2f} % | {statistics.median(spreads):.2f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
