"""`line responsiveness` on paths of real namespaces whose queues are known: their length, place and kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import analyse, carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.line.responsiveness.analysis import QUEUE, WHILE
from keisoku.subjects.line.responsiveness.probing import DELAYS, PHASES, begin
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.stream.session import StreamSession

pytestmark = [pytest.mark.lab, pytest.mark.alone]

QUICK = {"repetitions": 1, "ramp_s": 0.5, "duration_s": 0.4}


def carried_out(path: str, out: Path, **more: Any) -> Outcome:
    with find_path(path) as lab, FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as server:
        measurement = find("line responsiveness")
        host = f"{lab.target_address}@{lab.tester_namespace}"
        values = {"host": host, "port": server.port, **QUICK, **more}
        return carry_out(Work(measurement, parsed(measurement.settings, values), out))


def row_of(result: Result, group: str, case: str) -> Row:
    (found,) = [row for row in result.rows if (row.group, row.case) == (group, case)]
    return found


def test_the_queues_of_both_directions_are_found(tmp_path: Path) -> None:
    done = carried_out("path?hops=100M,10M/20M,100M&queue=60k&icmp=unlimited", tmp_path / "run")
    (result,) = done.results
    for case, way, rate_bps in (("upload", "up", 10e6), ("download", "down", 20e6)):
        row = row_of(result, QUEUE, case)
        assert row.figures["length"].value == pytest.approx(8e9 * 60_000 / rate_bps, rel=0.05)
        assert row.figures["length_bytes"].value == pytest.approx(60_000, rel=0.05)
        assert row.figures["drains"].value == pytest.approx(rate_bps, rel=0.02)
        assert row.figures["hop"].value == 2
        assert "drop-tail" in row.remark and "bit by bit" in row.remark
        loaded = row_of(result, WHILE, case).figures
        assert loaded[f"{way}_rate"].value == pytest.approx(rate_bps, rel=0.04)
        assert loaded["rpm"].value < row_of(result, WHILE, "idle").figures["rpm"].value
    # The same from the raw rows alone; and from what a killed run would have.
    assert analyse(RunDirectory.open(tmp_path / "run")).results == done.results
    for name in (DELAYS, PHASES):
        for part in sorted((tmp_path / "run" / name).glob("*.parquet"))[2:]:
            part.unlink()
    (partly,) = analyse(RunDirectory.open(tmp_path / "run")).results
    assert partly.flagged("unfinished") and row_of(partly, QUEUE, "upload").figures["hop"].value == 2


@pytest.mark.long
def test_a_shaper_of_the_kernel_is_told_from_a_line(tmp_path: Path) -> None:
    (result,) = carried_out("path?hops=100M,20M~5000,100M&queue=100k&icmp=unlimited", tmp_path / "run").results
    for case in ("upload", "download"):
        row = row_of(result, QUEUE, case)
        # The limit of tbf counts frames, with 14 byte more than each packet.
        assert row.figures["length"].value == pytest.approx(8e9 * 100_000 / 20e6, rel=0.05)
        assert "drop-tail" in row.remark and "shaper" in row.remark and row.figures["hop"].value == 2


@pytest.mark.long
def test_codel_is_told_from_a_queue_that_fills(tmp_path: Path) -> None:
    more = {"ramp_s": 1.0, "duration_s": 1.0}
    done = carried_out("path?hops=100M,10M&queue=200k&aqm=none,codel&icmp=unlimited", tmp_path / "run", **more)
    for case in ("upload", "download"):
        assert "active queue management" in row_of(done.results[0], QUEUE, case).remark


def test_the_server_answers_probes_until_their_end_and_a_reflector_its_peer_only() -> None:
    with FarEnd("stream", Place("127.0.0.1")) as server, StreamSession(Place("127.0.0.1"), server.port) as session:
        far = begin(session)
        wanted = DelaySettings(host="127.0.0.1", port=far.stamp_port, packets=3, wait_s=0.2)
        assert DelaySender(Place("127.0.0.1"), wanted).measure().num_rows == 3
        session.control.ask({"do": "probes-end"})
        with pytest.raises(EngineError, match="refuses"):
            DelaySender(Place("127.0.0.1"), wanted).measure()
    of_another = FarEnd("reflect", Place("127.0.0.1"), "--peer", "127.0.0.2")
    with of_another as reflector, pytest.raises(EngineError, match="answered none"):
        DelaySender(Place("127.0.0.1"), wanted.model_copy(update={"port": reflector.port})).measure()
    assert reflector.says == ["reflected 0 packets, refused 0"]
