"""Streams and file transfers between real namespaces: accounts that add up and truths that hold on a stalled host."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import journal_of, keisoku

from keisoku.errors import EngineError, KeisokuError
from keisoku.ground.entry import Work
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import ControlError
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.host.undo import undo_left
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, TESTER_ADDRESS, BarePath
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.system import ftp_server
from keisoku.ground.lab.system.ftp_server import FtpServer
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.running.measurement.carry_out import carry_out, resume
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.file.settings import FileSettings
from keisoku.subjects.stream.interface_setting import InterfaceSetting
from keisoku.subjects.stream.iperf3 import client
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.run import TABLE
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.settings import NONE, TcpSettings
from keisoku.subjects.stream.trial import StreamTrial

pytestmark = pytest.mark.lab

SHORT_S = 0.1
FILE_BYTES = 2_000_001
"""No whole number of chunks."""
SLOW_BPS = 20e6
"""Far below what any disk or link here does, so that a stalled host changes nothing in which stage is the slowest."""


@pytest.fixture(scope="module")
def session() -> Iterator[StreamSession]:
    with (
        bare_server() as (lab, server),
        StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port) as made,
    ):
        yield made


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_every_byte_of_a_tcp_stream_arrives_and_both_ends_agree(session: StreamSession, direction: str) -> None:
    rows = session.measure(
        StreamTrial.model_validate(
            {
                "protocol": "tcp",
                "message_bytes": 10_000,
                "streams": 2,
                "direction": direction,
                "duration_s": SHORT_S,
                "warm_up_s": 0,
                "congestion": "cubic",
            }
        )
    )
    assert len(rows) == (4 if direction == "both" else 2)
    for row in rows:
        assert row["error"] is None and row["sent_bytes"] == row["received_bytes"] > 0
        assert row["sent_calls"] * 10_000 >= row["sent_bytes"]
        assert 0 < row["settled_bytes"] <= row["received_bytes"] and row["settled_ns"] > 0
        assert row["sender_cpu_ns"] + row["receiver_cpu_ns"] > 0
        assert row["least_rtt_us"] <= row["greatest_rtt_us"] and row["segment_bytes"] == 1448
    assert json.loads(json.dumps(session.facts))["far"]["congestion"] == "cubic"


@pytest.mark.parametrize("segments", [1, 40])
def test_every_datagram_is_accounted_for_with_and_without_offload(session: StreamSession, segments: int) -> None:
    trial = StreamTrial(protocol="udp", message_bytes=1400, duration_s=SHORT_S, segments=segments, direction="both")
    for row in session.measure(trial):
        assert row["error"] is None and row["offered"] * 1400 == row["sent_bytes"]
        assert row["offered"] == row["arrived"] + row["lost"]
        assert row["came"] == row["arrived"] + row["duplicated"] + row["foreign"]
        assert row["received_bytes"] == (row["arrived"] + row["duplicated"]) * 1400
        assert row["reordered"] == row["duplicated"] == row["foreign"] == 0
        # A veth loses nothing by itself but what finds no room in the socket.
        assert row["lost"] <= (row["socket_drops"] + row["host_drops"]) * row["most_in_buffer"]
        assert row["most_in_buffer"] <= segments


def test_a_small_socket_drops_and_says_so_and_a_narrow_link_loses_elsewhere(session: StreamSession) -> None:
    small = StreamTrial(
        protocol="udp", message_bytes=1400, streams=4, duration_s=0.3, warm_up_s=0, segments=1, buffer_bytes=4096
    )
    rows = session.measure(small)
    lost, in_sockets, in_host = (sum(row[name] for row in rows) for name in ("lost", "socket_drops", "host_drops"))
    # The host's own count is of all that it received meanwhile, and a socket may drop a greeting sent twice.
    assert in_sockets > 0 and lost <= in_sockets + in_host
    with (
        PathLab([Hop(10_000_000, bucket_bytes=3000, queue_bytes=3000)]) as lab,
        FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as server,
        StreamSession(Place(lab.target_address, lab.tester_namespace), server.port) as narrow,
    ):
        trial = StreamTrial(protocol="udp", message_bytes=1400, duration_s=0.3, bps=100e6)
        (row,) = narrow.measure(trial)
    assert row["lost"] > 0 and row["socket_drops"] == 0
    assert row["offered"] == row["arrived"] + row["lost"]


def test_a_rate_is_not_exceeded(session: StreamSession) -> None:
    for protocol, bps in (("tcp", 20e6), ("udp", 20e6)):
        trial = StreamTrial.model_validate(
            {"protocol": protocol, "message_bytes": 1000, "bps": bps, "duration_s": 0.3, "warm_up_s": 0}
        )
        (row,) = session.measure(trial)
        # One message early, and after a stall what the pace catches up with.
        assert row["sent_bytes"] <= bps / 8e9 * (row["sent_ns"] + 10_000_000) + 2000


def test_what_cannot_be_is_one_sentence_and_the_session_goes_on(session: StreamSession) -> None:
    with pytest.raises(EngineError, match="congestion control nosuch is refused by this host"):
        session.measure(StreamTrial(protocol="tcp", message_bytes=1, congestion="nosuch"))
    with pytest.raises(EngineError, match="writes no files"):
        session.control.ask({"do": "file", "name": "a", "bytes": 1, "direct": False, "bps": None})


@pytest.mark.parametrize("name", ["mtu", "tso"])
def test_interfaces_are_set_at_both_ends_and_set_back(name: str) -> None:
    with bare_server() as (lab, server):
        near, far = Namespace(lab.tester_namespace), Namespace(lab.target_namespace)
        with (
            StreamSession(Place(TARGET_ADDRESS, near.name), server.port) as session,
            InterfaceSetting(str(near.path), TARGET_ADDRESS) as mine,
        ):
            wanted: dict[str, int | bool] = {"mtu": 1200} if name == "mtu" else {"tso": False}
            session.set_interface(wanted)
            mine.set(wanted)
            (row,) = session.measure(StreamTrial(protocol="tcp", message_bytes=9000, duration_s=SHORT_S))
            assert row["segment_bytes"] == (1148 if name == "mtu" else 1448) and row["error"] is None
            assert far.run(_mtu) == near.run(_mtu) == (1200 if name == "mtu" else 1500)
        # The server sets its own back once it notices that the client is gone.
        with StreamSession(Place(TARGET_ADDRESS, near.name), server.port):
            assert far.run(_mtu) == near.run(_mtu) == 1500


@pytest.mark.alone
def test_what_a_killed_process_left_set_is_set_back() -> None:
    script = (
        "import os, signal\nfrom keisoku.subjects.stream.interface_setting import InterfaceSetting\nimport sys\n"
        "InterfaceSetting(sys.argv[1], sys.argv[2]).set({'mtu': 900})\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with BarePath() as lab:
        near = Namespace(lab.tester_namespace)
        child = subprocess.Popen([sys.executable, "-c", script, str(near.path), TARGET_ADDRESS])
        assert child.wait() == -signal.SIGKILL and len(journal_of(child.pid)) == 1
        assert near.run(_mtu) == 900
        assert "set down back" in undo_left()
        assert near.run(_mtu) == 1500
        assert not journal_of(child.pid)


@pytest.mark.alone
def test_what_a_killed_far_end_left_set_is_set_back() -> None:
    with bare_server() as (lab, server):
        far = Namespace(lab.target_namespace)
        session = StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port)
        session.set_interface({"mtu": 1100})
        assert far.run(_mtu) == 1100 and len(journal_of(server.process)) == 1
        os.kill(server.process, signal.SIGKILL)
        with pytest.raises(ControlError):
            session.set_interface({"mtu": 1200})
        session.close()
        assert any("set up back" in said or "set down back" in said for said in undo_left())
        assert far.run(_mtu) == 1500 and not journal_of(server.process)


def test_servers_of_another_kind_are_told_apart() -> None:
    with BarePath() as lab:
        with (
            FarEnd("path", Place(TARGET_ADDRESS, lab.target_namespace)) as server,
            pytest.raises(ControlError, match=r"no keisoku stream server: .*'keisoku stream serve'"),
        ):
            StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port)
        with pytest.raises(EngineError, match="start 'keisoku stream serve' there"):
            StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace))


def test_the_command_measures_its_ceiling_first_and_analyses_again(tmp_path: Path) -> None:
    with bare_server() as (lab, server):
        host = f"{TARGET_ADDRESS}@{lab.tester_namespace}"
        common = ("--size", "4096,65536", "--duration", "0.1s", "--most-repetitions", "3", "--out", "run", "--json")
        done = keisoku("stream", "tcp", host, "--port", str(server.port), *common, cwd=tmp_path)
    (found,) = json.loads(done.stdout)["results"]
    groups = [row["group"] for row in found["rows"]]
    assert groups.count("Message") == groups.count("Own ceiling") == 2 and "Best" in groups
    again = keisoku("analyse", "run", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["results"] == [found]
    assert "Own ceiling" in (tmp_path / "run" / "report.html").read_text()


def test_a_criterion_on_the_best_size_decides_the_exit_code(tmp_path: Path) -> None:
    with bare_server() as (lab, server):
        host = f"{TARGET_ADDRESS}@{lab.tester_namespace}"
        quick = ("--port", str(server.port), "--size", "65536", "--duration", "0.1s", "--most-repetitions", "3")
        for number, criterion in enumerate(("throughput[best] > 1 kb/s", "throughput[best] > 1000000 Gb/s")):
            more = ("--ceiling", "none", "--require", criterion, "--out", str(number))
            done = keisoku("stream", "tcp", host, *quick, *more, cwd=tmp_path)
            assert done.code == number, done.stderr
    assert "MISSED" in done.stdout and keisoku("analyse", "1", cwd=tmp_path).code == 1


def test_every_trial_is_kept_at_once_and_an_interrupted_campaign_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, measure = list[int](), StreamSession.measure

    def interrupted(self: StreamSession, trial: StreamTrial) -> list[dict[str, Any]]:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(trial.message_bytes)
        return measure(self, trial)

    with bare_server() as (lab, server):
        values = {"host": f"{TARGET_ADDRESS}@{lab.tester_namespace}", "port": server.port, "size_bytes": (4096, 65536)}
        settings = TcpSettings.model_validate(
            {**values, "duration_s": SHORT_S, "repetitions": 3, "most_repetitions": 3, "ceiling": NONE}
        )
        with monkeypatch.context() as patched, pytest.raises(KeisokuError, match=r"interrupted; .*--resume"):
            patched.setattr(StreamSession, "measure", interrupted)
            carry_out(Work(find("stream tcp"), settings, tmp_path / "run"))
        kept = RunDirectory.open(tmp_path / "run").rows(TABLE).to_pylist()
        assert [row["message_bytes"] for row in kept] == done and len(done) == 4
        (found,) = resume(tmp_path / "run").results
    rows = RunDirectory.open(tmp_path / "run").rows(TABLE).to_pylist()
    # A trial to warm up, then three of each of two sizes; what was kept is as it was.
    assert rows[:4] == kept and [row["number"] for row in rows] == list(range(7))
    assert not found.flagged("unfinished")
    assert [row.figures["runs"].value for row in found.rows if row.group == "Message"] == [3, 3]


def test_a_server_that_is_not_there_is_told_before_the_ceiling_is_measured(tmp_path: Path) -> None:
    with BarePath() as lab:
        place = f"{TARGET_ADDRESS}@{lab.tester_namespace}"
        ended = keisoku("stream", "tcp", place, "--size", "8192", "--out", "run", cwd=tmp_path)
    assert ended.code and "keisoku stream serve" in ended.stderr and "bare:" not in ended.stderr


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_iperf3_is_asked_and_gone_afterwards(session: StreamSession, protocol: str) -> None:
    direction = "forward" if protocol == "tcp" else "reverse"
    trial = StreamTrial.model_validate({"protocol": protocol, "message_bytes": 1400, "direction": direction})
    port = session.start_iperf3()
    found = client(session.place.inside, session.remote, port, trial)
    session.end_iperf3()
    assert found["bps"] > 0 and found["version"].startswith("3.")


def _mtu() -> int:
    (name,) = (entry for entry in Path("/sys/class/net").iterdir() if entry.name != "lo")
    return int((name / "mtu").read_text())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.bin"
    path.write_bytes(os.urandom(FILE_BYTES))
    return path


def _transfer(tmp_path: Path, source: Path, *, narrow: bool = False, ftp: bool = False, **values: Any) -> Result:
    """What a transfer found; what came is compared with the source here, too."""
    files = tmp_path / "files"
    files.mkdir()
    tmp_path.chmod(0o755)
    with contextlib.ExitStack() as stack:
        if narrow:
            lab: Any = stack.enter_context(PathLab([Hop(round(SLOW_BPS), bucket_bytes=15_000)]))
            near, far, address = lab.tester_namespace, lab.target_namespace, lab.target_address
        else:
            lab = stack.enter_context(BarePath())
            near, far, address = lab.tester_namespace, lab.target_namespace, TARGET_ADDRESS
        server = stack.enter_context(FarEnd("stream", Place(address, far), "--files", str(files.absolute())))
        values |= {"host": f"{address}@{near}", "port": server.port, "source": str(source), "name": "came.bin"}
        if ftp:
            stack.enter_context(FtpServer(Namespace(far), files))
            values |= {"over": "ftp", "ftp_directory": "files"}
        outcome = carry_out(Work(find("stream file"), FileSettings.model_validate(values), tmp_path / "run"))
    # What was not kept goes when the server notices that the client is gone, before it ends.
    came = hashlib.sha256((files / "came.bin").read_bytes()).digest()
    assert came == hashlib.sha256(source.read_bytes()).digest()
    return outcome.results[0]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("values", "narrow", "stage"),
    [
        ({"limit_source_bps": SLOW_BPS}, False, "source"),
        ({}, True, "network"),
        pytest.param({"limit_sink_bps": SLOW_BPS}, False, "destination", marks=pytest.mark.long),
    ],
)
def test_the_stage_that_is_throttled_is_the_bottleneck(
    tmp_path: Path, source: Path, values: dict[str, Any], narrow: bool, stage: str
) -> None:
    found = _transfer(tmp_path, source, narrow=narrow, **values)
    assert found.flagged(f"bottleneck-{stage}")


@pytest.mark.skipif(not ftp_server.installed(), reason="there is no vsftpd here")
def test_a_real_ftp_server_carries_a_file_bit_for_bit(tmp_path: Path, source: Path) -> None:
    found = _transfer(tmp_path, source, ftp=True, repetitions=2, most_repetitions=2)
    assert "agree in 2 of 2 transfers" in str(found.remarks)


@pytest.mark.skipif(not ftp_server.installed(), reason="there is no vsftpd here")
def test_a_study_below_a_relative_directory_had_no_ftp(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 OOPS: cannot change directory:runs/…"""
    monkeypatch.chdir(tmp_path)
    found = _transfer(Path(), source, ftp=True, repetitions=2, most_repetitions=2)
    assert "agree in 2 of 2 transfers" in str(found.remarks)


def test_a_file_is_never_written_over(tmp_path: Path, source: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "source.bin").write_text("mine")
    with (
        BarePath() as lab,
        FarEnd("stream", Place(TARGET_ADDRESS, lab.target_namespace), "--files", str(files)) as server,
    ):
        host = f"{TARGET_ADDRESS}@{lab.tester_namespace}"
        command = ("stream", "file", str(source), host, "--port", str(server.port))
        keisoku(*command, cwd=tmp_path).refused("exists already")
    assert [path.read_text() for path in files.iterdir()] == ["mine"]
    assert TESTER_ADDRESS != TARGET_ADDRESS
