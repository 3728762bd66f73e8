"""What stays open from pair to pair: opened once, closed at the end, and given up where a run meets other ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import keisoku as ks
from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, Settings
from keisoku.running.measurement.table import find
from keisoku.subjects.device import bench, measuring, table
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.table import PROCEDURES

SIDES: dict[str, Any] = {"frame_bytes": 512, "dut": "sim:gs908e", "trial": {"trial_s": 0.01, "rate_fps": 1000}}


class Opened:
    """Stands for an open engine, and remembers what was made of it."""

    def __init__(self) -> None:
        self.made, self.closed, self.used = 0, 0, 0

    @contextmanager
    def engine(self, plans: Sequence[Plan]) -> Iterator[Opened]:
        self.made += 1
        yield self
        self.closed += 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The device's runs have it in common, and the third of them finds that its ports are gone."""
    found, measure = Opened(), measuring.measure

    def measured(work: Work[Plan]) -> None:
        if work.bench is not None:
            found.used += 1
            work.bench = None
            if found.used == 3:
                raise EngineError("kx0: it is gone")
        measure(work)

    monkeypatch.setattr(bench, "in_common", lambda plans, observer: found.engine(plans))
    monkeypatch.setattr(measuring, "measure", measured)
    return found


def test_ports_that_are_gone_are_opened_again_by_each_run(opened: Opened, tmp_path: Path) -> None:
    ks.ab("trial", **SIDES, pairs=4, out=tmp_path / "run")
    assert (opened.made, opened.closed, opened.used) == (1, 1, 3), "not used again, and closed at once"
    assert len(list((tmp_path / "run").glob("pair-*/*/result.json"))) == 8, "no run is missing"


def test_sides_that_differ_in_ports_or_frames_have_nothing_in_common() -> None:
    def asked(**more: Any) -> Plan:
        return parse({"methods": ["trial"], "dut": "lab:bridge", "trial": {"rate_fps": 1000}, **more})

    def observer() -> Any:
        raise AssertionError("nothing is opened")

    for other in ({"dut": "lab:router"}, {"headers": "ipv6"}, {"rx": "3"}, {"engine": "packet"}):
        assert bench.in_common([asked(), asked(**other)], observer) is None  # type: ignore[arg-type]
    assert bench.in_common([asked(dut="sim:gs908e")] * 2, observer) is None  # type: ignore[arg-type]


def test_entries_without_ports_have_nothing_in_common() -> None:
    entry = find("clock cost")
    assert entry.bench([RunSettings()], None) is None  # type: ignore[arg-type]


def test_the_second_run_of_the_first_pair_begins_near_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is known of the tester is one figure for both sides from the first pair on."""
    began: list[str] = []

    def noted(settings: Settings, result: Result) -> Settings:
        began.append(result.measurement)
        return settings

    noting = replace(PROCEDURES["trial"], near=noted)
    monkeypatch.setattr(table, "_loaded", lambda name: noting)
    ks.ab("trial", **SIDES, pairs=2, out=tmp_path / "run")
    assert began == 5 * ["trial"], "once in the first pair, and twice in each run of the second"
