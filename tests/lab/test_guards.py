"""The self-guards against the real thing: overloaded ports, a core taken away, a quota."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keisoku._core import Hiccups, Wire
from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort
from keisoku.subjects.device.engine.port_counters import KernelCounters
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.interference import Interference, PortCounters
from keisoku.subjects.device.record.validity import STRAYS, disturbed, port_drops

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for real-time priority and control groups"),
]

HEADER = bytes.fromhex("026b73000002026b7300000188b5")
FRAMES = 400_000
BEYOND_ANY_PORT_FPS = 1e7
TRIES = 5


def place(port: LabPort, engine: str) -> dict[str, str]:
    return {"engine": engine, "interface": port.interface, "namespace": str(port.namespace_path)}


def counters(lab: Lab, engine: str) -> list[PortCounters]:
    tester = lab.ports[0].namespace_path
    dut = tester.with_name(tester.name.replace("tester", "dut"))
    read = []
    for port in lab.ports:
        peer = (port.dut_interface, dut) if port.dut_interface else None
        with closing(KernelCounters("xdp" if engine == "xdp" else "packet", port.interface, tester, peer)) as kernel:
            read.append(kernel.read())
    return read


def overload(lab: Lab, engine: str) -> tuple[Facts, list[PortCounters]]:
    """All that the first port can send; the facts, and how the two ports' counters changed."""
    stream = {
        "transmit": 0,
        "receive": 1,
        "table": 0,
        "frame_bytes": [64],
        "frames_per_second": BEYOND_ANY_PORT_FPS,
        "frames": FRAMES,
    }
    trial = {
        "first_stream": 3,
        "streams": [stream],
        "duration_ns": 20_000_000_000,
        "drain_ns": 100_000_000,
        "interval_ns": 1_000_000_000,
        "seed": 0,
    }
    frame = HEADER + bytes(46)
    before = counters(lab, engine)
    wire = Wire(json.dumps([place(port, engine) for port in lab.ports]), [0], [1])
    try:
        wire.start(json.dumps(trial), [(frame, struct.pack("=H", len(frame)), len(HEADER), True, 0)])
        facts = Facts.model_validate_json(wire.finish())
    finally:
        wire.close()
    return facts, [after.since(first) for after, first in zip(counters(lab, engine), before, strict=True)]


def own_receive_thread(port: LabPort) -> None:
    """From now on a thread, not the sender's soft interrupt, takes what arrives out of the ring of 256 frames."""
    run_in_namespace(port.namespace_path, lambda: Path(f"/sys/class/net/{port.interface}/threaded").write_text("1"))


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_what_an_overloaded_device_loses_is_not_the_testers(engine: str) -> None:
    with Lab("bridge") as lab:
        facts, changes = overload(lab, engine)
        assert changes[0].tx_packets == facts.sent.offered_frames
        assert changes[1].rx_packets == facts.tracked.received_frames + facts.tester_dropped_frames
        assert [port_drops(change, facts.tracked.foreign_frames) for change in changes] == [[], []]


def test_what_the_receive_ring_of_a_cable_has_no_room_for_is_the_testers() -> None:
    with Lab("cable") as lab:
        # A veth takes XDP frames only while its peer polls, so the thread comes after the first.
        own_receive_thread(lab.ports[1])
        for _ in range(TRIES):
            facts, (sending, receiving) = overload(lab, "xdp")
            assert receiving.rx_dropped == sending.tx_dropped == facts.tracked.lost_frames
            if facts.tracked.lost_frames > STRAYS:
                break
        assert port_drops(receiving, 0) == [
            f"t2 itself dropped {facts.tracked.lost_frames} received frames (rx_dropped)"
        ]
        assert port_drops(sending, 0) == []


def test_what_a_packet_socket_was_refused_it_sends_again() -> None:
    with Lab("cable") as lab:
        own_receive_thread(lab.ports[1])
        facts, (sending, receiving) = overload(lab, "packet")
        assert facts.tracked.lost_frames == 0
        assert port_drops(sending, 0) == port_drops(receiving, 0) == []


def test_what_a_device_cannot_put_into_the_testers_ring_is_the_testers() -> None:
    with Lab("bridge") as lab:
        own_receive_thread(lab.ports[1])
        for _ in range(TRIES):
            facts, (_, receiving) = overload(lab, "packet")
            if receiving.peer_tx_dropped:
                break
        assert receiving.peer_tx_dropped
        assert facts.tracked.lost_frames >= receiving.peer_tx_dropped
        assert port_drops(receiving, 0) == [
            f"the receive queue of t2 had no room for {receiving.peer_tx_dropped} frames of the device"
        ]


def test_foreign_frames_that_the_host_refuses_are_no_drops() -> None:
    lldp = bytes.fromhex("0180c200000e02000000000188cc") + bytes(46)

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
            port.bind((lab.ports[0].interface, 0))
            for _ in range(10):
                port.send(lldp)

    with Lab("cable") as lab:
        before = counters(lab, "xdp")[1]
        run_in_namespace(lab.ports[0].namespace_path, send)
        change = counters(lab, "xdp")[1].since(before)
        assert change.rx_dropped == 10
        assert port_drops(change, 10) == []


def test_counters_of_no_interface_are_an_error() -> None:
    with pytest.raises(EngineError, match="there is no interface nothing0"):
        KernelCounters("xdp", "nothing0", None)


def test_counters_of_an_interface_that_is_gone_are_an_error() -> None:
    with Lab("cable") as lab:
        port = lab.ports[0]
        with closing(KernelCounters("xdp", port.interface, port.namespace_path)) as kernel:
            assert kernel.read(3).taken_frames == 3
            subprocess.run(["ip", "-n", port.namespace_path.name, "link", "delete", port.interface], check=True)
            with pytest.raises(EngineError, match=f"there is no interface {port.interface} any more"):
                kernel.read()


BURN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while time.thread_time() < 0.4:
    pass
"""


def test_a_core_that_another_program_takes_is_seen_to_stand_still() -> None:
    core = max(os.sched_getaffinity(0))
    hiccups = Hiccups([core], [])
    subprocess.run([sys.executable, "-c", BURN, str(core)], check=True)
    measured = Interference.model_validate_json(hiccups.end())
    found = disturbed(measured)
    assert [reason for reason in found if reason.startswith(f"CPU {core} stood still for")]


THROTTLED = """
import sys
from pathlib import Path
from keisoku._core import Hiccups
group = Path(sys.argv[1])
(group / "cgroup.procs").write_text("0")
def stops():
    lines = (group / "cpu.stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("nr_throttled"))

hiccups = Hiccups([], [])
first = stops()
# How long a stop was is known when the next one comes.
while stops() < first + 2:
    pass
print(hiccups.end())
"""


@pytest.fixture
def quota() -> Iterator[Path]:
    """A control group of 5 ms of CPU time in each 100 ms."""
    name = f"keisoku-test-{os.getpid()}"
    mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place_, kind in mounts:
        folder = Path(place_.split()[4]) / name
        try:
            if kind.startswith("cgroup ") and "cpu" in kind.split()[-1].split(","):
                folder.mkdir()
                (folder / "cpu.cfs_period_us").write_text("100000")
                (folder / "cpu.cfs_quota_us").write_text("5000")
            elif kind.startswith("cgroup2 "):
                folder.mkdir()
                (folder / "cpu.max").write_text("5000 100000")
            else:
                continue
        except OSError:
            if folder.exists():
                folder.rmdir()
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip("no control group with a CPU quota can be made here")


def test_a_cpu_quota_is_seen_to_stop_the_tester(quota: Path) -> None:
    child = subprocess.run([sys.executable, "-c", THROTTLED, str(quota)], check=True, capture_output=True, text=True)
    measured = Interference.model_validate_json(child.stdout)
    assert measured.throttling
    assert measured.throttling.periods >= 2
    assert measured.throttling.stopped_ns > 0
    assert [reason for reason in disturbed(measured) if reason.startswith("a CPU quota stopped the tester")]
