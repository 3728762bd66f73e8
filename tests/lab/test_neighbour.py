"""A router that knows no neighbour resolves the tester's hosts, and the tester resolves the router."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pyroute2 import IPRoute
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.utils6 import in6_getnsma
from support.command_line import keisoku, trials
from support.lab_frames import Tap, identity, signed

from keisoku._core import Neighbours, Wire
from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort

pytestmark = pytest.mark.lab

HOSTS = 100
STREAM = 7
SUBNETS = {4: "198.18.99.0/24", 6: "2001:2:0:63::/64"}
FIRST = {4: "198.18.99.1", 6: "2001:2:0:63::1"}
LAST = {4: "198.18.99.100", 6: "2001:2:0:63::64"}
FOREIGN_MAC = "02:00:00:00:00:77"


def address(version: int, number: int) -> str:
    return f"198.18.99.{number}" if version == 4 else f"2001:2:0:63::{number:x}"


def place(port: LabPort, engine: str = "packet") -> str:
    return json.dumps({"engine": engine, "interface": port.interface, "namespace": str(port.namespace_path)})


@contextmanager
def answering(port: LabPort, *hosts: Mapping[str, object]) -> Iterator[Neighbours]:
    neighbours = Neighbours(place(port), json.dumps(hosts))
    try:
        yield neighbours
    finally:
        neighbours.close()


def dut_path(lab: Lab) -> Path:
    tester = lab.ports[0].namespace_path
    return tester.with_name(tester.name.replace("tester", "dut"))


@pytest.fixture
def router() -> Iterator[Lab]:
    """A router that has learned nothing and has more nets behind its second port."""

    def forget() -> None:
        with IPRoute() as ip:
            for port in lab.ports:
                index = ip.link_lookup(ifname=port.dut_interface)[0]
                for known in (port.ipv4, port.ipv6):
                    ip.neigh("del", dst=known, ifindex=index)
            for subnet in SUBNETS.values():
                ip.route("add", dst=subnet, oif=index)

    with Lab("router") as lab:
        run_in_namespace(dut_path(lab), forget)
        yield lab


def to_host(lab: Lab, version: int, number: int) -> bytes:
    source = lab.ports[0]
    network = IP(src=source.ipv4) if version == 4 else IPv6(src=source.ipv6)
    network.dst = address(version, number)
    template = bytes(Ether(src=source.mac, dst=source.dut_mac) / network / UDP(sport=49152, dport=7) / bytes(40))
    return signed(template, STREAM, number)


def ours(tap: Tap, count: int) -> dict[int, str]:
    """Destination MAC by sequence number of `count` frames of ours."""
    found: dict[int, str] = {}
    while len(found) < count:
        frame = tap.receive()
        seen = identity(frame)
        if seen and seen[0] == STREAM:
            found[seen[1]] = Ether(frame).dst
    return found


@pytest.mark.parametrize("version", [4, 6])
def test_a_router_resolves_a_hundred_hosts_and_forwards_a_frame_to_each(
    version: int, router: Lab, tap: Callable[[LabPort], Tap]
) -> None:
    sender, receiver = tap(router.ports[0]), tap(router.ports[1])
    host = {"mac": "02:00:00:00:01:00", "first": FIRST[version], "last": LAST[version], "mac_step": 1}
    with answering(router.ports[1], host) as neighbours:
        for number in range(1, HOSTS + 1):
            sender.send(to_host(router, version, number))
        forwarded = ours(receiver, HOSTS)
        arp, discovery, _ = neighbours.answered()
    assert forwarded == {number: f"02:00:00:00:01:{number - 1:02x}" for number in range(1, HOSTS + 1)}
    assert (arp, discovery) >= ((HOSTS, 0) if version == 4 else (0, HOSTS))


def test_hosts_are_resolved_at_a_port_with_a_receive_program(router: Lab, tap: Callable[[LabPort], Tap]) -> None:
    sender, receiver = tap(router.ports[0]), tap(router.ports[1])
    wire = Wire(f"[{place(router.ports[0], 'xdp')}, {place(router.ports[1], 'xdp')}]", [0], [1])
    try:
        with answering(router.ports[1], {"mac": FOREIGN_MAC, "first": FIRST[4]}) as neighbours:
            frame = to_host(router, 4, 1)
            # With an intact signature the program would take it for another trial's, and drop it unseen.
            sender.send(frame[:-1] + bytes([frame[-1] ^ 1]))
            assert ours(receiver, 1) == {1: FOREIGN_MAC}
            assert neighbours.answered()[:2] == (1, 0)
    finally:
        wire.close()


@pytest.mark.parametrize("port", [0, 1])
def test_the_routers_addresses_are_resolved_in_the_name_of_a_host_of_no_interface(port: int, router: Lab) -> None:
    tester = router.ports[port]
    with answering(tester) as neighbours:
        for gateway, own in ((tester.dut_ipv4, f"198.18.{port + 1}.77"), (tester.dut_ipv6, f"2001:2:0:{port + 1}::77")):
            assert gateway
            assert neighbours.resolve(gateway, FOREIGN_MAC, own, 5) == tester.dut_mac


VLANS = {100: "02:00:00:00:01:00", 200: "02:00:00:00:02:00"}
SOL_PACKET, PACKET_AUXDATA = 263, 8


@pytest.fixture
def far(router: Lab) -> Iterator[socket.socket]:
    """Sends and receives frames in place of a router with VLANs, which not every kernel has."""

    def opened() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind((router.ports[0].dut_interface, 3))
        made.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        made.settimeout(5)
        return made

    with run_in_namespace(dut_path(router), opened) as made:
        yield made


def heard(far: socket.socket, wanted: Callable[[Ether], bool]) -> tuple[int, Ether]:
    """The next frame of a kind, and the VLAN of the tag that the kernel has taken out of it."""
    while True:
        frame, control, _, address = far.recvmsg(2000, 128)
        (tci,) = {struct.unpack("IIIHHHH", data[:20])[5] for _, kind, data in control if kind == PACKET_AUXDATA}
        if address[2] != socket.PACKET_OUTGOING and wanted(found := Ether(frame)):
            return tci & 0xFFF, found


@pytest.mark.parametrize("vlan", VLANS)
def test_a_host_answers_in_its_vlan(vlan: int, router: Lab, far: socket.socket) -> None:
    """Of two hosts with the same address, that of the VLAN in which somebody asks; and nobody without a tag."""
    hosts = [
        {"mac": mac, "first": first, "vlan": number}
        for number, mac in VLANS.items()
        for first in ("198.18.55.2", "2001:2:0:55::2")
    ]
    router_mac, group = str(router.ports[0].dut_mac), in6_getnsma(socket.inet_pton(socket.AF_INET6, "2001:2:0:55::2"))
    arp = ARP(hwsrc=router_mac, psrc="198.18.55.1", pdst="198.18.55.2")
    solicitation = IPv6(src="2001:2:0:55::1", dst=socket.inet_ntop(socket.AF_INET6, group))
    solicitation /= ICMPv6ND_NS(tgt="2001:2:0:55::2") / ICMPv6NDOptSrcLLAddr(lladdr=router_mac)
    with answering(router.ports[0], *hosts):
        ether = Ether(src=router_mac, dst="ff:ff:ff:ff:ff:ff")
        for untagged in (ether / arp, ether / solicitation):
            far.send(bytes(untagged))
        far.send(bytes(ether / Dot1Q(vlan=vlan) / arp))
        tag, answer = heard(far, lambda frame: ARP in frame)
        assert (tag, answer.src, answer[ARP].hwsrc) == (vlan, VLANS[vlan], VLANS[vlan])
        far.send(bytes(ether / Dot1Q(vlan=vlan) / solicitation))
        tag, answer = heard(far, lambda frame: ICMPv6ND_NA in frame)
        assert (tag, answer.src, answer[ICMPv6ND_NA].tgt) == (vlan, VLANS[vlan], "2001:2:0:55::2")


def test_a_gateway_is_resolved_in_the_vlan_of_the_host(router: Lab, far: socket.socket) -> None:
    found: list[str] = []
    with answering(router.ports[0]) as neighbours:
        asked = partial(neighbours.resolve, "198.18.55.1", VLANS[100], "198.18.55.2", 10, 100)
        thread = threading.Thread(target=lambda: found.append(asked()))
        thread.start()
        tag, question = heard(far, lambda frame: ARP in frame and frame[ARP].pdst == "198.18.55.1")
        assert (tag, question.src) == (100, VLANS[100])
        for vlan, mac in ((200, "02:00:00:00:00:bb"), (100, "02:00:00:00:00:aa")):
            told = ARP(op=2, hwsrc=mac, psrc="198.18.55.1", hwdst=VLANS[100], pdst="198.18.55.2")
            far.send(bytes(Ether(src=mac, dst=VLANS[100]) / Dot1Q(vlan=vlan) / told))
        thread.join()
    assert found == ["02:00:00:00:00:aa"]


def test_two_threads_may_resolve_at_once(router: Lab) -> None:
    tester = router.ports[0]
    found: list[str] = []
    with answering(tester) as neighbours:

        def resolve(gateway: str, own: str) -> None:
            found.append(neighbours.resolve(gateway, FOREIGN_MAC, own, 5))

        pairs = ((str(tester.dut_ipv4), "198.18.1.77"), (str(tester.dut_ipv6), "2001:2:0:1::77"))
        threads = [threading.Thread(target=resolve, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [tester.dut_mac] * 2


def asks_as(own: str, frame: Ether) -> bool:
    return ARP in frame and frame[ARP].psrc == own


def test_an_answer_is_for_all_that_wait_for_it(router: Lab, far: socket.socket) -> None:
    """The first of two that heard it removed it, and the other one waited in vain."""
    hosts = ("198.18.55.2", "198.18.55.3")
    found: list[str] = []
    with answering(router.ports[0]) as neighbours:

        def ask(own: str) -> None:
            found.append(neighbours.resolve("198.18.55.1", VLANS[100], own, 3, 100))

        threads = [threading.Thread(target=ask, args=(own,)) for own in hosts]
        for thread in threads:
            thread.start()
        for own in hosts:
            heard(far, partial(asks_as, own))
        told = ARP(op=2, hwsrc="02:00:00:00:00:aa", psrc="198.18.55.1", hwdst=VLANS[100], pdst=hosts[0])
        far.send(bytes(Ether(src="02:00:00:00:00:aa", dst=VLANS[100]) / Dot1Q(vlan=100) / told))
        for thread in threads:
            thread.join()
    assert found == ["02:00:00:00:00:aa"] * 2


def test_for_addresses_of_the_kernel_the_kernel_answers(router: Lab, tap: Callable[[LabPort], Tap]) -> None:
    sender, receiver = tap(router.ports[0]), tap(router.ports[1])
    target = router.ports[1]
    with answering(target, {"mac": target.mac, "first": target.ipv4}) as neighbours:
        template = Ether(src=router.ports[0].mac, dst=router.ports[0].dut_mac) / IP(
            src=router.ports[0].ipv4, dst=target.ipv4
        )
        sender.send(signed(bytes(template / UDP(sport=1, dport=7) / bytes(40)), STREAM, 1))
        assert ours(receiver, 1) == {1: target.mac}
        assert neighbours.answered() == (0, 0, 0)


def test_what_cannot_be_answered_for_is_refused_by_name(router: Lab) -> None:
    port = router.ports[1]
    with (
        pytest.raises(EngineError, match=rf"t2: the kernel answers for {port.ipv4} with {port.mac}"),
        answering(port, {"mac": FOREIGN_MAC, "first": port.ipv4}),
    ):
        pass
    with (
        pytest.raises(EngineError, match="a VLAN above 4094"),
        answering(port, {"mac": FOREIGN_MAC, "first": "::5", "vlan": 4095}),
    ):
        pass
    with (
        pytest.raises(EngineError, match="has two hosts"),
        answering(port, *[{"mac": FOREIGN_MAC, "first": "::5"}] * 2),
    ):
        pass
    with answering(port) as neighbours:
        with pytest.raises(EngineError, match=r"nobody at t2 answers for 198\.18\.2\.99"):
            neighbours.resolve("198.18.2.99", FOREIGN_MAC, "198.18.2.77", 0.1)
        with pytest.raises(EngineError, match="not of one IP version"):
            neighbours.resolve("198.18.2.99", FOREIGN_MAC, "::1", 0.1)
        with pytest.raises(EngineError, match="no MAC address"):
            neighbours.resolve("198.18.2.99", "02", "198.18.2.77", 0.1)
    with pytest.raises(EngineError, match="closed"):
        neighbours.answered()


def test_a_run_answers_for_addresses_that_no_interface_has(router: Lab, tmp_path: Path) -> None:
    tx, rx = router.ports
    done = keisoku(
        "loss", "--tx", f"xdp:{tx.interface}@{tx.namespace_path.name}",
        "--rx", f"xdp:{rx.interface}@{rx.namespace_path.name}", "--size", "64", "--duration", "0.1", "--waits", "0.2",
        "--maximum", "2000", "--calibration", "none", "--address", "198.18.1.77,198.18.2.77-198.18.2.80",
        "--gateway", str(tx.dut_ipv4), "--modify", "IP.dst=increment(198.18.2.77, count=4)", "--out", "run",
        cwd=tmp_path,
    )  # fmt: skip
    done.measured_or_said_why_not()
    first = trials(tmp_path / "run")[0]
    offered = first["facts"]["streams"][0]["offered_frames"]
    assert first["facts"]["streams"][0]["tracked"]["forwarded_frames"] == offered > 0
