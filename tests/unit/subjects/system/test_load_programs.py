"""Programs that make load: what ab and wrk say is read strictly, a lost end kills them, remote places are read."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host import undo
from keisoku.subjects.stream import iperf3
from keisoku.subjects.stream.trial import StreamTrial
from keisoku.subjects.system.load import apache_bench, oha, wrk
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.clients import PROGRAMS
from keisoku.subjects.system.load.invocation import Ended, Invocation
from keisoku.subjects.system.load.latency_figures import quantile
from keisoku.subjects.system.load.percentiles import buckets_of
from keisoku.subjects.system.load.program import LoadProgram
from keisoku.subjects.system.load.program_client import ProgramClient
from keisoku.subjects.system.load.remote_client import read as read_remote
from keisoku.subjects.system.load.ssh_hosts import SshHosts
from keisoku.subjects.system.load.target import TCP, url_aims
from keisoku.subjects.system.load.watched_script import Telling, script
from keisoku.subjects.system.load.watched_session import WatchedSession

AB_SAID = """Server Software:        nginx/1.22.1
Document Path:          /1430.bin
Concurrency Level:      10
Time taken for tests:   2.500 seconds
Complete requests:      1000
Failed requests:        10
Non-2xx responses:      5
Total transferred:      1650000 bytes
Requests per second:    400.00 [#/sec] (mean)
"""
AB_TABLE = "Percentage served,Time in ms\n" + "".join(f"{percent},{1 + percent / 10:.3f}\n" for percent in range(101))
WRK_SAID: dict[str, Any] = {
    "duration": 2_500_000,
    "requests": 1000,
    "bytes": 1_650_000,
    "connect": 1,
    "read": 2,
    "write": 3,
}
WRK_SAID |= {"status": 15, "timeout": 4, "percentiles": [[half / 2, 1000 + 50 * half] for half in range(201)]}
OHA_SAID: dict[str, Any] = {
    "summary": {"successRate": 1.0, "total": 2.5, "slowest": 0.02, "fastest": 0.001, "totalData": 1_500_000},
    "latencyPercentiles": {"p10": 0.002, "p50": 0.005, "p99": 0.011, "p99.9": 0.015},
    "statusCodeDistribution": {"200": 985, "404": 15},
    "errorDistribution": {"connection refused": 3, "aborted due to deadline": 10},
}
TOKEN = "keisoku-0123"


def load(**how: Any) -> ClientLoad:
    given_ = {"seconds": 1.0} | how
    return ClientLoad("client1", "192.0.2.1:80", "192.0.2.1", given_.pop("paths", (("/", 1.0),)), **given_)


def ended(said: str = "", files: dict[str, str] | None = None, code: int = 0, complained: str = "") -> Ended:
    return Ended(code, said, complained, files or {}, 5)


def test_what_ab_says_is_read() -> None:
    seen = apache_bench.read(load(), ended(AB_SAID, {apache_bench.TABLE: AB_TABLE}))
    assert (seen.completed, seen.failed, seen.received_bytes) == (985, 15, 1_650_000)
    assert (seen.began_ns, seen.seconds) == (5, 2.5)
    assert sum(count for _, _, count in seen.latencies) == 1000
    found = quantile(seen.latencies, 50)
    assert found is not None and found[0] == pytest.approx(6e6, abs=1000) and found[1] == 500
    with pytest.raises(EngineError, match="Complete requests"):
        apache_bench.read(load(), ended("ab: out of memory"))
    with pytest.raises(EngineError, match="ab of client1 failed: refused"):
        apache_bench.read(load(), ended(AB_SAID, code=1, complained="refused\n"))


def test_what_wrk_says_is_read() -> None:
    seen = wrk.read(load(), ended(files={wrk.FIGURES: json.dumps(WRK_SAID)}))
    assert (seen.completed, seen.failed, seen.received_bytes, seen.seconds) == (985, 21, 1_650_000, 2.5)
    assert seen.failures == {"refusals": 15, "not_connected": 1, "broken": 5}
    assert sum(count for _, _, count in seen.latencies) == 996
    found = quantile(seen.latencies, 99)
    assert found is not None and found[0] == pytest.approx(10.9e6, abs=1000) and found[1] == 500
    with pytest.raises(EngineError, match="unable to connect"):
        wrk.read(load(), ended(complained="unable to connect to 192.0.2.1:80 Connection refused\n"))
    with pytest.raises(EngineError, match="gave no figures"):
        wrk.read(load(), ended(files={wrk.FIGURES: json.dumps({**WRK_SAID, "more": 1})}))


def test_what_oha_says_is_read() -> None:
    seen = oha.read(load(), ended(json.dumps(OHA_SAID)))
    assert (seen.completed, seen.failed, seen.given_up, seen.received_bytes, seen.seconds) == (
        985,
        18,
        10,
        1_500_000,
        2.5,
    )
    assert seen.failures == {"refusals": 15, "connection refused": 3}
    assert sum(count for _, _, count in seen.latencies) == 1000
    found = quantile(seen.latencies, 99)
    assert found is not None and found[0] == pytest.approx(11e6, abs=1000) and found[1] == 500
    nobody = {"total": 1.0, "slowest": None, "fastest": None, "totalData": 0}
    nothing = {**OHA_SAID, "summary": nobody, "latencyPercentiles": {"p50": None}, "statusCodeDistribution": {}}
    assert oha.read(load(), ended(json.dumps(nothing))).latencies == ()
    for bad in ("", "[]", json.dumps({**OHA_SAID, "latencyPercentiles": {"median": 0.1}}), '{"summary": {}}'):
        with pytest.raises(EngineError, match="is not that of oha"):
            oha.read(load(), ended(bad))


@given(st.integers(0, 10**5), st.lists(st.integers(0, 10**9), min_size=1, max_size=30).map(sorted))
def test_percentiles_hold_as_many_requests_as_there_were(completed: int, times: list[int]) -> None:
    points = [(100 * at / max(1, len(times) - 1), float(time)) for at, time in enumerate(times)]
    points += [(100.0, float(times[-1]))]
    found = buckets_of(points, completed)
    assert all(low < high for low, high, _ in found)
    assert sum(count for _, _, count in found) == completed
    for percent, time in points if completed else ():
        told = quantile(found, percent)
        # Of fewer requests than percentiles several are one, which then has the greatest of their times.
        assert told is not None
        assert completed < len(points) or abs(told[0] - time) <= max(1000, told[1])


@settings(max_examples=50)
@given(st.text(), st.text(), st.integers(0, 2))
def test_no_words_make_reading_fail_otherwise_than_said(said: str, table: str, cut: int) -> None:
    texts = {
        "ab": ended((said, AB_SAID + said, AB_SAID[: len(said)])[cut], {apache_bench.TABLE: AB_TABLE[:30] + table}),
        "oha": ended((said, json.dumps(OHA_SAID)[: len(said) * 20], table)[cut]),
        "wrk": ended(files={wrk.FIGURES: (said, json.dumps(WRK_SAID)[: len(said) * 20], table)[cut]}),
    }
    for name, words in texts.items():
        try:
            seen = PROGRAMS[name].read(load(), words)
        except EngineError:
            continue
        assert seen.completed >= 0
        assert seen.ended_ns >= seen.began_ns
        assert all(low < high and count > 0 for low, high, count in seen.latencies)


_JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.lists(st.floats()))


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(sorted(WRK_SAID)), _JSON))
def test_figures_of_other_kinds_are_refused(changed: dict[str, Any]) -> None:
    text = json.dumps({**WRK_SAID, **changed})
    with contextlib.suppress(EngineError):
        assert wrk.read(load(), ended(files={wrk.FIGURES: text})).completed >= 0
    summary = OHA_SAID["summary"] | dict(zip(("total", "fastest", "totalData"), changed.values(), strict=False))
    with contextlib.suppress(EngineError):
        assert oha.read(load(), ended(json.dumps({**OHA_SAID, "summary": summary}))).completed >= 0


@pytest.mark.parametrize(
    ("name", "how", "says"),
    [
        ("ab", {"per_second": 100.0}, "closed loop"),
        ("wrk", {"per_second": 100.0}, "closed loop"),
        ("ab", {"paths": (("/a", 1.0), ("/b", 1.0))}, "one file"),
        ("wrk", {"requests": 10, "seconds": None}, "for a time"),
        ("oha", {"requests": 10}, "requests or after a time"),
        ("oha", {"per_second": 10.0, "poisson": True}, "even gaps"),
        ("oha", {"paths": (("/a", 1.0), ("/b", 1.0))}, "one file"),
    ],
)
def test_a_program_is_not_asked_for_what_it_cannot_do(name: str, how: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        PROGRAMS[name].invoke(load(**how))


def test_a_program_that_is_not_there_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        wrk, "PROGRAM", LoadProgram("wrk", wrk.PROGRAM.origin, lambda _: Invocation(("no-such-wrk",)), wrk.read, "")
    )
    with pytest.raises(PlanError, match="wrk is not installed; install the Debian package wrk there, or use own"):
        ProgramClient(wrk.PROGRAM, load(), SshHosts())


def test_files_of_several_weights_are_drawn_by_wrk() -> None:
    text = wrk.invoke(load(paths=(("/a", 3.0), ("/b", 0.0), ("/c'\"\\", 1.0)), keep_alive=True)).given[wrk.SCRIPT]
    assert '{0.75, "/a"}, {1.0, "/c\'\\"\\\\"}' in text
    assert '"/b"' not in text
    assert 'wrk.headers["Connection"] = "keep-alive"' in text


@given(st.lists(st.integers(0, 300), max_size=4), st.binary(max_size=60), st.text(max_size=20))
def test_a_script_s_words_are_the_same_in_any_parts(cuts: list[int], content: bytes, greeting: str) -> None:
    said = f"{greeting.replace(TOKEN, '')}{TOKEN} ready\n{TOKEN} begun\n{TOKEN} file said  {len(content)}\n".encode()
    said += content + f"\n{TOKEN} ended 3\n".encode()
    telling = Telling(TOKEN)
    at = 0
    for cut in [*sorted(cuts), len(said)]:
        telling.feed(said[at : max(at, cut)])
        at = max(at, cut)
    assert (telling.ready, telling.begun, telling.missing, telling.code) == (True, True, False, 3)
    assert telling.files == {"said": content}


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_no_words_of_a_script_make_it_fail(parts: list[bytes]) -> None:
    telling = Telling(TOKEN)
    for part in parts:
        telling.feed(part + f"{TOKEN} file ".encode())
    assert telling.code is None


def session(*arguments: str, **more: Any) -> WatchedSession:
    made = WatchedSession(["/bin/sh", "-c", script(TOKEN, Invocation(arguments, **more))], TOKEN, "it")
    assert made.ready()
    return made


def test_a_program_is_given_files_and_what_it_leaves_is_taken() -> None:
    it = session(
        "sh",
        "-c",
        "cat 'its own'; echo left > left; echo bad >&2; exit 4",
        given={"its own": "it's\n"},
        taken=("left",),
    )
    it.begin(0)
    seen = it.finish()
    assert (seen.code, seen.said, seen.complained, seen.files) == (4, "it's\n", "bad\n", {"left": "left\n"})
    with pytest.raises(EngineError, match="it failed: bad"):
        seen.succeeded("it")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_program_dies_with_the_end_that_asked_for_it(end: str, tmp_path: Path) -> None:
    told = tmp_path / "fifo"
    os.mkfifo(told)
    it = session("sh", "-c", f"echo $$ > {told}; exec tail -f /dev/null")
    it.begin(0)
    process = os.pidfd_open(int(told.read_text()))
    try:
        if end == "stop":
            it.stop()
        else:
            # As of an ssh that was killed: the pipe to the other end closes, and nobody says anything there.
            assert it._child.stdin
            it._child.stdin.close()
        assert select.select([process], [], [], 30)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
        os.close(process)
        it.stop()


def test_another_keisoku_s_run_is_moved_to_this_clock() -> None:
    run = ClientRun("client1", 3, 1, 100, 1000, 4000, ((1, 2, 3),), failures={"refused": 1}, slices=((3, 100),))
    told = json.dumps(run.__dict__)
    assert read_remote(told, 70) == ClientRun(**{**run.__dict__, "began_ns": 70, "ended_ns": 3070})
    for bad in ("{}", "[]", "x", told.replace("completed", "complete")):
        with pytest.raises(EngineError, match="the keisoku there is of another version"):
            read_remote(bad, 70)


_KILLED_WITH_HOSTS = """
import os, signal, sys
from pathlib import Path
from keisoku.ground.host import undo
from keisoku.subjects.system.load.ssh_hosts import SshHosts
undo.FOLDER = Path(sys.argv[1])
with SshHosts():
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_killed_runs_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(undo, "FOLDER", tmp_path / "journal")
    command = [sys.executable, "-c", _KILLED_WITH_HOSTS, str(undo.FOLDER)]
    killed = subprocess.run(command, env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    (folder,) = tmp_path.glob("keisoku-ssh-*")
    with SshHosts():
        assert not folder.exists()
        (own,) = tmp_path.glob("keisoku-ssh-*")
    assert not own.exists() and not list(tmp_path.glob("*/*"))


def test_places_of_clients_are_read() -> None:
    near, far, port = url_aims(
        [
            "http://192.0.2.7:81/a",
            "http://192.0.2.7/a@ssh://me@one.example:2222",
            "http://192.0.2.7/@ssh://[2001:db8::1]",
        ]
    )
    assert (near.ssh, near.server) == (None, "192.0.2.7:81")
    assert (far.ssh, far.namespace, far.paths) == ("ssh://me@one.example:2222", None, (("/a", 1.0),))
    assert port.ssh == "ssh://[2001:db8::1]"
    (stream,) = url_aims(["tcp://192.0.2.7"], TCP)
    assert stream.server == "192.0.2.7:8621"
    for bad in ("http://192.0.2.7/a@ssh://-oProxyCommand=x", "http://192.0.2.7/@ssh://a b", "http://192.0.2.7/@ssh://"):
        with pytest.raises(PlanError):
            url_aims([bad])
    for kind, bad in ((TCP, "http://192.0.2.7/"), (TCP, "tcp://192.0.2.7/file"), ("http", "tcp://192.0.2.7")):
        with pytest.raises(PlanError, match="no address to load"):
            url_aims([bad], kind)


def test_what_iperf3_does_not_say_is_no_key_error() -> None:
    trial = StreamTrial(protocol="tcp", message_bytes=1000)
    received = {"seconds": 2.0, "bits_per_second": 1e9}
    told: dict[str, Any] = {"start": {"version": "iperf 3.12"}, "end": {"sum_received": received}}
    assert iperf3.read(told, trial) == {"bps": 1e9, "seconds": 2.0, "version": "3.12"}
    bad: dict[str, Any]
    for bad in (
        {},
        {"end": {}, "start": {}},
        {**told, "end": {"sum_received": {"seconds": None, "bits_per_second": 1}}},
    ):
        with pytest.raises(EngineError, match="the output of iperf3 is not that of"):
            iperf3.read(bad, trial)
