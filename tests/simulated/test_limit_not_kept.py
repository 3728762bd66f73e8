"""A limit that is lifted without being asked, as by the guard after a stall: what is observed is what is set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import carry_out, resume
from keisoku.running.measurement.table import find
from keisoku.subjects.system.interval_log import KeptInterval, kept_intervals
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.settings import GovernSettings, LimitSettings
from keisoku.subjects.system.simulated.virtual import VirtualSystem

SEARCH = {"objective": "sum_requests", "floor_bps": 100e6, "seed": 3}
LOST = range(20, 500, 40)
"""Observations before which all limits are lifted."""


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, float | None]]:
    """Every system loses its limits now and then; what was asked of it."""
    asked: list[Mapping[str, float | None]] = []
    observe, limit = VirtualSystem.observe, VirtualSystem.limit
    seen = 0

    def observed(self: VirtualSystem, seconds: float) -> Observation:
        nonlocal seen
        seen += 1
        if seen in LOST:
            limit(self, {})
        return observe(self, seconds)

    def limited(self: VirtualSystem, limits: Mapping[str, float | None]) -> None:
        asked.append(dict(limits))
        limit(self, limits)

    monkeypatch.setattr(VirtualSystem, "observe", observed)
    monkeypatch.setattr(VirtualSystem, "limit", limited)
    return asked


def lost(intervals: list[KeptInterval]) -> list[int]:
    return [at for at, kept in enumerate(intervals) if not kept.as_asked(["fast"])]


def test_intervals_after_a_limit_was_lifted_do_not_claim_it(
    forgetful: list[Mapping[str, float | None]], tmp_path: Path
) -> None:
    settings = GovernSettings(system="sim:e4", duration_s=150, **SEARCH)
    (result,) = carry_out(Work(find("system govern"), settings, tmp_path / "run")).results
    intervals = kept_intervals(RunDirectory.open(tmp_path / "run"))
    found = lost(intervals)
    assert found and result.flagged("limit-not-kept")
    for at in found:
        assert not intervals[at].used and intervals[at].observation.clients[0].limit_bps is None
        assert intervals[at + 1].as_asked(["fast"]), "it is set again at once"
    assert intervals[-1].purpose == "hold", "a lifted limit is not taken for another load"


def test_a_search_does_not_use_what_was_observed_without_the_limit(
    forgetful: list[Mapping[str, float | None]], tmp_path: Path
) -> None:
    settings = LimitSettings(system="sim:e4", budget=14, repetitions=2, **SEARCH)
    (result,) = carry_out(Work(find("system limit"), settings, tmp_path / "run")).results
    intervals = kept_intervals(RunDirectory.open(tmp_path / "run"))
    assert lost(intervals) and result.flagged("limit-not-kept") and result.flagged("limit")
    assert all(kept.as_asked(["fast"]) for kept in intervals if kept.used)
    assert resume(tmp_path / "run").results == [result]


def test_a_limit_that_never_stays_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(VirtualSystem, "limit", lambda self, limits: None)
    settings = LimitSettings(system="sim:e4", **SEARCH)
    with pytest.raises(EngineError, match=r"was set 5 times and did not stay"):
        carry_out(Work(find("system limit"), settings, tmp_path / "run"))
