"""The port map on a real bridge: every way measured, every frame accounted for, no chip invented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import assert_adds_up, keisoku, namespaces_of, trials

pytestmark = [pytest.mark.lab, pytest.mark.alone]


def test_every_way_through_a_bridge_is_measured(tmp_path: Path) -> None:
    done = keisoku(
        "port-map", "--dut", "lab:bridge", "--ports", "1,2,3", "--rate", "2kpps", "--size", "64,512",
        "--duration", "0.1s", "--waits", "0.02s", "--no-limits", "--out", "run", "--json", cwd=tmp_path,
    )  # fmt: skip
    done.measured_or_said_why_not()
    run = tmp_path / "run"
    assert_adds_up(run)
    ways = {tuple(record["trial"]["flows"][0][end] for end in ("transmit", "receive")) for record in trials(run)}
    assert ways == {(one, other) for one in range(3) for other in range(3) if one != other}
    (result,) = json.loads(done.stdout)["results"]
    assert [row["case"] for row in result["rows"]] == [f"{one + 1} to {other + 1}" for one, other in sorted(ways)]
    # The host may spoil trials of a way: then nothing is compared, and that is said.
    assert result["remarks"][0].startswith(("with fewer than 4 ports a chip cannot be", "no size passed on every way"))
    assert (run / "report.html").stat().st_size > 0
    assert namespaces_of(done.pid) == []
