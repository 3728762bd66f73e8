"""What goes wrong on real ports ends with one sentence and exit code 2, and leaves nothing but finished trials."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.command_line import (
    NO_CAPABILITIES,
    QUICK,
    Child,
    Ended,
    assert_adds_up,
    keisoku,
    namespaces_of,
    outcome_of,
    start,
    trials,
)
from support.lab_frames import ALL_ETHERTYPES, identity

from keisoku._core import Wire
from keisoku.ground.host.namespace import FOLDER, run_in_namespace
from keisoku.subjects.device.testbed.host_port_list import list_ports

pytestmark = pytest.mark.lab

PORTS = f"keisoku-test-{os.getpid()}"
"""A namespace with a port for each thing that can be wrong with one. No name of a lab, so never cleaned as one."""
TRAFFIC = [*QUICK, "--size", "64"]


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def ports() -> Iterator[None]:
    ip("netns", "add", PORTS)
    try:
        for name in ("good", "cut", "idle", "routed"):
            ip("-n", PORTS, "link", "add", name, "type", "veth", "peer", "name", f"{name}-peer")
        for name in ("good", "good-peer", "cut", "routed", "routed-peer"):
            ip("-n", PORTS, "link", "set", name, "up")
        ip("-n", PORTS, "address", "add", "192.0.2.2/24", "dev", "routed")
        ip("-n", PORTS, "route", "add", "default", "via", "192.0.2.1")
        yield
    finally:
        ip("netns", "del", PORTS)


def state() -> tuple[str, str]:
    """What a run could have left on the ports: programs and flags, queueing disciplines."""
    links = [line.strip() for line in ip("-n", PORTS, "-d", "link").splitlines()]
    shown = "\n".join(line for line in links if not line.startswith("link/"))
    return shown, subprocess.run(["tc", "-n", PORTS, "qdisc"], check=True, capture_output=True, text=True).stdout


def throughput(cwd: Path, tx: str, rx: str, *more: str, prefix: Sequence[str] = ()) -> Ended:
    uris = "--tx", f"{tx}@{PORTS}", "--rx", f"{rx}@{PORTS}"
    return outcome_of(start("throughput", *uris, *(more or TRAFFIC), cwd=cwd, prefix=prefix))


@pytest.mark.parametrize(
    ("tx", "rx", "more", "named"),
    [
        ("nosuch", "good", [], ["tx: ", "nosuch", "choose one that exists"]),
        ("good", "nosuch", [], ["rx: ", "nosuch", "choose one that exists"]),
        ("good", "cut", [], ["rx: ", "cut has no carrier", "connect the cable"]),
        ("idle", "good", [], ["tx: ", "idle is down", "ip link set idle up"]),
        ("routed", "good", [], ["tx: ", "routed carries the default route", "choose another port"]),
        ("good", "good", [], ["rx: ", "good", "use another port"]),
        ("good", "good-peer", ["--size", "64,1519"], ["tx: ", "1519", "MTU", "use smaller frames"]),
        ("good", "good-peer", ["--gateway", "198.18.1.1"], ["gateway: ", "address", "ip address add"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-",
)
def test_a_port_that_cannot_be_used(
    ports: None, tmp_path: Path, tx: str, rx: str, more: list[str], named: list[str]
) -> None:
    before = state()
    assert "prog/xdp" not in before[0]
    throughput(tmp_path, f"xdp:{tx}", f"packet:{rx}", *more).refused(*named)
    assert state() == before
    assert list(tmp_path.iterdir()) == [], "a run that never began leaves no directory"


def test_a_port_with_somebody_elses_program_keeps_it(ports: None, tmp_path: Path) -> None:
    path = str(FOLDER / PORTS)
    places = [
        {"engine": engine, "interface": name, "namespace": path}
        for engine, name in (("packet", "good"), ("xdp", "good-peer"))
    ]
    other = Wire(json.dumps(places), [0], [1])
    try:
        before = state()
        assert "prog/xdp" in before[0]
        # The transmitting port is open already when the receiving one is found taken.
        throughput(tmp_path, "xdp:good", "xdp:good-peer").refused("good-peer", "another XDP program", "remove it")
        assert state() == before
    finally:
        other.close()
    assert "prog/xdp" not in state()[0]


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_port_that_another_run_uses_is_refused_until_that_one_ends(ports: None, tmp_path: Path, engine: str) -> None:
    """On packet ports two runs once took each other's frames for their own."""
    uris = ["--tx", f"{engine}:good@{PORTS}", "--rx", f"{engine}:good-peer@{PORTS}"]
    more = ["--size", "64", "--rate", "1kpps", "--waits", "0.1s"]
    first = start("trial", *uris, *more, "--duration", "300s", "--out", "first", cwd=tmp_path)
    assert first.stderr is not None
    assert any("trying" in line for line in first.stderr)
    keisoku("trial", *uris, *more, "--duration", "0.1s", "--out", "second", cwd=tmp_path).refused(
        "tx: good is used by another keisoku", str(first.pid), "choose another port"
    )
    first.send_signal(signal.SIGKILL)
    first.communicate()
    third = keisoku("trial", *uris, *more, "--duration", "0.1s", "--out", "third", cwd=tmp_path)
    third.measured_or_said_why_not()


def test_the_hosts_way_out_is_refused(tmp_path: Path) -> None:
    routed = [port.name for port in list_ports() if port.default_route]
    if not routed:
        pytest.skip("this host has no default route")
    # The receiving port does not exist: not even a broken check would let a frame out.
    done = keisoku("throughput", "--tx", f"packet:{routed[0]}", "--rx", "packet:nosuch0", *TRAFFIC, cwd=tmp_path)
    done.refused("tx: ", routed[0], "default route", "choose another port")


def test_missing_privilege_for_a_port(ports: None, tmp_path: Path) -> None:
    done = throughput(tmp_path, "xdp:good", "xdp:good-peer", prefix=NO_CAPABILITIES)
    done.refused("tx: ", "CAP_NET_ADMIN", "run as root")


@pytest.mark.parametrize("command", [["throughput", "--dut", "lab:bridge", *TRAFFIC], ["lab", "router"]])
def test_missing_privilege_for_a_lab(tmp_path: Path, command: list[str]) -> None:
    outcome_of(start(*command, cwd=tmp_path, prefix=NO_CAPABILITIES)).refused("lab", "CAP_NET_ADMIN", "run it as root")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dut", "lab:router", "--headers", "ethernet"], ["headers: ", "ethernet", "use ipv4 or ipv6"]),
        (["--dut", "lab:bridge", "--size", "1519"], ["--size: ", "1519", "MTU", "at most 1518"]),
        (["--dut", "lab:bridge", "--rx", "1"], ["rx: ", "port 1", "use another port"]),
        (["--dut", "lab:bridge", "--tx", "99"], ["ports: ", "99", "give 2 to 32"]),
        (["--dut", "lab:bridge", "--engine", "dpdk"], ["engine: ", "dpdk", "'xdp', 'afxdp' or 'packet'"]),
    ],
    ids=lambda value: value[-1],
)
def test_a_lab_that_cannot_do_it(tmp_path: Path, arguments: list[str], named: list[str]) -> None:
    keisoku("throughput", *TRAFFIC, *arguments, cwd=tmp_path).refused(*named)
    assert list(tmp_path.iterdir()) == []


SERIES = ["latency", "--dut", "lab:bridge", "--size", "84", "--rate", "20kpps", "--waits", "0.02s"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "keisoku-test", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_full_disk_keeps_the_finished_trials_and_room_lets_it_go_on(tmp_path: Path, small_disk: Path) -> None:
    run = small_disk / "run"
    done = keisoku(*SERIES, "-v", "--duration", "0.05s", "--repetitions", "12", "--out", str(run), cwd=tmp_path)
    assert done.code == 2
    *told, sentence = done.stderr.splitlines()
    finished = [line for line in told if " latency: " in line]
    for word in (str(run), "No space left", "make room", f"--resume {run}"):
        assert word in sentence
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert namespaces_of(done.pid) == []
    assert 0 < len(trials(run)) == len(finished) < 12

    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    resumed = keisoku("run", "--resume", str(run), cwd=tmp_path)
    resumed.measured_or_said_why_not()
    assert len(trials(run)) >= 12
    assert_adds_up(run)


def test_a_directory_that_cannot_be_written_is_one_sentence_before_the_first_trial(
    tmp_path: Path, small_disk: Path
) -> None:
    """Root may write anywhere but on a disk that is mounted read-only."""
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = keisoku(*SERIES, "--out", str(small_disk / "run"), cwd=tmp_path)
    assert done.code == 2
    sentence = done.stderr.splitlines()[-1]
    for word in (str(small_disk / "run"), "Read-only file system", "choose"):
        assert word in sentence
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert namespaces_of(done.pid) == []


@pytest.mark.parametrize("form", [pytest.param([], marks=pytest.mark.long), ["--json"]])
def test_a_full_disk_behind_standard_output_keeps_the_result(tmp_path: Path, form: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        child = start(
            "throughput", "--dut", "sim:gs908e", "--size", "64", "--duration", "10ms", "--out", "run", *form,
            cwd=tmp_path, stdout=full,
        )  # fmt: skip
    done = outcome_of(child)
    assert done.code == 2
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    sentence = done.stderr.splitlines()[-1]
    assert "standard output" in sentence and "No space left" in sentence and "kept in run" in sentence
    assert (tmp_path / "run" / "result.json").exists()


LEARNING = 0xFFFF
"""Stream of the learning frames."""


def wait_for_trial(child: Child, index: int) -> None:
    """Returns when a frame of the child's trial `index`, or of a later one, is on the wire: it is under way."""

    def listen() -> socket.socket:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        tap.bind(("d1", ALL_ETHERTYPES))
        return tap

    stream = index * 4096 + 1  # each trial has 4096 numbers for its streams
    with run_in_namespace(FOLDER / f"keisoku-{child.pid}-dut", listen) as tap:
        tap.settimeout(30)
        while not stream <= (identity(tap.recv(2048)) or (0,))[0] < LEARNING:
            pass


TRIALS = 4


@pytest.mark.alone
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(other, marks=pytest.mark.long) for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_run_that_is_cut_in_mid_trial_leaves_finished_trials_only(tmp_path: Path, number: signal.Signals) -> None:
    child = start(*SERIES, "-v", "--duration", "0.3s", "--repetitions", str(TRIALS), "--out", "run", cwd=tmp_path)
    assert child.stderr
    assert child.stderr.readline().startswith("latency, 1 size: ")
    assert child.stderr.readline().startswith("this host is ")
    assert any(" 0 latency" in line for line in child.stderr)
    left = namespaces_of(child.pid)
    assert len(left) == 2
    wait_for_trial(child, 1)
    child.send_signal(number)
    done = outcome_of(child)
    run = tmp_path / "run"
    finished = [record["facts"]["interrupted"] for record in trials(run)]
    kept = len(finished)
    assert finished == [False] * kept
    assert done.stdout == ""
    *lines, sentence = done.stderr.splitlines() + [""] * (number == signal.SIGKILL)
    told = [line for line in lines if ": offered " in line]
    # A trial is told once it is kept; where this process was held up, a second one may have ended before the signal.
    assert 1 + len(told) <= kept <= 1 + len(told) + (number == signal.SIGKILL) < TRIALS
    if number == signal.SIGKILL:
        cleaned = keisoku("clean", cwd=tmp_path)
        assert cleaned.code == 0
        assert {f"removed {name}" for name in left} <= set(cleaned.stdout.splitlines())
    else:
        assert done.code == 2
        assert "interrupted; what was measured is kept" in sentence and "keisoku run --resume run" in sentence
    assert namespaces_of(child.pid) == []

    resumed = keisoku("run", "-v", "--resume", "run", cwd=tmp_path)
    resumed.measured_or_said_why_not()
    assert len(trials(run)) >= TRIALS, "a trial that the tester itself spoils is repeated"
    assert resumed.stderr.count(": offered ") == len(trials(run)) - kept, "finished trials are not done again"
    assert_adds_up(run)
    assert (run / "report.html").exists()
    assert namespaces_of(resumed.pid) == []


def test_what_the_caller_ignores_does_not_end_a_run(tmp_path: Path) -> None:
    ignoring = ["sh", "-c", 'trap \'\' HUP; exec "$0" "$@"']  # as nohup does
    child = start(
        *SERIES, "-v", "--duration", "0.3s", "--repetitions", "2", "--out", "run", cwd=tmp_path, prefix=ignoring
    )
    assert child.stderr
    child.stderr.readline()
    wait_for_trial(child, 1)
    child.send_signal(signal.SIGHUP)
    outcome_of(child).measured_or_said_why_not()
    assert namespaces_of(child.pid) == []
