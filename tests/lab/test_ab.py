"""A paired comparison on real frames: a router needs longer than a cable, and what is measured is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import namespaces_of, outcome_of, start, trials

import keisoku as ks
from keisoku.ground.lab.available import available

pytestmark = [pytest.mark.lab, pytest.mark.skipif(available() is not None, reason=str(available()))]
PAIRS = 8
"""The fewest that can decide."""


@pytest.mark.long
def test_a_router_needs_longer_than_a_cable(tmp_path: Path) -> None:
    line = f"ab latency --size 64 --rate 2kpps --repetitions 1 --duration 50ms --waits 10ms --pairs {PAIRS} --out run"
    sides = ("--figure", "min", "--a", "--dut lab:cable", "--b", "--dut lab:router")
    done = outcome_of(start(*line.split(), *sides, cwd=tmp_path), timeout_s=240)
    assert namespaces_of(done.pid) == []
    parts = sorted(path for path in (tmp_path / "run").glob("pair-*/*"))
    assert len(parts) == 2 * PAIRS
    assert all(trials(part) for part in parts)
    found = ks.load(tmp_path / "run")
    row = found.results[0].rows[0] if found.results[0].rows else None
    if row is None or row.figures["pairs"].value < PAIRS:  # the host spoiled a run of a pair, and said so
        assert done.code == 2 and ("nothing was measured: " in done.stderr or "left out" in done.stdout)
    else:
        assert done.code == 1 and "B's minimum (64-byte frames) is" in done.stdout
        assert row.figures["b"].value > row.figures["a"].value
