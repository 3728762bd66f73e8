"""The program of the far end by itself: in an empty root, without any right, under another user."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import PROGRAM, FarEnd
from keisoku.ground.host.undo import record, undo
from keisoku.subjects.path.stamp.packet import ReflectedPacket, SenderPacket
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.path.train.probe import TrainPlan
from keisoku.subjects.path.train.session import TrainSession
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.near import carry_out_trial
from keisoku.subjects.stream.transaction.trial import TransactionTrial
from keisoku.subjects.stream.trial import StreamTrial

pytestmark = pytest.mark.lab
NOBODY = 65534
HERE = Place("127.0.0.1")


@contextmanager
def alone(root: Path, service: str, *options: str) -> Iterator[tuple[int, int]]:
    """Its port at the loopback, and its process. The root has nothing but the program, and the user has no right."""
    shutil.copy(PROGRAM, root / "keisoku-far")
    root.chmod(0o755)

    def enter() -> None:
        os.chroot(root)
        os.chdir("/")
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    command = ["/keisoku-far", service, "--at", "127.0.0.1", "--port", "0", "--attached", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={}, preexec_fn=enter, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        yield int(server.stdout.readline().split()[-1]), server.pid
        server.stdin.close()
    assert server.returncode == 0


def test_it_reflects_in_an_empty_root_without_any_right(tmp_path: Path) -> None:
    with alone(tmp_path, "reflect") as (port, _):
        wanted = DelaySettings(host="127.0.0.1", port=port, packets=50, interval_s=0.001, wait_s=5.0)
        assert DelaySender(HERE, wanted).measure()["answers"].to_pylist() == [1] * 50


def test_it_measures_streams_and_transactions_in_an_empty_root_without_any_right(tmp_path: Path) -> None:
    with alone(tmp_path, "stream") as (port, _), StreamSession(HERE, port) as session:
        assert session.server["kernel"] == "" and session.server["versions"]["keisoku"]
        for protocol in ("tcp", "udp"):
            trial = StreamTrial.model_validate(
                {"protocol": protocol, "message_bytes": 1000, "direction": "both", "bps": 1e6, "duration_s": 0.3}
            )
            for row in session.measure(trial):
                assert row["error"] is None and row["sent_bytes"] == row["received_bytes"] > 0
        for kind in ("rr", "crr", "udp-rr"):
            rows, trial_row = carry_out_trial(session, TransactionTrial.model_validate({"kind": kind}), 0)
            assert set(rows["failure"].to_pylist()) == {0}
            assert trial_row["far_answered"][0].as_py() == rows.num_rows > 0
        with pytest.raises(EngineError, match="iperf3 is needed at both ends"):
            session.start_iperf3()
        with pytest.raises(EngineError, match="writes no files"):
            session.control.ask({"do": "file", "name": "a", "bytes": 1, "direct": False, "bps": None})


def test_it_sends_trains_in_an_empty_root_without_any_right(tmp_path: Path) -> None:
    with alone(tmp_path, "path") as (port, _), TrainSession(HERE, port) as session:
        assert session.remote_noise()["kernel"] > 0
        for direction in ("forward", "reverse"):
            (train,) = session.run([TrainPlan("probe", direction, 1000, 5)], 0.001).trains()
            assert train.complete


@pytest.mark.parametrize(
    "options", [(), ("-R",), ("--bidir",), ("-P", "3"), ("-P", "3", "-R", "-O", "1")], ids=" ".join
)
@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_it_answers_real_clients_of_iperf3_in_an_empty_root(
    tmp_path: Path, protocol: str, options: tuple[str, ...]
) -> None:
    words = [
        "iperf3",
        "-c",
        "127.0.0.1",
        "-t",
        "2",
        "-J",
        "-b",
        "20M",
        *options,
        *(["-u"] if protocol == "UDP" else []),
    ]
    with alone(tmp_path, "iperf3") as (port, _):
        done = subprocess.run([*words, "-p", str(port)], stdout=subprocess.PIPE, text=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 0 and "error" not in said, said.get("error")
    ends = said["end"]["streams"]
    assert len(ends) == (3 if "-P" in options else 2 if "--bidir" in options else 1)
    for stream in ends:
        if protocol == "UDP":
            whole = stream["udp"]
            assert whole["packets"] > 0 and 0 <= whole["lost_packets"] < whole["packets"]
            # Two seconds of 20 Mbit/s are 153 datagrams of 32 KiB, also where one second before was left out.
            assert whole["packets"] > 80
        else:
            sent, received = stream["sender"]["bytes"], stream["receiver"]["bytes"]
            # What is under way when the client ends is received by nobody.
            assert 0 < received <= sent


def test_a_second_client_of_iperf3_is_told_to_wait(tmp_path: Path) -> None:
    with alone(tmp_path, "iperf3") as (port, _), socket.create_connection(("127.0.0.1", port)) as first:
        first.sendall(bytes(37))
        assert first.recv(1) == b"\x09", "it asks for the parameters"
        words = ["iperf3", "-c", "127.0.0.1", "-t", "1", "-J", "-p", str(port)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        assert "busy" in json.loads(done.stdout)["error"]


def test_a_thousand_connections_and_256_streams_need_little_memory(tmp_path: Path) -> None:
    with alone(tmp_path, "stream") as (port, process), StreamSession(HERE, port) as session:
        many = TransactionTrial.model_validate({"kind": "rr", "connections": 1000, "duration_s": 0.5})
        rows, _ = carry_out_trial(session, many, 0)
        assert set(rows["failure"].to_pylist()) == {0}
        of_connections = peak_kib(process)
        streams = StreamTrial(protocol="tcp", message_bytes=1000, streams=256, bps=1e5, duration_s=0.5, warm_up_s=0)
        assert all(row["error"] is None for row in session.measure(streams))
        assert of_connections < 20 << 10 and peak_kib(process) < 100 << 10
        print(f"\n{of_connections} KiB with 1000 connections, {peak_kib(process)} KiB with 256 streams")


@pytest.mark.parametrize("setting", ["net/ipv6/bindv6only=1", "net/ipv6/conf/all/disable_ipv6=1", "none"])
@pytest.mark.parametrize("service", ["outage", "stream", "path", "iperf3", "reflect"])
def test_without_an_address_it_serves_every_version_that_there_is(service: str, setting: str) -> None:
    """It served IPv4 alone; a host may give IPv6's sockets IPv6 alone, and a container have no IPv6 address."""
    own = Namespace(f"keisoku-{os.getpid()}-1-far")
    entry = record("namespace", name=own.name)
    own.create()
    try:
        name, _, value = setting.partition("=")

        def prepare() -> None:
            with IPRoute() as route:
                route.link("set", index=1, state="up")
            if value:
                Path("/proc/sys", name).write_text(value)

        run_in_namespace(own.path, prepare)
        kind = socket.SOCK_DGRAM if service == "reflect" else socket.SOCK_STREAM
        with FarEnd(service, Place("", own.name)) as far:
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                made = run_in_namespace(own.path, partial(socket.socket, family, kind))
                with made as client:
                    client.settimeout(10)
                    if family == socket.AF_INET6 and "disable" in setting:
                        with pytest.raises(OSError, match=r"Cannot assign|unreachable"):
                            client.connect((address, far.port))
                        continue
                    client.connect((address, far.port))
                    if kind == socket.SOCK_DGRAM:
                        client.send(SenderPacket(7, time.time_ns()).pack())
                        assert ReflectedPacket.parse(client.recv(2000)).sender_sequence == 7
    finally:
        undo(entry)


def peak_kib(process: int) -> int:
    """The most memory that a process had so far."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
