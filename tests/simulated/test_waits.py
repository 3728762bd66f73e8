"""What a wait is too short for is no loss: with any wait a figure contains what long waits find, or is left out."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Result

FOUR, THREE = ("1", "2", "3", "4"), ("1", "2", "3")
SHORT: dict[str, dict[str, Any]] = {
    "throughput": {"trial_s": 0.05},
    "loss": {"trial_s": 0.02},
    "forwarding": {"trial_s": 0.05, "loads_percent": (100, 50)},
    "broadcast": {"trial_s": 0.02},
    "microburst": {"outputs": "last", "limit_s": 0.2, "repetitions": 2},
    "multicast": {"trial_s": 0.02, "groups": (3,), "settle_s": 0.1},
}
PLANS: dict[str, dict[str, Any]] = {
    "forwarding": {"ports": FOUR, "pattern": "mesh"},
    "broadcast": {"ports": FOUR},
    "microburst": {"ports": FOUR},
    "multicast": {"ports": THREE},
}
LIMITS = {
    "throughput": ["throughput"],
    "loss": ["loss"],
    "forwarding": ["throughput", "mfr", "loss"],
    "broadcast": ["throughput"],
    "microburst": ["microburst", "buffer"],
    "multicast": ["throughput"],
}
"""Figures that must agree; latencies are those at the load that was found."""


def measured(method: str, toml: str, wait_s: float, size: int) -> Result:
    phases = {"drain_s": wait_s, "rest_s": 0.0, "learning_wait_s": 0.0}
    own = PLANS.get(method, {}) | {"phases": phases, "frame_bytes": size, method: SHORT[method]}
    return carry_out(plan(method, **own), device(toml))[0]


def random_device(draw: random.Random) -> str:
    """Four ports of random speed, buffer and service rate, some with a long latency, some that stall."""
    link = draw.choice([1e7, 1e8, 1e9])
    buffer = int(draw.choice([3e3, 3e4, 3e5, 1e6]) * draw.uniform(0.5, 1.5))
    toml = f"ports = 4\nlink_bits_per_second = {link}\n"
    toml += f"[output]\nbuffer_bytes = {buffer}\nservice_bits_per_second = {link * draw.uniform(0.1, 1)}\n"
    if draw.random() < 0.4:
        toml += f"[forwarding]\nconstant_ns = {10 ** draw.uniform(3, 8):.0f}\n"
    if draw.random() < 0.3:
        period = int(10 ** draw.uniform(6, 9))
        toml += f"[stall]\nperiod_ns = {period}\nduration_ns = {int(period * draw.uniform(0.05, 0.5))}\n"
    return toml


def contradictions(method: str, seeds: range, waits_s: tuple[float, float] = (1e-4, 0.1)) -> list[str]:
    """Figures with a random short wait that do not contain what a wait of 100 s finds."""
    found = []
    for seed in seeds:
        draw = random.Random(seed)
        toml, share, size = random_device(draw), draw.random(), draw.choice([64, 512, 1518])
        wait_s = waits_s[0] ** (1 - share) * waits_s[1] ** share
        truth, short = (measured(method, toml, each_s, size) for each_s in (100.0, wait_s))
        known_rows = {(row.case, row.figures.get("load")): row for row in truth.rows}
        for other in short.rows:
            one = known_rows.get((other.case, other.figures.get("load")), other)
            for name in LIMITS[method]:
                if name in one.figures and name in other.figures:
                    ends, known = other.figures[name].bounds, one.figures[name].bounds
                    assert ends is not None and known is not None
                    least = 1e-6 * abs(one.figures[name].value) + 1e-9
                    if known[1] < ends[0] - least or known[0] > ends[1] + least:
                        found.append(f"seed {seed}, {one.case}: {name} {ends}, but {known}")
    return found


@pytest.mark.parametrize("method", SHORT)
def test_a_wait_that_is_too_short_is_no_limit_of_the_device(method: str) -> None:
    """Before, 'microburst' said 1492 ± 2 for 2296, and 'forwarding' and 'broadcast' other limits without a word."""
    assert contradictions(method, range(8)) == []


@pytest.mark.parametrize("method", SHORT)
def test_so_it_is_without_any_wait(method: str) -> None:
    """'--waits 0' gave a throughput of 0 and a loss of 100 % of a device that loses nothing."""
    assert contradictions(method, range(8, 12), (0.0, 0.0)) == []


def test_a_burst_that_only_the_wait_ended_is_a_bound() -> None:
    toml = "ports = 3\n[output]\nbuffer_bytes = 1000000\nservice_bits_per_second = 3e8\n"
    phases = {"drain_s": 0.02, "rest_s": 0.0, "learning_wait_s": 0.0}
    own = {"ports": THREE, "frame_bytes": 512, "phases": phases, "microburst": SHORT["microburst"]}
    row = carry_out(plan("microburst", **own), device(toml))[0].rows[0]
    assert row.figures["microburst"].bound == "at least" and row.figures["microburst"].value == 1492
    assert "wait longer" in row.remark


def test_a_slow_queue_is_not_taken_for_loss() -> None:
    """A frame leaves every 1.2 ms: none need arrive in the last tenth of a wait of 1 ms, and more would come."""
    phases = {"drain_s": 0.001, "rest_s": 0.0, "learning_wait_s": 0.0}
    slow = device("link_bits_per_second = 1e8\n[output]\nservice_bits_per_second = 1e7\n")
    own = plan("trial", frame_bytes=1518, phases=phases, trial={"trial_s": 0.0004, "rate_fps": 8000})
    record = carry_out(own, slow)[1][0]
    assert record.facts.tracked.lost_frames and not record.valid
    longer = own.model_copy(update={"phases": own.phases.model_copy(update={"drain_s": 0.1})})
    record = carry_out(longer, slow)[1][0]
    assert not record.facts.tracked.lost_frames and record.valid
