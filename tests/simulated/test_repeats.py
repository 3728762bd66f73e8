"""What one trial says of a statistic contains what other seeds find: its resolution is not its uncertainty."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.report.digits import EXACT_MARK, digits
from keisoku.ground.statistics.quantity import Quantity

SEEDS = range(12)
NORMAL = """
    ports = 4
    jitter = { distribution = "normal", spread_ns = 412 }
    forwarding = { ns_per_byte = 6.73, constant_ns = 3127 }
    """
FAULTY = f"{NORMAL}\n    faults = {{ reorder_ratio = 0.0047 }}\n"
QUEUES = f"""{NORMAL}
    output = {{ buffer_bytes = 211_000, service_bits_per_second = 4.19e8 }}
    scheduler = {{ quantum_bytes = 1713 }}
    [[queue]]
    codes = [46]
    priority = 1
    [[queue]]
    weight = 1.3
    """
FOUR, THREE = {"ports": ("1", "2", "3", "4")}, {"ports": ("1", "2", "3")}
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("broadcast", NORMAL, FOUR, {"trial_s": 0.005}, ["min", "mean"]),
    ("multicast", NORMAL, THREE, {"trial_s": 0.01, "groups": (3,), "settle_s": 0.1}, ["min", "mean"]),
    ("line_rate", NORMAL, FOUR, {"trial_s": 0.01}, ["min", "mean", "jitter"]),
    ("reordering", FAULTY, {}, {"trial_s": 0.05, "loads_percent": (50,)}, ["late_mean"]),
    ("qos", QUEUES, THREE, {"maximum_fps": 4e4, "classes": (0, 46), "trial_s": 0.1}, ["jitter"]),
    ("buffer_over_time", NORMAL, {}, {"trial_s": 0.1}, ["level"]),
]


def figures(method: str, toml: str, shared: dict[str, Any], own: dict[str, Any]) -> dict[str, list[Quantity]]:
    """Of each case and name, those of all seeds."""
    found = defaultdict[str, list[Quantity]](list)
    for seed in SEEDS:
        settings = shared | {"frame_bytes": 512, "seed": seed, method: own}
        result, _ = carry_out(plan(method, **settings), device(toml))
        for row in result.rows[:1] if method == "buffer_over_time" else result.rows:
            for name, figure in row.figures.items():
                found[f"{'' if method == 'buffer_over_time' else row.case} {name}"].append(figure)
    return found


@pytest.mark.parametrize(("method", "toml", "shared", "own", "names"), CASES, ids=[case[0] for case in CASES])
def test_a_statistic_of_one_trial_contains_that_of_others(
    method: str, toml: str, shared: dict[str, Any], own: dict[str, Any], names: list[str]
) -> None:
    """Each was ± 0.6 ps, or without any width, and none contained the mean of the seeds."""
    found = figures(method, toml, shared, own)
    for name in names:
        cases = [each for key, each in found.items() if key.endswith(f" {name}") and len(each) == len(SEEDS)]
        assert cases
        for each in cases:
            mean = statistics.fmean(figure.value for figure in each)
            inside = [figure.bounds is not None and figure.bounds[0] <= mean <= figure.bounds[1] for figure in each]
            assert sum(inside) >= 0.75 * len(each), (method, name, mean, each)


@pytest.mark.parametrize(("method", "toml", "shared", "own", "names"), CASES, ids=[case[0] for case in CASES])
def test_the_most_that_was_seen_is_an_observation(
    method: str, toml: str, shared: dict[str, Any], own: dict[str, Any], names: list[str]
) -> None:
    for key, each in figures(method, toml, shared, own).items():
        name = key.rsplit(" ", 1)[1]
        if name in ("max", "jitter_max", "late_time", "extent", "latest", "occupancy"):
            assert {figure.covers for figure in each} == {"observed"}, key


def test_the_jitter_at_the_full_rate_is_not_lost_in_its_interval() -> None:
    """0.8 ± 1.5 µs: the first frame of one queue decided it, and the other queues were not asked."""
    found = figures("line_rate", NORMAL, FOUR, {"trial_s": 0.01})
    jitters = [figure for key, each in found.items() if key.endswith(" jitter") for figure in each]
    wide = [figure for figure in jitters if (figure.uncertainty or 0.0) > figure.value]
    assert len(wide) <= 0.1 * len(jitters), wide


def test_the_least_latency_of_a_full_queue_is_narrow_or_an_observation() -> None:
    """5.1 ± 2.4 µs: only the first frames of a class found the queue empty, and others have another jitter."""
    own = {"maximum_fps": 1.1e5, "classes": (0, 46), "trial_s": 0.03}
    found = figures("qos", QUEUES, THREE, own)
    least = [figure for key, each in found.items() if key.endswith(" min") for figure in each]
    assert least and any(figure.covers == "observed" for figure in least)
    assert all((figure.uncertainty or 0.0) <= 0.25 * figure.value for figure in least)


def test_a_rate_that_follows_from_a_line_is_not_exact() -> None:
    """The line was '300 000 ppm', exact as a count."""
    toml = 'jitter = { distribution = "uniform", spread_ns = 900 }\n[output]\nservice_bits_per_second = 7e8\n'
    own = {"trial_s": 0.2, "repetitions": 2, "rate_fps": 200_000}
    result, _ = carry_out(
        plan("clock_mismatch", frame_bytes=512, clock_mismatch=own), device(toml + "buffer_bytes = 100000000\n")
    )
    shown = {name: digits(result.rows[0].figures[name]).mark for name in ("slope", "mismatch", "lost")}
    assert EXACT_MARK not in (shown["slope"], shown["mismatch"]) and shown["lost"] == EXACT_MARK
