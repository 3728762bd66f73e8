"""`keisoku system govern` on a real network finds a limit, sets it, reads it back, holds it, and leaves none behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Ended, journal_of, outcome_of, start
from support.limited_ports import discipline, ports_file

from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.shape import ServedFile, SystemShape
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.system.govern.governor import Phase
from keisoku.subjects.system.interval_log import KeptInterval, kept_intervals
from keisoku.subjects.system.network.background import Background, BackgroundLoad

pytestmark = [pytest.mark.lab, pytest.mark.alone]
WASTEFUL = Background(connections=(0, 6), udp_bps=(95_000_000, None), bulk=(0, 0))
"""Of 100 Mb/s, UDP takes nearly all and delivers 20: limited to that, the others get the rest."""


@pytest.fixture(scope="module")
def lab() -> Iterator[SystemLab]:
    shape = SystemShape(
        (20_000_000, 75_000_000), files=(ServedFile(100_000),), uplink_bps=100_000_000, queue_bytes=300_000
    )
    with SystemLab(shape) as made:
        yield made


def governed(lab: SystemLab, folder: Path, seconds: float) -> tuple[list[KeptInterval], Ended]:
    words = ["--client", "client1", "--objective", "sum_bytes", "--floor", "5M", "--interval", "0.2s"]
    words += ["--settle", "0.2s", "--duration", f"{seconds:g}s", "--out", "run"]
    command = ["system", "govern", "--system", f"net:{ports_file(lab, folder)}", *words]
    ended = outcome_of(start(*command, cwd=folder), 300)
    assert ended.code == 0, ended.stderr
    return kept_intervals(RunDirectory.open(folder / "run")), ended


@pytest.mark.long
def test_a_governor_holds_a_limit_that_the_port_has_and_leaves_none(lab: SystemLab, tmp_path: Path) -> None:
    """It had never been shown to hold one outside simulations."""
    with BackgroundLoad(lab, WASTEFUL):
        intervals, ended = governed(lab, tmp_path, 24)
    held = [kept for kept in intervals if kept.purpose == Phase.HOLD and kept.used]
    assert held, ended.stderr
    limits = {kept.commanded_bps for kept in held}
    assert None not in limits, f"no limit was held: {held[0].why}"
    for kept in held:
        assert kept.commanded_bps is not None and kept.commanded_bps < 75e6
        assert kept.observation.clients[0].limited_to(kept.commanded_bps)
    # It was lifted and set again many times, and read back each time.
    assert any(kept.used and kept.observation.clients[0].limit_bps is None for kept in intervals)
    assert "htb" not in discipline(lab.ports[0].limit_namespace.name, "up")
    assert not journal_of(ended.pid, "limit")
