"""Rate and burst of a token bucket, from what it let through."""

from __future__ import annotations

import random

import numpy as np

from keisoku.subjects.device.analysis.token_bucket import Served, bucket

SIZE = 512


def policed_by(rate_bps: float, burst: int, fps: float, frames: int, jitter_s: float = 0.0, seed: int = 1) -> Served:
    """What a policer by counted tokens lets through of frames at equal distances."""
    late = random.Random(seed)
    tokens, last_s = float(burst), 0.0
    passed = 0
    below: list[tuple[float, float]] = []
    above: list[tuple[float, float]] = []
    for number in range(frames):
        sent_s = number / fps
        now_s = max(last_s, sent_s + late.random() * jitter_s)
        tokens = min(float(burst), tokens + (now_s - last_s) * rate_bps / 8)
        last_s = now_s
        if tokens >= SIZE:
            tokens -= SIZE
            passed += 1
            below.append((sent_s, passed * SIZE))
        else:
            above.append((sent_s, (passed + 1) * SIZE))
    times, amounts = (np.array(column) for column in zip(*below, strict=True))
    refused, most = (np.array(column) for column in zip(*above, strict=True))
    return Served((times, amounts), (refused, most))


def test_the_rate_and_the_burst_of_20_policers_are_inside_narrow_intervals() -> None:
    chance = random.Random(20)
    for _ in range(20):
        rate, burst = chance.uniform(1e6, 3e7), chance.randrange(2_000, 60_000)
        found = bucket(policed_by(rate, burst, 10_000, 20_000), SIZE)
        assert found is not None and found.off_bytes == 0
        for figure, truth in ((found.rate, rate), (found.burst, float(burst))):
            assert figure.interval is not None
            assert figure.interval.lower <= truth <= figure.interval.upper
            assert figure.interval.upper - figure.interval.lower < 0.01 * truth


def test_frames_that_are_late_at_the_policer_widen_the_interval_and_keep_the_truth_inside() -> None:
    chance = random.Random(21)
    inside = 0
    for seed in range(20):
        rate, burst = chance.uniform(1e6, 3e7), chance.randrange(10_000, 60_000)
        found = bucket(policed_by(rate, burst, 10_000, 20_000, 50e-6, seed), SIZE)
        assert found is not None and found.rate.interval is not None and found.burst.interval is not None
        inside += (
            found.rate.interval.lower <= rate <= found.rate.interval.upper
            and found.burst.interval.lower <= burst <= found.burst.interval.upper
        )
        assert found.rate.interval.upper - found.rate.interval.lower < 0.01 * rate
    assert inside >= 19


def test_a_bucket_that_served_next_to_nothing_has_no_rate() -> None:
    few = Served(
        (np.array([0.0, 0.1]), np.array([512.0, 1024.0])), (np.array([0.05, 0.15]), np.array([1024.0, 1536.0]))
    )
    assert bucket(few, SIZE) is None
