"""`keisoku qos` and `keisoku marking` on disciplines of the kernel; one that lacks a part skips by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.lab_passages import require

import keisoku as ks
from keisoku.ground.run.result import Result, Row

pytestmark = [pytest.mark.lab, pytest.mark.alone]

SIZE = 512
QOS: dict[str, Any] = {
    "classes": [0, 32],
    "window_s": 1.0,
    "pause_s": 0.6,
    "trial_s": 1.0,
    "counted_bytes": -4,
    "maximum_fps": 8000,
}


def measured(place: Path, method: str, device: str, **settings: Any) -> Result:
    phases = {"learning_wait_s": 0.1, "drain_s": 0.5, "rest_s": 0.5}
    own: dict[str, Any] = {"dut": device, "ports": ["1", "2"], "frame_bytes": [SIZE], "phases": phases}
    return ks.measure(method, out=place / "run", **own, **settings).result(method)


def rows(result: Result, group: str) -> dict[str, Row]:
    return {row.case: row for row in result.rows if row.group == group}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("police", "delays none"),
        ("tbf", "frames wait"),
        pytest.param("htb", "frames wait", marks=pytest.mark.long),
    ],
)
def test_rate_and_burst_of_a_policer_and_of_shapers_of_the_kernel(tmp_path: Path, kind: str, said: str) -> None:
    require(kind)
    queue = {"police": "", "tbf": "&queue=100kB", "htb": "&limit=200"}[kind]
    limits = rows(measured(tmp_path, "qos", f"lab:{kind}?rate=10Mbps&bucket=30kB{queue}", **QOS), "Alone")
    for row in limits.values():
        assert said in row.remark
        assert row.figures["rate"].value == pytest.approx(1e7, rel=0.02)
        assert row.figures["burst"].value == pytest.approx(30_000, rel=0.1)


def test_strict_priority_of_the_kernel_is_told(tmp_path: Path) -> None:
    require("ets")
    order = rows(measured(tmp_path, "qos", "lab:ets?rate=10Mbps&strict=8", **QOS), "Order")
    assert {case: row.figures["level"].value for case, row in order.items()} in (
        {"DSCP 0": 2, "DSCP 32": 1},
        {"DSCP 0": 1, "DSCP 32": 2},
    )
