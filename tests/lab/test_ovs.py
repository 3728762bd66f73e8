"""Open vSwitch: flows lead where they must, labels are right, daemons are private, pinned and gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.command_line import journal_of, namespaces_of
from support.lab_frames import headers, signed
from support.lab_passages import MakeTap, assert_passage, dropped, needs, payload, stack

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.undo import undo_left
from keisoku.ground.lab import daemons
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.vswitch import PROGRAMS

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
OFCTL = next(program for program in PROGRAMS if program.name == "ovs-ofctl")


def directory(lab: Lab) -> Path:
    return daemons.FOLDER / lab.ports[0].namespace_path.name.replace("tester", "dut")


def processes(place: Path) -> dict[str, int]:
    return {file.stem: int(file.read_text()) for file in place.glob("*.pid")}


def flow_count(lab: Lab) -> int:
    answer = OFCTL.run("-O", "OpenFlow13", "dump-aggregate", str(directory(lab) / "switch.mgmt"))
    return int(answer.rsplit("flow_count=", 1)[1])


@pytest.mark.parametrize(("flows", "ports"), [(1, 2), (10_000, 2), (500, 4)])
def test_every_flow_is_there_and_leads_to_its_port(flows: int, ports: int, tap: MakeTap) -> None:
    with Lab(f"ovs?flows={flows}", ports=ports) as lab:
        assert flow_count(lab) == flows * ports
        taps = [tap(port) for port in lab.ports]
        for rx in range(2, ports + 1):
            macs = lab.passage(1, rx).next_hop_macs
            assert len(set(macs)) == flows
            for number in {0, 1 % flows, flows // 2, flows - 1}:
                frame = bytes(Ether(src=lab.ports[0].mac, dst=macs[number], type=0x88B5) / payload())
                taps[0].send(frame)
                assert taps[rx - 1].receive() == frame
            last = bytes(Ether(src=lab.ports[0].mac, dst=macs[0], type=0x88B5) / b"last" / payload())
            taps[0].send(last)
            assert taps[rx - 1].until(last) == [], "frames for other ports do not come here"


def test_what_matches_no_flow_is_dropped(tap: MakeTap) -> None:
    with Lab("ovs?flows=10") as lab:
        stray = Ether(src=lab.ports[0].mac, dst="02:6b:74:00:0a:02", type=0x88B5) / payload()
        assert dropped(lab, tap, bytes(stray), 1, 2)
        broadcast = Ether(src=lab.ports[0].mac, dst="ff:ff:ff:ff:ff:ff", type=0x88B5) / payload()
        assert dropped(lab, tap, bytes(broadcast), 1, 2)


@pytest.mark.parametrize("name", ["ovs", "ovs?flows=10"])
def test_frames_of_a_flow_keep_their_order_and_every_byte(name: str, tap: MakeTap) -> None:
    with Lab(name) as lab:
        sender, receiver = tap(lab.ports[0]), tap(lab.ports[1])
        template = headers(lab.ports[0], lab.ports[1], 64, l3=False)
        for start in range(0, 1000, 100):  # a hundred at a time fit into the device's queue
            frames = [signed(template, 7, sequence) for sequence in range(start, start + 100)]
            for frame in frames:
                sender.send(frame)
            assert [receiver.receive() for _ in frames] == frames


def test_without_flows_it_learns(tap: MakeTap) -> None:
    with Lab("ovs", ports=3) as lab:
        taps = [tap(port) for port in lab.ports]
        # Not the ports' own MACs: their kernel has spoken already, so they are learnt.
        macs = [f"02:6b:73:00:99:{number:02x}" for number in range(3)]
        unknown = bytes(Ether(src=macs[0], dst=macs[1], type=0x88B5) / payload())
        taps[0].send(unknown)
        assert taps[1].receive() == taps[2].receive() == unknown, "flooded"
        known = bytes(Ether(src=macs[2], dst=macs[0], type=0x88B5) / payload())
        taps[2].send(known)
        assert taps[0].receive() == known
        last = bytes(Ether(src=macs[2], dst="ff:ff:ff:ff:ff:ff", type=0x88B5) / payload())
        taps[2].send(last)
        assert taps[1].until(last) == [], "learnt, so not flooded"


@pytest.mark.parametrize("ttl", [2, 255])
def test_labels_have_the_time_to_live_of_ip_when_pushed_and_less_when_swapped(ttl: int, tap: MakeTap) -> None:
    with Lab("ovs-mpls?action=push") as lab:
        a, b = lab.ports
        taps = tap(a), tap(b)
        taps[0].send(bytes(Ether(src=a.mac, dst=b.mac) / IP(src=a.ipv4, dst=b.ipv4, ttl=ttl) / UDP() / payload()))
        arrived = Ether(taps[1].receive())
        assert (arrived[MPLS].label, arrived[MPLS].s, arrived[MPLS].ttl, arrived[IP].ttl) == (104, 1, ttl, ttl)
    with Lab("ovs-mpls?action=swap") as lab:
        a, b = lab.ports
        taps = tap(a), tap(b)
        label = MPLS(label=104, s=1, ttl=ttl, cos=5)
        taps[0].send(bytes(Ether(src=a.mac, dst=b.mac) / label / IP(src=a.ipv4, dst=b.ipv4) / UDP() / payload()))
        found = Ether(taps[1].receive())[MPLS]
        assert (found.label, found.cos, found.s, found.ttl) == (204, 5, 1, ttl - 1)


@pytest.mark.parametrize("header", ["MPLS(label=99, s=1, ttl=9)/IP()", "MPLS(label=104, s=1, ttl=1)/IP()", "IP()"])
def test_a_wrong_label_or_one_that_has_run_out_is_dropped(header: str, tap: MakeTap) -> None:
    with Lab("ovs-mpls?action=swap") as lab:
        frame = bytes(stack(f"Ether(src='{lab.ports[0].mac}', dst='{lab.ports[1].mac}')/{header}/UDP()") / payload())
        assert dropped(lab, tap, frame, 1, 2)


def test_a_tunnel_end_takes_only_its_own_network(tap: MakeTap) -> None:
    with Lab("ovs-vxlan") as lab:
        sent = lab.passage(2, 1).sent["ipv4"]
        assert dropped(lab, tap, bytes(stack(sent.replace("vni=7", "vni=8")) / payload()), 2, 1)


def test_the_daemons_are_private_and_work_on_the_devices_core() -> None:
    with Lab("ovs") as lab, Lab("ovs-mpls?action=push", own_core=False) as other:
        assert directory(lab) != directory(other)
        for made in (lab, other):
            place = directory(made)
            assert place.stat().st_mode & 0o777 == 0o700
            found = processes(place)
            assert set(found) == {"ovs-vswitchd", "ovsdb-server"}
            namespace = (place.parent / "netns" / place.name).stat().st_ino
            for number in found.values():
                assert Path(f"/proc/{number}/ns/net").stat().st_ino == namespace
                core = made.context()["dut_core"]
                by = "shared" if core is None else "daemon"
                assert made.context()["dut_receives_by"] == {"d1": by, "d2": by}
                for task in Path(f"/proc/{number}/task").iterdir():
                    allowed = os.sched_getaffinity(int(task.name))
                    assert allowed == ({core} if core is not None else os.sched_getaffinity(0))
        gone = [*processes(directory(lab)).values(), *processes(directory(other)).values()]
        places = directory(lab), directory(other)
    assert not any(Path(f"/proc/{number}").exists() for number in gone)
    assert not any(place.exists() for place in places)


def test_the_context_names_the_versions() -> None:
    with Lab("ovs?flows=3") as lab:
        context: Any = lab.context()
        assert (context["device"], context["name"]) == ("ovs", "ovs?flows=3")
        assert context["programs"]["ovs-vswitchd"][0].isdigit()


_CHILD = """
import time
from keisoku.ground.lab.device.lab import Lab
with Lab("ovs"):
    print("ready", flush=True)
    [time.sleep(0.1) for _ in range(600)]
"""


def killed_lab(sign: int) -> tuple[int, Path, dict[str, int]]:
    """The number of a process that made a lab and was then sent `sign`, the directory and the daemons."""
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    place = daemons.FOLDER / f"keisoku-{child.pid}-dut"
    found = processes(place)
    assert len(found) == 2
    child.send_signal(sign)
    child.communicate(timeout=30)
    return child.pid, place, found


def running(number: int) -> bool:
    """Not gone, and no zombie that a lazy init has yet to bury."""
    status = Path(f"/proc/{number}/status")
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_daemons(sign: int) -> None:
    _, place, found = killed_lab(sign)
    assert not any(map(running, found.values()))
    assert not place.exists()


@pytest.mark.alone
@pytest.mark.parametrize("named", [True, False], ids=["namespace left", "namespace gone"])
def test_daemons_that_a_killed_process_left_are_ended(named: bool) -> None:
    owner, place, found = killed_lab(signal.SIGKILL)
    assert all(map(running, found.values()))
    if not named:
        Namespace(f"keisoku-{owner}-dut").remove()
    done = undo_left()
    assert {"ended ovs-vswitchd", "ended ovsdb-server", f"removed {place}"} <= set(done)
    assert (f"removed keisoku-{owner}-dut" in done) == named
    assert not any(map(running, found.values()))
    assert not place.exists()
    assert namespaces_of(owner) == [] == journal_of(owner)


@pytest.mark.alone
def test_a_process_that_is_none_of_ours_is_not_ended() -> None:
    owner, place, found = killed_lab(signal.SIGKILL)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    namesake = subprocess.Popen([sys.executable, "-c", "input()", f"{place}/x"], stdin=subprocess.PIPE)
    try:
        entry, *_ = journal_of(owner, "process")
        told = json.loads(entry.read_text())
        for number, other in enumerate((stranger.pid, 4194304), 100):
            entry.with_stem(f"{entry.stem}{number}").write_text(json.dumps({**told, "number": other}))
        (place / "elsewhere.pid").write_text(f"{namesake.pid}\n")
        (place / "nonsense.pid").write_text("vswitchd\n")
        assert f"removed keisoku-{owner}-dut" in undo_left()
        assert stranger.poll() is None, "it began at another time"
        assert namesake.poll() is None, "its number is in no entry"
        assert not any(map(running, found.values()))
        assert not place.exists()
    finally:
        for process in (stranger, namesake):
            process.communicate(b"\n")


def test_nothing_is_left_of_a_switch_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisoku.ground.lab.device.vswitch.Vswitch.set_flows", refuse)
    before = namespaces_of(os.getpid())
    with pytest.raises(EngineError, match="as if it had refused"):
        Lab("ovs?flows=1").__enter__()
    assert namespaces_of(os.getpid()) == before
    assert not journal_of(os.getpid(), "process", "folder")


def refuse(*_: object) -> None:
    raise EngineError("as if it had refused")


def test_two_switches_do_not_meet(tap: MakeTap) -> None:
    with Lab("ovs") as one, Lab("ovs-vxlan") as other:
        assert_passage(one, tap, 1, 2)
        assert_passage(other, tap, 1, 2)
