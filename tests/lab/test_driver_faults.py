"""What drivers of network cards do and a veth does not: each test is named after the wrong figure that it led to."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.tap_device import TapDevice

from keisoku._core import Wire
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.device.engine.port_counters import KernelCounters
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.interference import PortCounters, PortEngine
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.validity import port_drops, reasons
from keisoku.subjects.device.testbed import host_port
from keisoku.subjects.device.testbed.host_port import PortAddress
from keisoku.subjects.device.testbed.host_port_list import list_ports

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces"),
]

NAME = f"keisoku-test-{os.getpid()}-nic"
PATH = Path("/run/netns") / NAME
MAC = bytes.fromhex("020000000002")
HEADER = MAC + bytes.fromhex("020000000001" + "88b5")
TAGGED = HEADER[:12] + bytes.fromhex("8100" + "0007" + "88b5")
S = 1_000_000_000


def ip(words: str) -> str:
    return subprocess.run(["ip", "-n", NAME, *words.split()], check=True, capture_output=True, text=True).stdout


def inside(words: str) -> None:
    subprocess.run(["ip", "netns", "exec", NAME, *words.split()], check=True, capture_output=True)


@pytest.fixture
def bed() -> Iterator[None]:
    """A namespace with a cable from tx0 to rx0."""
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    try:
        inside("sysctl -qw net.ipv6.conf.default.disable_ipv6=1")
        ip("link add tx0 numrxqueues 4 numtxqueues 4 type veth peer name rx0 numrxqueues 4 numtxqueues 4")
        ip(f"link set rx0 address {MAC.hex(':')}")
        for name in ("tx0", "rx0"):
            ip(f"link set {name} up")
        inside("ethtool -K rx0 gro on")
        yield
    finally:
        subprocess.run(["ip", "netns", "del", NAME], capture_output=True)


@pytest.fixture
def tap(bed: None) -> Iterator[TapDevice]:
    device = TapDevice(PATH, "tap0")
    ip("link set tap0 up")
    yield device
    device.close()


def place(engine: str, interface: str, **more: object) -> dict[str, object]:
    return {"engine": engine, "interface": interface, "namespace": str(PATH), **more}


def template(frame_bytes: int, header: bytes = HEADER) -> bytes:
    return header + bytes(frame_bytes - 4 - len(header))


def begin(
    wire: Wire, frames: int, fps: float = 20_000, frame: bytes = template(64), header: bytes = HEADER, **more: object
) -> None:
    stream = {
        "transmit": 0, "receive": 1, "table": 0, "frame_bytes": [len(frame) + 4], "frames_per_second": fps,
        "frames": frames,
    }  # fmt: skip
    trial = {
        "first_stream": 3, "streams": [stream], "duration_ns": 20 * S, "drain_ns": S // 10, "interval_ns": S,
        "seed": 0, **more,
    }  # fmt: skip
    wire.start(json.dumps(trial), [(frame, struct.pack("=H", len(frame)), len(header), True, 0)])


def finish(wire: Wire) -> Facts:
    return Facts.model_validate_json(wire.finish())


def intended(frames: int, fps: float = 20_000) -> Trial:
    return Trial(purpose="test", frame_bytes=64, frames_per_second=fps, duration_ns=round(frames / fps * S))


def until_offered(wire: Wire, frames: int) -> None:
    while wire.progress()[0] < frames:
        assert not wire.progress()[2]
        time.sleep(0.002)


def moved(
    source: str, sink: TapDevice, frames: int, kept: list[bytes] | None = None
) -> tuple[threading.Thread, threading.Event]:
    """A device that forwards what arrives at an interface to the TAP device, until it has forwarded so many."""
    ready = threading.Event()

    def forward() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as port:
            port.bind((source, 3))
            port.settimeout(5)
            ready.set()
            for _ in range(frames):
                frame = port.recv(65_536)
                if kept is not None:
                    kept.append(frame)
                sink.receive(frame)

    thread = threading.Thread(target=lambda: run_in_namespace(PATH, forward))
    thread.start()
    return thread, ready


def counters(engine: PortEngine) -> PortCounters:
    with closing(KernelCounters(engine, "tap0", PATH)) as kernel:
        return kernel.read()


def test_frames_that_our_own_program_took_are_not_drops_of_the_port(tap: TapDevice) -> None:
    """TUN and virtio-net count XDP_DROP in rx_dropped: every valid trial was called invalid."""
    frames = 93
    wire = Wire(json.dumps([place("packet", "tx0"), place("xdp", "tap0")]), [0], [1])
    try:
        before, taken = counters("xdp"), dict(wire.taken_frames())[1]
        device, ready = moved("rx0", tap, frames)
        ready.wait()
        begin(wire, frames, 2000)
        facts = finish(wire)
        device.join()
        own = dict(wire.taken_frames())[1] - taken
        after = counters("xdp")
        change = after.model_copy(update={"taken_frames": own}).since(before)
    finally:
        wire.close()
    assert facts.tracked.forwarded_frames == frames == own
    assert change.rx_dropped == frames, "this driver counts them"
    assert port_drops(change, 0) == []
    assert port_drops(change.model_copy(update={"taken_frames": None}), 0) != []


@pytest.mark.parametrize("engine", ["xdp", "afxdp"])
def test_late_frames_that_our_own_program_took_are_not_drops_of_the_port(tap: TapDevice, engine: PortEngine) -> None:
    """An AF_XDP port did not say how many frames its program took: with TUN and virtio-net, late frames of an earlier
    trial made the next one invalid."""
    late = 40
    wire = Wire(json.dumps([place("packet", "tx0"), place(engine, "tap0")]), [0], [1])
    try:
        kept: list[bytes] = []
        device, ready = moved("rx0", tap, late, kept)
        ready.wait()
        begin(wire, late, 2000)
        assert finish(wire).tracked.forwarded_frames == late
        device.join()
        before, taken = counters(engine), dict(wire.taken_frames())[1]
        for frame in kept:
            tap.receive(frame)
        own = dict(wire.taken_frames())[1] - taken
        change = counters(engine).model_copy(update={"taken_frames": own}).since(before)
    finally:
        wire.close()
    assert change.rx_dropped == late == own, "this driver counts them"
    assert port_drops(change, 0) == []


def test_frames_that_an_af_xdp_socket_got_are_neither_drops_nor_taken(tap: TapDevice) -> None:
    """A redirected frame is not among the dropped ones of any driver: it must not excuse real drops."""
    frames = 93
    wire = Wire(json.dumps([place("packet", "tx0"), place("afxdp", "tap0")]), [0], [1])
    try:
        before = counters("afxdp")
        device, ready = moved("rx0", tap, frames)
        ready.wait()
        begin(wire, frames, 2000)
        facts = finish(wire)
        device.join()
        taken = dict(wire.taken_frames())[1]
        change = counters("afxdp").since(before)
    finally:
        wire.close()
    assert facts.tracked.forwarded_frames == frames
    assert (change.rx_dropped, taken) == (0, 0)


def test_a_full_transmit_queue_is_not_the_devices_loss(tap: TapDevice) -> None:
    """An XDP frame for which a driver has no room vanishes after it was stamped."""
    ports = [place("xdp", "tap0", counts_refusals=True), place("packet", "rx0")]
    wire = Wire(json.dumps(ports), [0], [1])
    try:
        before = counters("xdp")
        begin(wire, 3000, 50_000)
        facts = finish(wire)
        change = counters("xdp").since(before)
    finally:
        wire.close()
    left = tap.sent()
    refused = facts.transmitters[0].sent.refused_frames
    assert facts.sent.offered_frames == 3000
    assert refused and refused == 3000 - len(left)
    # The driver counts one for each batch in which a frame found no room (`tun_xdp_xmit`), and a sender that was
    # held up sends larger ones.
    assert 0 < change.tx_dropped <= refused
    found = reasons(intended(3000, 50_000), facts.model_copy(update={"counters": {0: change}}))
    assert f"the transmit queue of tap0 was full: it refused {refused} frames" in found


def test_a_driver_without_native_xdp_says_so_before_it_sends() -> None:
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    try:
        ip("link add eth7 type bridge")
        ip("link set eth7 up")
        with pytest.raises(EngineError, match=r"^eth7: the driver has no native XDP, .*; use `packet:eth7`$"):
            Wire(json.dumps([place("xdp", "eth7"), place("packet", "eth7")]), [0], [1])
    finally:
        subprocess.run(["ip", "netns", "del", NAME], capture_output=True)


def test_a_program_that_does_not_help_is_not_left_on_a_sending_port(bed: None) -> None:
    """The peer of this veth does not poll: nothing that is attached to the sending end changes that."""
    inside("ethtool -K rx0 gro off")
    wire = Wire(json.dumps([place("xdp", "tx0"), place("packet", "rx0")]), [0], [1])
    try:
        assert "xdp" not in json.loads(ip("-j link show tx0"))[0]
        begin(wire, 1)
        with pytest.raises(EngineError, match="tx0: the driver takes no XDP frames"):
            finish(wire)
    finally:
        wire.close()


ENGINES = pytest.mark.parametrize("engine", ["xdp", "packet"])


@pytest.fixture
def wire(bed: None, engine: str) -> Iterator[Wire]:
    wire = Wire(json.dumps([place(engine, "tx0"), place(engine, "rx0")]), [0], [1])
    yield wire
    wire.close()


@ENGINES
def test_a_carrier_lost_in_a_trial_ends_it_and_is_its_reason(wire: Wire) -> None:
    begin(wire, 200_000, 2000)
    until_offered(wire, 200)
    ip("link set rx0 down")
    facts = finish(wire)
    ip("link set rx0 up")
    assert facts.sent.offered_frames < 200_000
    assert [link.port for link in facts.lost_links] == [0, 1]
    found = reasons(intended(200_000, 2000), facts)
    assert found[0].startswith("port 1 lost its carrier") and "and had none at the end" in found[0]
    assert not any("offered" in reason for reason in found)
    # What was lost then is over: the next trial is a good one.
    wire.ready(True)
    begin(wire, 200)
    facts = finish(wire)
    assert facts.lost_links == [] and facts.tracked.forwarded_frames == 200


@ENGINES
def test_a_carrier_that_came_back_within_a_trial_is_still_a_reason(wire: Wire) -> None:
    begin(wire, 2000, 2000, links_may_fail=True)
    until_offered(wire, 100)
    ip("link set rx0 down")
    ip("link set rx0 up")
    facts = finish(wire)
    assert facts.links[1].carrier and facts.links[1].carrier_changes >= 2
    assert facts.lost_links
    trial = intended(2000, 2000)
    assert any("lost its carrier" in reason for reason in reasons(trial, facts))
    allowed = trial.model_copy(update={"links_may_fail": True})
    assert not any("lost its carrier" in reason for reason in reasons(allowed, facts))


@ENGINES
def test_a_link_that_its_driver_resets_is_waited_for(wire: Wire) -> None:
    ip("link set rx0 down")
    back = threading.Timer(0.3, lambda: ip("link set rx0 up"))
    back.start()
    wire.ready(False)
    wire.ready(True)
    back.join()
    begin(wire, 100)
    assert finish(wire).tracked.forwarded_frames == 100


@ENGINES
def test_an_interface_that_is_unplugged_in_a_trial_is_named(wire: Wire) -> None:
    begin(wire, 200_000, 2000)
    until_offered(wire, 200)
    ip("link del tx0")
    with pytest.raises(EngineError, match=r"^tx0: the interface is gone: it was unplugged"):
        finish(wire)
    with pytest.raises(EngineError, match=r"^tx0: the interface is gone"):
        wire.ready(True)


@ENGINES
def test_an_interface_that_is_renamed_in_a_run_is_named(wire: Wire) -> None:
    begin(wire, 2000, 4000)
    until_offered(wire, 100)
    ip("link set rx0 down")
    finish(wire)
    ip("link set rx0 name lan0")
    ip("link set lan0 up")
    with pytest.raises(EngineError, match=r"^rx0: the interface was renamed to lan0 in the run; name it back with"):
        wire.ready(True)


@ENGINES
def test_an_mtu_that_is_lowered_in_a_run_is_not_the_devices_loss(wire: Wire) -> None:
    begin(wire, 4000, 4000)
    until_offered(wire, 100)
    ip("link set tx0 mtu 1000")
    facts = finish(wire)
    assert any("the MTU of port 1 was changed from 1500 to 1000" in reason for reason in reasons(intended(4000), facts))
    begin(wire, 10, frame=template(1518))
    with pytest.raises(EngineError, match=r"^tx0: the MTU was lowered from 1500 to 1000 in the run, so frames of 1518"):
        finish(wire)


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
def test_a_tag_beside_the_frame_does_not_make_it_corrupt(bed: None, engine: str) -> None:
    """A card, or a bridge before a veth, takes the VLAN tag out of the frame: an XDP program never sees it."""
    ip("link add br0 type bridge")
    ip("link add b1 type veth peer name t1")
    ip("link add b2 type veth peer name t2")
    for name in ("b1", "b2"):
        ip(f"link set {name} master br0")
    for name in ("b1", "b2", "t1", "t2", "br0"):
        ip(f"link set {name} up")
        inside(f"ethtool -K {name} gro on")
    removes = {port.name: port.removes_tags for port in list_ports(PATH)}["t2"]
    assert removes, "the default of a veth, as of most cards"
    wire = Wire(json.dumps([place("packet", "t1"), place(engine, "t2", removes_tags=removes)]), [0], [1])
    try:
        for size in (68, 513, 1518):
            begin(wire, 200, frame=template(size, TAGGED), header=TAGGED)
            tracked = finish(wire).tracked
            assert (tracked.forwarded_frames, tracked.corrupt_arrivals) == (200, 0)
            begin(wire, 200, frame=template(size))
            tracked = finish(wire).tracked
            assert (tracked.forwarded_frames, tracked.corrupt_arrivals) == (200, 0)
    finally:
        wire.close()


@ENGINES
def test_frames_of_one_stream_on_several_queues_are_in_order_of_time(bed: None, engine: str) -> None:
    for queue in range(4):
        rps = f"/sys/class/net/rx0/queues/rx-{queue}/rps_cpus"
        run_in_namespace(PATH, lambda rps=rps: Path(rps).write_text("3"))  # type: ignore[misc]
    frames = [template(size, HEADER + bytes([size % 251])) for size in (64, 1518)]
    lengths = b"".join(struct.pack("=H", len(frame)) for frame in frames)
    stream = {
        "transmit": 0, "receive": 1, "table": 0, "frame_bytes": [64, 1518], "frames_per_second": 50_000,
        "frames": 20_000,
    }  # fmt: skip
    trial = {
        "first_stream": 3, "streams": [stream], "duration_ns": 20 * S, "drain_ns": S // 5, "interval_ns": S, "seed": 0
    }  # fmt: skip
    wire = Wire(json.dumps([place("packet", "tx0"), place(engine, "rx0")]), [0], [1])
    try:
        wire.start(json.dumps(trial), [(b"".join(frames), lengths, len(HEADER) + 1, True, 0)])
        facts = finish(wire)
    finally:
        wire.close()
    assert facts.tester_dropped_frames == 0
    assert facts.tracked.forwarded_frames == facts.sent.offered_frames == 20_000
    assert facts.tracked.reordered.count == facts.tracked.duplicated.count == 0


def promiscuity(interface: str) -> int:
    return int(json.loads(ip(f"-d -j link show {interface}"))[0]["promiscuity"])


@ENGINES
def test_a_port_is_promiscuous_only_while_a_trial_needs_it(wire: Wire) -> None:
    assert promiscuity("rx0") == 0
    begin(wire, 100)
    finish(wire)
    assert promiscuity("rx0") == 0
    begin(wire, 100, promiscuous=[1])
    finish(wire)
    assert (promiscuity("rx0"), promiscuity("tx0")) == (1, 0)
    wire.close()
    assert promiscuity("rx0") == 0


def wired(interface: str, speed_mbps: int | None) -> WiredPort:
    return WiredPort("packet", interface, PATH, MAC.hex(":"), 1500, speed_mbps=speed_mbps)


def test_percentages_follow_the_speed_of_the_link_and_a_change_ends_the_run(tap: TapDevice) -> None:
    inside("ethtool -s tap0 speed 100 duplex full")
    found = host_port.check(PortAddress("packet", "tap0", NAME), [64])
    assert (found.speed_mbps, found.half_duplex) == (100, False)
    wired("tap0", 100).check_speed()
    inside("ethtool -s tap0 speed 10 duplex half")
    with pytest.raises(EngineError, match=r"^tap0: the link now runs at 10 Mb/s, and at 100 Mb/s when the run began"):
        wired("tap0", 100).check_speed()
    with pytest.raises(PlanError, match="tap0 is half duplex"):
        host_port.check(PortAddress("packet", "tap0", NAME), [64])
    assert host_port.check(PortAddress("packet", "tap0", NAME), [64], force=True).half_duplex


HELD = """
import sys, time
from keisoku._core import Wire
wire = Wire(sys.argv[1], [0], [1])
wire.start(sys.argv[2], [(bytes.fromhex(sys.argv[3]), b"<\\0", 14, True, 0)])
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_tester_leaves_neither_program_nor_promiscuous_port(bed: None) -> None:
    stream = {
        "transmit": 0, "receive": 1, "table": 0, "frame_bytes": [64], "frames_per_second": 100, "frames": 6000,
    }  # fmt: skip
    trial = {
        "first_stream": 3, "streams": [stream], "duration_ns": 60 * S, "drain_ns": 0, "interval_ns": S, "seed": 0,
        "promiscuous": [1],
    }  # fmt: skip
    ports = [place("packet", "tx0"), place("xdp", "rx0")]
    words = [json.dumps(ports), json.dumps(trial), template(64).hex()]
    tester = subprocess.Popen([sys.executable, "-c", HELD, *words], stdout=subprocess.PIPE, text=True)
    assert tester.stdout is not None and tester.stdout.readline() == "held\n"
    assert promiscuity("rx0") == 1 and "xdp" in json.loads(ip("-j link show rx0"))[0]
    tester.kill()
    tester.wait()
    assert promiscuity("rx0") == 0 and "xdp" not in json.loads(ip("-j link show rx0"))[0]
