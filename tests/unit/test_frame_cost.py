"""`benchmarks/speed/frame_cost.py`: which CPU limits a rate, and the limits that follow from what frames cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "speed"))

from frame_cost import Cost, limits


def row(name: str, *busier_ns: int, device: str = "bridge") -> dict[str, Any]:
    return {"device": device, "name": name, "busier_ns": sorted(busier_ns)}


def test_the_busier_cpu_limits_the_rate_whichever_it_is() -> None:
    assert Cost(sender_ns=800.0, device_ns=650.0, received_fps=1e6).busier_ns == 800.0
    assert Cost(sender_ns=800.0, device_ns=950.0, received_fps=1e6).busier_ns == 950.0


def test_a_limit_is_the_peers_cheapest_way_to_the_bare_sender() -> None:
    rows = [row("bare", 900, 1000, 5000), row("keisoku", 1250), row("af_xdp", 3000), row("af_xdp", 2500)]
    assert limits(rows) == [{"device": "bridge", "peer": "af_xdp", "ratio": 2.0, "limit": 2.5}]


def test_a_keisoku_that_costs_less_than_the_bare_sender_refutes_the_limit() -> None:
    rows = [row("bare", 1000), row("keisoku", 800), row("trafgen", 2400)]
    (found,) = limits(rows)
    assert found["ratio"] > found["limit"]


def test_devices_have_limits_of_their_own() -> None:
    names = {"bare": 100, "keisoku": 200, "trafgen": 400}
    rows = [row(name, cost * factor, device=f"of {factor}") for factor in (1, 3) for name, cost in names.items()]
    assert [(found["device"], found["limit"]) for found in limits(rows)] == [("of 1", 4.0), ("of 3", 4.0)]
