"""Captures of real ports: what a lab's wires carried, with the tester's own stamps, read back by other readers."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgReader
from support.command_line import keisoku, start, trials
from support.lab_frames import Tap, headers, signed

from keisoku._core import Wire
from keisoku.errors import EngineError, PlanError
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort
from keisoku.subjects.device.capture.capture import Capture
from keisoku.subjects.device.capture.find import find
from keisoku.subjects.device.capture.port import CapturePort
from keisoku.subjects.device.capture.replay import replay
from keisoku.subjects.device.record.facts import Facts

pytestmark = pytest.mark.lab

STREAM = 3
FRAMES = 400
LOST = (12, 17, 18, 200)
HEADER_BYTES = 42


def by_scapy(path: Path) -> list[bytes]:
    with RawPcapNgReader(str(path)) as reader:
        return [data for data, _ in reader]


def own(port: LabPort, role: str) -> CapturePort:
    return CapturePort(port.interface, port.namespace_path, role)


def device(port: LabPort) -> CapturePort:
    return CapturePort(str(port.dut_interface), Path(str(port.namespace_path).replace("tester", "dut")), "the DUT's")


@pytest.fixture(scope="module")
def cable() -> Iterator[Lab]:
    with Lab("cable") as lab:
        yield lab


@pytest.fixture(scope="module")
def faulty() -> Iterator[Lab]:
    with Lab("faulty", faults=Faults(drop=LOST)) as lab:
        yield lab


def spread(ranges: list[tuple[int, int]]) -> list[int]:
    return [sequence for first, last in ranges for sequence in range(first, last + 1)]


def lost(facts: Facts) -> list[tuple[int, int]]:
    """What the measurement itself says; on a busy machine a lab loses more than the device drops."""
    ranges = [(gap.first, gap.last) for gap in facts.tracked.lost]
    assert set(LOST) <= set(spread(ranges))
    return ranges


def open_wire(lab: Lab, engine: str, capture_bytes: int) -> Wire:
    places = [
        {
            "engine": engine,
            "interface": port.interface,
            "namespace": str(port.namespace_path),
            "capture_bytes": capture_bytes,
        }
        for port in lab.ports
    ]
    return Wire(json.dumps(places), [0], [1])


def trial(wire: Wire, lab: Lab, frame_bytes: int = 128, frames: int = FRAMES) -> Facts:
    template = headers(lab.ports[0], lab.ports[1], frame_bytes, l3=False)
    stream = {
        "transmit": 0,
        "receive": 1,
        "table": 0,
        "frame_bytes": [frame_bytes],
        "frames_per_second": 50_000,
        "frames": frames,
    }
    asked = {
        "first_stream": STREAM,
        "streams": [stream],
        "duration_ns": 20_000_000_000,
        "drain_ns": 100_000_000,
        "interval_ns": 1_000_000_000,
        "seed": 0,
    }
    wire.start(json.dumps(asked), [(template, struct.pack("=H", len(template)), HEADER_BYTES, True, 0)])
    return Facts.model_validate_json(wire.finish())


def measured(lab: Lab, engine: str, path: Path, snap_bytes: int = 0, **how: int) -> tuple[Facts, Capture]:
    """A trial with both tester ports captured, as `--capture` does it."""
    wire = open_wire(lab, engine, snap_bytes or 65535)
    try:
        ports = [own(lab.ports[0], "transmits"), own(lab.ports[1], "receives")]
        with Capture(ports, path, rings=wire.capture_rings(), snap_bytes=snap_bytes) as capture:
            facts = trial(wire, lab, **how)
    finally:
        wire.close()
    return facts, capture


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
def test_a_frame_lost_by_the_device_is_seen_before_it_and_not_behind_it(
    faulty: Lab, tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "run.pcapng"
    facts, capture = measured(faulty, engine, path)
    assert [counts.dropped for counts in capture.counts] == [0, 0]
    found = find(path, f"0-{FRAMES - 1}")
    forwarded = facts.tracked.forwarded_frames
    assert [port.streams for port in found.ports] == [{STREAM: FRAMES}, {STREAM: forwarded}]
    assert found.never_seen(0) == []
    assert found.never_seen(1) == lost(facts)
    assert [found.doubt(port) for port in (0, 1)] == [None, None]
    assert {(one.port, one.direction) for one in found.sightings} == {(0, "outgoing"), (1, "incoming")}
    sent, received = ({one.sequence: one.time_ns for one in found.sightings if one.port == port} for port in (0, 1))
    assert all(sent[sequence] < received[sequence] for sequence in received)


def test_the_stamps_are_those_of_the_measurement(cable: Lab, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    facts, _ = measured(cable, "xdp", path)
    found = find(path, f"0-{FRAMES - 1}")
    sent, received = ({one.sequence: one.time_ns for one in found.sightings if one.port == port} for port in (0, 1))
    latencies = [received[sequence] - sent[sequence] for sequence in received]
    assert facts.tracked.latency is not None
    assert min(latencies) == facts.tracked.latency.min_ns
    assert max(latencies) == facts.tracked.latency.max_ns
    assert sent[FRAMES - 1] - sent[0] == facts.sent.last_sent_ns - facts.sent.first_sent_ns


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
def test_cut_frames_keep_their_identity(faulty: Lab, tmp_path: Path, engine: str) -> None:
    path = tmp_path / "run.pcapng"
    facts, _ = measured(faulty, engine, path, snap_bytes=40, frame_bytes=512)
    found = find(path, f"0-{FRAMES - 1}")
    assert [port.unreadable for port in found.ports] == [0, 0]
    assert (found.never_seen(0), found.never_seen(1)) == ([], lost(facts))
    assert {len(data) for data in by_scapy(path)} == {40}
    with pytest.raises(EngineError, match="was cut to 40 of its 508 bytes"):
        replay(path, port="t1")


def test_a_capture_is_replayed_as_it_was_sent(cable: Lab, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    facts, _ = measured(cable, "xdp", path)
    taken = replay(path, port="t1")
    template = headers(cable.ports[0], cable.ports[1], 128, l3=False)
    assert [taken.frame(n)[:-18] for n in range(FRAMES)] == [template[:-18]] * FRAMES
    assert taken.duration_ns == facts.sent.last_sent_ns - facts.sent.first_sent_ns
    assert set(by_scapy(path)) == {taken.frame(n) for n in range(FRAMES)}


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_the_device_s_own_ports_are_captured_from_outside(faulty: Lab, tmp_path: Path, engine: str) -> None:
    path = tmp_path / "dut.pcapng"
    wire = open_wire(faulty, engine, 0)
    try:
        assert wire.capture_rings() == []
        with Capture([device(port) for port in faulty.ports], path) as capture:
            facts = trial(wire, faulty)
    finally:
        wire.close()
    assert [counts.dropped for counts in capture.counts] == [0, 0]
    found = find(path, f"0-{FRAMES - 1}")
    before, behind = (set(spread(found.never_seen(port))) for port in (0, 1))
    assert before <= behind <= set(spread(lost(facts)))
    assert before.isdisjoint(LOST)
    assert behind >= set(LOST)
    assert {(one.port, one.direction) for one in found.sightings} == {(0, "incoming"), (1, "outgoing")}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(st.binary(min_size=46, max_size=1500), min_size=1, max_size=30))
def test_what_scapy_reads_is_what_the_wire_carried(
    cable: Lab, tmp_path: Path, tap: Callable[[LabPort], Tap], bodies: list[bytes]
) -> None:
    path = tmp_path / "a.pcapng"
    sender = tap(cable.ports[0])
    frames = [bytes.fromhex("02000000000202000000000188b5") + body for body in bodies]
    ports = [own(port, "") for port in cable.ports]
    with Capture(ports, path, count=2 * len(frames)) as capture:
        for frame in frames:
            sender.send(frame)
        capture.wait(30)
    sender.close()
    assert [counts.written for counts in capture.counts] == [len(frames)] * 2
    read = by_scapy(path)
    assert sorted(read) == sorted([*frames, *frames])
    taken = replay(path, port="t2")
    assert [taken.frame(n) for n in range(len(frames))] == frames


def test_a_vlan_tag_that_the_kernel_keeps_beside_the_frame_is_put_back(
    cable: Lab, tmp_path: Path, tap: Callable[[LabPort], Tap]
) -> None:
    path = tmp_path / "a.pcapng"
    frame = signed(bytes.fromhex("0200000000020200000000018100600588b5") + bytes(60), STREAM, 4)
    with Capture([own(cable.ports[1], "")], path, count=1) as capture:
        tap(cable.ports[0]).send(frame)
        capture.wait(30)
    assert by_scapy(path) == [frame]
    assert [one.sequence for one in find(path, "4").sightings] == [4]


def test_an_idle_capture_is_a_whole_file(cable: Lab, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    with Capture([own(cable.ports[0], "")], path) as capture:
        capture.wait(0)
    assert [(counts.written, counts.dropped) for counts in capture.counts] == [(0, 0)]
    assert by_scapy(path) == []


def test_what_cannot_be_captured_is_refused_in_one_sentence(cable: Lab, tmp_path: Path) -> None:
    port, path = own(cable.ports[1], ""), tmp_path / "a.pcapng"
    with pytest.raises(EngineError, match="nowhere0: no such interface"), Capture([CapturePort("nowhere0")], path):
        pass
    with pytest.raises(PlanError, match="no namespace"), Capture([CapturePort.parse("a@keisoku-0-dut")], path):
        pass
    with pytest.raises(EngineError, match="cannot be written"), Capture([port], tmp_path / "none" / "a.pcapng"):
        pass
    wire = open_wire(cable, "xdp", 0)
    try:
        with pytest.raises(PlanError, match="an XDP program is attached"), Capture([port], path):
            pass
    finally:
        wire.close()
    wrongs: list[dict[str, Any]] = [{"snap_bytes": -1}, {"count": 0}]
    for wrong in wrongs:
        with pytest.raises(PlanError):
            Capture([port], path, **wrong)
    for ports in ([], [port, port]):
        with pytest.raises(PlanError):
            Capture(ports, path)


def test_a_full_disk_ends_the_capture_and_is_told(cable: Lab) -> None:
    full = Capture([own(cable.ports[0], "")], Path("/dev/full"))
    with pytest.raises(EngineError, match=r"/dev/full: the capture cannot be written: No space left"), full:
        pass


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_names_roles_directions_and_nanoseconds(cable: Lab, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    _, capture = measured(cable, "xdp", path, frames=20)
    fields = ("frame.time_epoch", "frame.interface_name", "frame.interface_description", "frame.packet_flags_direction")
    command = ["tshark", "-r", str(path), "-T", "fields", *(word for field in fields for word in ("-e", field))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    roles = [f"{role}, in namespace {cable.ports[0].namespace_path.name}" for role in ("transmits", "receives")]
    rows = Counter(
        (name, role, int(direction, 16)) for _, name, role, direction in (line.split("\t") for line in lines)
    )
    sent, received = (counts.written for counts in capture.counts)
    assert rows == {("t1", roles[0], 2): sent, ("t2", roles[1], 1): received}
    times = {one.time_ns for one in find(path, "0-19").sightings}
    assert {int(line.split("\t")[0].replace(".", "")) for line in lines} == times


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos is not installed")
def test_capinfos_finds_nanoseconds_and_statistics(cable: Lab, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    _, capture = measured(cable, "xdp", path, frames=20)
    told = subprocess.run(["capinfos", str(path)], check=True, capture_output=True, text=True).stdout
    assert "nanoseconds (9)" in told
    assert told.count("Number of stat entries = 1") == 2
    assert [f"Number of packets = {counts.written}" in told for counts in capture.counts] == [True, True]


def test_the_commands_capture_and_find(faulty: Lab, tmp_path: Path, tap: Callable[[LabPort], Tap]) -> None:
    ports = [f"{port.interface}@{port.namespace}" for port in map(device, faulty.ports)]
    child = start("capture", *ports, "--out", "dut.pcapng", cwd=tmp_path)
    path = tmp_path / "dut.pcapng"
    while not (path.exists() and path.stat().st_size):
        assert child.poll() is None
        time.sleep(0.01)
    sender, receiver = tap(faulty.ports[0]), tap(faulty.ports[1])
    for sequence in range(11, 14):
        frame = signed(headers(faulty.ports[0], faulty.ports[1], 128, l3=False), STREAM, sequence)
        sender.send(frame)
        if sequence not in LOST:
            receiver.until(frame)
    child.send_signal(signal.SIGINT)
    told, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    assert told.count("frames captured, 0 dropped by the capture") == 2
    found = keisoku("find", "dut.pcapng", "--sequence", "11-13", cwd=tmp_path)
    assert found.code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["11", "11", "12", "13", "13"]
    assert any(line.startswith("d2") and line.endswith("never seen: 12") for line in lines)
    as_json = json.loads(keisoku("find", "dut.pcapng", "--sequence", "12", "--json", cwd=tmp_path).stdout)
    assert as_json["never_seen"][1] == {"port": 1, "ranges": [[12, 12]], "doubt": None}
    keisoku("find", "dut.pcapng", "--sequence", "x", cwd=tmp_path).refused("sequence", "5,12-20")
    keisoku("find", "nothing.pcapng", "--sequence", "1", cwd=tmp_path).refused("nothing.pcapng")
    keisoku("capture", "d1", "--out", "x.pcapng", cwd=tmp_path).refused("d1")


def port_uri(engine: str, port: LabPort) -> str:
    return f"{engine}:{port.interface}@{port.namespace_path.name}"


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_the_frames_that_a_run_lost_are_looked_up_in_its_capture(faulty: Lab, tmp_path: Path, engine: str) -> None:
    tx, rx = (port_uri(engine, port) for port in faulty.ports)
    done = keisoku(
        "latency", "--tx", tx, "--rx", rx, "--size", "128", "--rate", "5k", "--repetitions", "1",
        "--duration", "0.2s", "--waits", "0.05s", "--capture", "run.pcapng", "--out", "run", cwd=tmp_path,
    )  # fmt: skip
    assert "capture: run.pcapng: t1 " in done.stderr
    assert "LOST" not in done.stderr
    context = json.loads((tmp_path / "run" / "context.json").read_text())
    assert context["capture"] == {"file": str(tmp_path / "run.pcapng"), "snap_bytes": 0}
    records = trials(tmp_path / "run")
    assert records
    for record in records:
        (stream,) = record["facts"]["streams"]
        ranges = [(gap["first"], gap["last"]) for gap in stream["tracked"]["lost"]]
        assert set(LOST) <= set(spread(ranges))
        wanted = ",".join(f"{first}-{last}" for first, last in ranges)
        looked = ["--stream", str(stream["stream"]), "--sequence", wanted, "--json"]
        found = json.loads(keisoku("find", "run.pcapng", *looked, cwd=tmp_path).stdout)
        assert [port["description"].partition(",")[0] for port in found["ports"]] == ["transmits", "receives"]
        assert found["ports"][0]["streams"][str(stream["stream"])] == stream["offered_frames"]
        assert found["never_seen"] == [
            {"port": 0, "ranges": [], "doubt": None},
            {"port": 1, "ranges": [list(one) for one in ranges], "doubt": None},
        ]


def test_an_interrupted_run_leaves_a_whole_capture(cable: Lab, tmp_path: Path) -> None:
    tx, rx = (port_uri("xdp", port) for port in cable.ports)
    child = start(
        "latency", "--tx", tx, "--rx", rx, "--size", "64", "--rate", "1k", "--waits", "0.05s",
        "--capture", "run.pcapng", "--snap", "40", "--out", "run", cwd=tmp_path,
    )  # fmt: skip
    path = tmp_path / "run.pcapng"
    while not (path.exists() and path.stat().st_size):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 2
    assert "capture: run.pcapng: t1 " in errors
    assert "keisoku: interrupted; 'keisoku run --resume run' goes on" in errors
    found = find(path, "0", stream=1)
    assert not found.ends_early
    assert [port.dropped for port in found.ports] == [0, 0]
    resumed = start("run", "--resume", "run", cwd=tmp_path)
    second = tmp_path / "run-2.pcapng"
    while not (second.exists() and second.stat().st_size):
        assert resumed.poll() is None
        time.sleep(0.01)
    resumed.send_signal(signal.SIGINT)
    assert "capture: run-2.pcapng: t1 " in resumed.communicate(timeout=60)[1]


def test_a_run_s_capture_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "there.pcapng").write_text("mine")
    lab = ["loss", "--dut", "lab:cable"]
    keisoku(*lab, "--capture", "there.pcapng", cwd=tmp_path).refused(
        "capture", "there.pcapng", "a capture never overwrites a file"
    )
    assert (tmp_path / "there.pcapng").read_text() == "mine"
    keisoku(*lab, "--capture", "none/a.pcapng", cwd=tmp_path).refused("capture", "none/a.pcapng")
    keisoku(*lab, "--snap", "64", cwd=tmp_path).refused("snap", "--capture")
    keisoku(*lab, "--stamps", "hardware", "--capture", "a.pcapng", cwd=tmp_path).refused("stamps", "hardware")
    keisoku("loss", "--dut", "sim:gs908e", "--capture", "a.pcapng", cwd=tmp_path).refused("capture", "simulated")
    assert [path.name for path in tmp_path.iterdir()] == ["there.pcapng"]
