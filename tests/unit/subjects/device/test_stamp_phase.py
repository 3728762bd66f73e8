"""Percentiles of latencies whose two timestamps have steps: how far they are from those without steps at most."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from keisoku.subjects.device.analysis.stamp_phase import percentile_share, phase_share
from keisoku.subjects.device.record.counts import Buckets, Latency

FRAMES = 200_000


def latency(values: NDArray[np.float64]) -> Latency:
    least, most, mean, deviation = values.min(), values.max(), values.mean(), values.std()
    return Latency(
        count=len(values), min_ns=least, max_ns=most, mean_ns=mean, deviation_ns=deviation, histogram=Buckets()
    )


def stamped(true_ns: NDArray[np.float64], gap_ns: float, step_ns: float) -> NDArray[np.float64]:
    sent = np.arange(len(true_ns)) * gap_ns
    return (np.floor((sent + true_ns) / step_ns) - np.floor(sent / step_ns)) * step_ns


def drawn(seed: int) -> tuple[NDArray[np.float64], float, float]:
    """Latencies, the gap between frames and the step."""
    random = np.random.default_rng(seed)
    kind = random.choice(["uniform", "normal", "exponential", "two humps"])
    step = float(random.choice([1.0, 8.0, 40.0]))
    width = step * float(np.exp(random.uniform(np.log(0.3), np.log(300))))
    values = {
        "uniform": lambda: random.random(FRAMES) * width,
        "normal": lambda: 8 * width + width * random.standard_normal(FRAMES),
        "exponential": lambda: random.exponential(width, FRAMES),
        "two humps": lambda: width * (random.standard_normal(FRAMES) + 12 + 3 * (random.random(FRAMES) < 0.3)),
    }[str(kind)]()
    phases = int(random.choice([1, 2, 5, 1000]))
    gap = step * (100 + (0.6180339887 if phases == 1000 else 1 / phases))
    return 500.0 + values, gap, step


@pytest.mark.parametrize("percent", [50.0, 99.0, 99.9])
def test_percentiles_of_coarse_stamps_were_said_to_be_off_by_a_whole_step(percent: float) -> None:
    """The rule was made with seeds from 0."""
    inside, shares = 0, []
    for seed in range(3000, 3040):
        values, gap, step = drawn(seed)
        seen = stamped(values, gap, step)
        ranked = float(np.quantile(seen, percent / 100, method="inverted_cdf"))
        shares.append(percentile_share(ranked, [latency(seen)], step, phase_share(gap / step, FRAMES)))
        # What lies between two frames is a matter of chance.
        rank = round(FRAMES * percent / 100)
        near = np.sort(values)[[rank - 20, rank + 20]]
        inside += near[0] - shares[-1] * step <= ranked <= near[1] + shares[-1] * step
    assert inside == 40
    assert min(shares) < 0.65 and shares.count(1.0) < 30


def test_latencies_of_less_than_some_steps_may_be_off_by_a_whole_one() -> None:
    values = np.full(1000, 512.9)
    seen = stamped(values, 100.37 * 8, 8.0)
    assert percentile_share(float(seen.max()), [latency(seen)], 8.0, 0.01) == 1.0
