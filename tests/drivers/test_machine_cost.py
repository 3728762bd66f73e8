"""The cost of a frame in a virtual machine between two tap interfaces: the time of its threads, and a slower guest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import keisoku as ks
from drivers.bridging_machine import PORTS, BridgingMachine
from drivers.guest import QEMU, NoGuestError
from keisoku.ground.run.result import Row

LOADED: dict[str, Any] = {
    "tx": PORTS[0], "rx": PORTS[1], "frame_bytes": 64, "process": [QEMU], "profile": "quick",
    "rate_fps": 4000, "bursts": [8],
}  # fmt: skip
"""A tenth of what it carries on a quiet host."""


@pytest.fixture(scope="module")
def machine() -> Iterator[BridgingMachine]:
    try:
        with BridgingMachine() as made:
            yield made
    except NoGuestError as error:
        pytest.skip(str(error))


def test_most_of_the_time_is_the_machine_s(machine: BridgingMachine, tmp_path: Path) -> None:
    """The ports have no engine in their names: the one that can time batches is used."""
    found = ks.measure("cost", **LOADED, out=tmp_path / "run").results[0]
    figures = found.rows[0].figures
    if not figures:
        pytest.skip(f"the host: {found.rows[0].remark}")
    assert figures["elsewhere"].value > 5 * figures["batches"].value
    assert figures["cost"].bounds is not None and figures["cost"].bounds[0] > 0.5 * figures["elsewhere"].value


def test_a_guest_with_a_row_of_bridges_takes_longer(machine: BridgingMachine, tmp_path: Path) -> None:
    """More than twice as long, as single runs differ by a half on a busy host."""
    found: dict[str, list[Row]] = {"a": [], "b": []}
    for number in range(3):
        for side, rows in found.items():
            machine.be(side)
            rows.append(ks.measure("cost", **LOADED, out=tmp_path / f"{side}{number}").results[0].rows[0])
    costs = {side: [row.figures["cost"].value for row in rows if row.figures] for side, rows in found.items()}
    if not all(costs.values()):
        pytest.skip(f"the host: {[row.remark for rows in found.values() for row in rows]}")
    assert median(costs["b"]) > median(costs["a"])
