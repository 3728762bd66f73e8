"""The run directory of a one-packet measurement, as it is after its end and after it was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from support.listening import Listening
from support.virtual_path import VirtualHop, VirtualPath

from keisoku.errors import EngineError, KeisokuError
from keisoku.ground import entry
from keisoku.ground.entry import ENDS, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.running.measurement import carry_out
from keisoku.running.measurement.carry_out import findings_of
from keisoku.running.measurement.time_limit import TimeIsUp
from keisoku.subjects.clock import rate_correction
from keisoku.subjects.path.one_packet import measurement
from keisoku.subjects.path.one_packet.fit.minimum import hop_samples
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.measurement import ENDED, MEASUREMENT
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing import schedule
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.settings import OnePacketSettings
from keisoku.subjects.path.one_packet.table import append

M = 1e6


def _probes(settings: OnePacketSettings) -> list[HopProbe]:
    kept: list[HopProbe] = []
    HopProbing(VirtualPath([VirtualHop(100 * M), VirtualHop(10 * M)]), settings, kept.extend, lambda _: None).run()
    return kept


def _run(path: Path, settings: OnePacketSettings, probes: list[HopProbe], ended: bool) -> RunDirectory:
    context = {"stamp_noise_ns": {}, "address": "10.0.2.1", **rate_correction.context()}
    directory = RunDirectory.create(path, MEASUREMENT.name, settings.plain(), context)
    directory.know(**{ENDED: ended})
    append(directory, probes)
    return directory


def test_killed_run_did_not_say_that_it_was_unfinished(tmp_path: Path) -> None:
    settings = OnePacketSettings(host="10.0.2.1")
    probes = _probes(settings)
    for name, part, text in (
        ("early", probes[:500], "nothing was measured of trains, and the data of single packets may be incomplete"),
        ("late", probes[:-5], "the data of trains may be incomplete"),
    ):
        (result,) = findings_of(_run(tmp_path / name, settings, part, ended=False)).results
        assert result.flags[0].name == "unfinished"
        assert result.flags[0].text.endswith(text)
    (whole,) = findings_of(_run(tmp_path / "whole", settings, probes, ended=True)).results
    assert not whole.flagged("unfinished")


def test_hops_without_the_precision_that_was_asked_for_are_named(tmp_path: Path) -> None:
    settings = OnePacketSettings(host="10.0.2.1", precision_percent=0.001, budget_s=3.0)
    (result,) = findings_of(_run(tmp_path / "run", settings, _probes(settings), ended=True)).results
    (told,) = [remark for remark in result.remarks if "precision" in remark]
    assert told.startswith("the probing ended before the precision of 0.001 % was reached at hop 1 (± 0.")


class VirtualHost:
    """It computes in the virtual time of its path, from `busy_from_s` on `times` as long, and its alarm rings there."""

    def __init__(self, busy_from_s: float, times: float) -> None:
        self.path = VirtualPath([VirtualHop(20 * M), VirtualHop(4 * M)], jitter_ns=20_000.0)
        self._busy_from_ns, self._times = busy_from_s * 1e9, times
        self._ends_ns = float("inf")

    @contextmanager
    def alarm(self, seconds: float | None) -> Iterator[None]:
        """As `no_longer_than`."""
        if seconds is not None:
            self._ends_ns = self.path.now + ENDS * seconds * 1e9
        yield
        self._ends_ns = float("inf")

    def computes(self, function: Callable[..., Any], each_ns: float) -> Callable[..., Any]:
        """`function` of probes, which takes so long for each of them, but not beyond the alarm."""

        def slow(probes: Sequence[HopProbe]) -> Any:
            took = each_ns * len(probes) * (self._times if self.path.now >= self._busy_from_ns else 1)
            if self.path.now + took > self._ends_ns:
                self.path.now = round(self._ends_ns)
                raise TimeIsUp
            self.path.now += round(took)
            return function(probes)

        return slow


def _on(
    host: VirtualHost,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    observer: Observer | None = None,
    budget_s: float = 6.0,
    within_s: float | None = None,
    waited_s: float = 0.0,
) -> Outcome:
    """A run that cannot reach its precision."""
    monkeypatch.setattr(carry_out, "no_longer_than", host.alarm)
    monkeypatch.setattr(carry_out, "page", lambda *words: "")
    monkeypatch.setattr(entry, "monotonic", lambda: host.path.now / 1e9)
    monkeypatch.setattr(measurement, "HopSockets", lambda place, port: nullcontext(host.path))
    monkeypatch.setattr(measurement, "stamp_noise", lambda *words: {})
    monkeypatch.setattr(schedule, "hop_samples", host.computes(hop_samples, 30e3))
    monkeypatch.setattr(measurement, "fit_path", host.computes(fit_path, 225e3))
    settings = OnePacketSettings(host="10.0.2.1", budget_s=budget_s, within_s=within_s, precision_percent=0.01)
    return carry_out.carry_out(Work(MEASUREMENT, settings, path, observer=observer, waited_s=waited_s))


@pytest.mark.parametrize(
    ("busy_from_s", "times", "whole"),
    [(0.5, 8, True), (2.0, 8, True), (4.0, 8, False), (4.0, 1000, False), (5.6, 1000, True)],
)
def test_a_host_that_became_busy_in_the_run_took_longer_than_its_budget(
    busy_from_s: float, times: float, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times as long from 4 s on took 6.7 s of 6 s: nothing ended an answer that took longer than was foretold."""
    host, observer = VirtualHost(busy_from_s, times), Listening()
    outcome = _on(host, tmp_path / "run", monkeypatch, observer)
    assert 4e9 <= host.path.now <= 6e9
    (result,) = outcome.results
    assert result.rows
    assert bool(result.flagged("unfinished")) != whole
    assert len(observer.warned) == (not whole)
    assert all("this is the last answer before; 'keisoku analyse" in line for line in observer.warned)


def test_a_budget_beyond_within_leaves_time_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = VirtualHost(4.0, 1000)
    (result,) = _on(host, tmp_path / "run", monkeypatch, budget_s=60.0, within_s=6.0).results
    assert result.rows
    assert host.path.now <= 6e9


def test_a_host_that_is_too_slow_for_any_answer_says_so_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = VirtualHost(0.5, 1000)
    with pytest.raises(
        KeisokuError, match=r"the time of 6 s is over, and this host was too slow for an answer; 'keisoku"
    ):
        _on(host, tmp_path / "run", monkeypatch)
    assert host.path.now <= 6e9


def test_a_start_that_took_the_whole_budget_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match="this host took 7 s to start the program, so the budget of 6 s was over"):
        _on(VirtualHost(0.0, 1), tmp_path / "run", monkeypatch, waited_s=7.0)
