"""Each device forwards what it should, unchanged, and its idle ports are silent."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from support.command_line import namespaces_of
from support.lab_frames import counters, headers, signed

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.catalogue import FAMILIES, find_device
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.kernel_part import absence
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.testbed.host_port import PortAddress, check, resolve_mac
from keisoku.subjects.device.testbed.host_port_list import list_ports

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("device", ["cable", "bridge", "faulty"])
@pytest.mark.parametrize("frame_bytes", [64, 1518])
def test_a_wire_or_bridge_leaves_every_byte_as_it_was(device, frame_bytes, tap):
    with Lab(device) as lab:
        for source, target in ((0, 1), (1, 0)):
            sender, receiver = tap(lab.ports[source]), tap(lab.ports[target])
            template = headers(lab.ports[source], lab.ports[target], frame_bytes, l3=False)
            frames = [signed(template, 7, sequence) for sequence in range(100)]
            for frame in frames:
                sender.send(frame)
            assert [receiver.receive() for _ in frames] == frames


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("frame_bytes", [84, 1518])
def test_a_router_forwards_every_pair_of_its_ports(version, frame_bytes, tap):
    with Lab("router", ports=3) as lab:
        taps = [tap(port) for port in lab.ports]
        pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
        for source, target in pairs:
            template = headers(lab.ports[source], lab.ports[target], frame_bytes, l3=True, version=version)
            sent = [signed(template, 7, sequence) for sequence in range(50)]
            for frame in sent:
                taps[source].send(frame)
            for frame in sent:
                arrived = Ether(taps[target].receive())
                assert (arrived.src, arrived.dst) == (lab.ports[target].dut_mac, lab.ports[target].mac)
                before = Ether(frame)
                if version == 4:
                    assert arrived[IP].ttl == before[IP].ttl - 1
                else:
                    assert arrived[IPv6].hlim == before[IPv6].hlim - 1
                assert bytes(arrived)[-30:] == frame[-30:]


def test_a_bridge_learns_and_then_floods_no_more(tap):
    with Lab("bridge", ports=4) as lab:
        taps = [tap(port) for port in lab.ports]
        learning = headers(lab.ports[1], lab.ports[0], 64, l3=False)
        taps[1].send(learning)
        assert taps[0].receive() == learning
        frame = headers(lab.ports[0], lab.ports[1], 64, l3=False)
        before = counters(lab)
        taps[0].send(frame)
        assert taps[1].receive() == frame
        after = counters(lab)
        assert [after[name][0] - before[name][0] for name in ("t1", "t2", "t3", "t4")] == [0, 1, 0, 0]


def test_idle_ports_are_silent():
    named = {family: find_device("ovs-mpls?action=swap" if family == "ovs-mpls" else family) for family in FAMILIES}
    absent = {one.package for device in named.values() for one in device.programs if not one.path}
    absent |= {part.module for device in named.values() for part in device.parts if absence(part)}
    there = {
        family: device
        for family, device in named.items()
        if absent.isdisjoint({one.package for one in device.programs} | {part.module for part in device.parts})
    }
    with ExitStack() as stack:
        labs = {family: stack.enter_context(Lab(device)) for family, device in there.items()}
        before = {family: counters(lab) for family, lab in labs.items()}
        threading.Event().wait(3)  # more than what a bridge's protocols need
        assert {family: counters(lab) for family, lab in labs.items()} == before
    if there != named:
        pytest.skip(
            f"needs {', '.join(sorted(absent))} for {', '.join(named.keys() - there.keys())}; the others are silent"
        )


def test_the_kernel_answers_for_its_addresses():
    with Lab("router") as lab:
        for port in lab.ports:
            for address in (port.dut_ipv4, port.dut_ipv6):
                assert address is not None
                assert resolve_mac(port.interface, port.namespace_path, address) == port.dut_mac


def test_jumbo_frames_pass_where_the_mtu_allows(tap):
    with Lab("bridge", mtu=9000) as lab:
        sender, receiver = tap(lab.ports[0]), tap(lab.ports[1])
        frame = headers(lab.ports[0], lab.ports[1], 9018, l3=False)
        sender.send(frame)
        assert receiver.receive() == frame


def test_a_tcp_stream_is_not_merged_on_its_way(tap):
    """GRO is on for NAPI's sake; segments it might join must still leave one by one."""
    with Lab("bridge") as lab:
        a, b = lab.ports
        sender, receiver = tap(a), tap(b)
        segments = [
            bytes(Ether(src=a.mac, dst=b.mac) / IP(src=a.ipv4, dst=b.ipv4) / TCP(seq=1000 * n, flags="A") / bytes(1000))
            for n in range(50)
        ]
        for segment in segments:
            sender.send(segment)
        assert [receiver.receive() for _ in segments] == segments


def test_the_context_says_how_the_device_gets_its_core():
    with Lab("bridge", own_core=True) as lab, Lab("bridge", own_core=False) as shared:
        context: Any = lab.context()
        assert context["device"] == "bridge"
        assert set(context["dut_receives_by"]) == {"d1", "d2"}
        assert shared.context()["dut_core"] is None
        assert lab.ports[0].namespace_path != shared.ports[0].namespace_path
        for settings in context["offloads"].values():
            assert settings.pop("GRO") == "on"
            assert set(settings.values()) == {"off"}


def test_the_device_works_on_a_core_of_its_own(tap):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("needs two CPUs")
    with Lab("bridge", own_core=True) as lab, Lab("bridge") as chosen:
        assert chosen.context()["dut_core"] == (cores[1] if len(cores) > 2 else None)
        assert lab.context()["dut_core"] == cores[1]
        folder = Path("/sys/class/net/d1/queues/rx-0/rps_cpus")
        dut = lab.ports[0].namespace_path.with_name(lab.ports[0].namespace_path.name.replace("tester", "dut"))
        assert int(run_in_namespace(dut, folder.read_text).replace(",", ""), 16) == 1 << cores[1]


def test_nothing_is_left_of_a_lab_that_could_not_be_made():
    before = namespaces_of(os.getpid())
    with pytest.raises(EngineError, match="the lab bridge cannot be made"):
        HalfLab("bridge").__enter__()
    assert namespaces_of(os.getpid()) == before


class HalfLab(Lab):
    """Fails after its namespaces and wires are there."""

    def _raise_tester_ports(self) -> None:
        raise OSError("as if the kernel had refused")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"device": "switch"}, "device"),
        ({"device": "cable", "ports": 3}, "ports"),
        ({"device": "bridge", "ports": 1}, "ports"),
        ({"device": "bridge", "mtu": 100}, "mtu"),
        ({"device": "bridge", "faults": Faults(drop=[1])}, "faults"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, field):
    with pytest.raises(PlanError) as refusal:
        Lab(**arguments)
    assert refusal.value.field == field


def test_the_calling_thread_stays_in_its_namespace():
    here = Path("/proc/thread-self/ns/net").readlink()
    with Lab("cable") as lab:
        there = run_in_namespace(lab.ports[0].namespace_path, lambda: Path("/proc/thread-self/ns/net").readlink())
        assert there != here
        assert Path("/proc/thread-self/ns/net").readlink() == here


def test_lab_ports_can_be_listed_and_checked():
    with Lab("bridge") as lab:
        path = lab.ports[0].namespace_path
        ports = {port.name: port for port in list_ports(path)}
        assert set(ports) == {"t1", "t2"}
        for port in lab.ports:
            found = ports[port.interface]
            assert (found.driver, found.mac, found.mtu, found.carrier) == ("veth", port.mac, 1500, True)
            assert not found.default_route
        assert check(PortAddress("xdp", "t1", str(path)), [64, 1518]) == ports["t1"]
        with pytest.raises(PlanError, match="frames of 9018 bytes are too large for t1"):
            check(PortAddress("xdp", "t1", path.name), [9018])
        with pytest.raises(EngineError, match=r"no answer for 198\.18\.1\.99 at t1"):
            resolve_mac("t1", path, "198.18.1.99")
