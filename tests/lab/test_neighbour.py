"""A router that knows no neighbour resolves the tester's hosts, and the tester resolves the router."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyroute2 import IPRoute
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from support.command_line import keisoku, trials
from support.lab_frames import Tap, identity, signed

from keisoku._core import Neighbours, Wire
from keisoku.errors import EngineError
from keisoku.host.namespace import within
from keisoku.lab.device.lab import Lab
from keisoku.lab.device.port import LabPort

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
def answering(port: LabPort, *hosts: dict[str, object]) -> Iterator[Neighbours]:
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
        within(dut_path(lab), forget)
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
