"""The run directory of a one-packet measurement, as it is after its end and after it was killed."""

from __future__ import annotations

from pathlib import Path

from support.virtual_path import VirtualHop, VirtualPath

from keisoku.clock import rated
from keisoku.measurement.carry_out import findings_of
from keisoku.path.one_packet.measurement import ENDED, MEASUREMENT
from keisoku.path.one_packet.probe import HopProbe
from keisoku.path.one_packet.probing import HopProbing
from keisoku.path.one_packet.settings import OnePacketSettings
from keisoku.path.one_packet.table import append
from keisoku.run.directory import RunDirectory

M = 1e6


def _probes(settings: OnePacketSettings) -> list[HopProbe]:
    kept: list[HopProbe] = []
    HopProbing(VirtualPath([VirtualHop(100 * M), VirtualHop(10 * M)]), settings, kept.extend, lambda _: None).run()
    return kept


def _run(path: Path, settings: OnePacketSettings, probes: list[HopProbe], ended: bool) -> RunDirectory:
    context = {"stamp_noise_ns": {}, "address": "10.0.2.1", **rated.context()}
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
