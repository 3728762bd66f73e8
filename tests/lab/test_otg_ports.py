"""One server whose clients configure other ports of the host one after another, as tests of a suite do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.otg_server import flow_metrics, otg_client, set_traffic, two_ports, udp_flow, until, until_stopped

from keisoku._core import Wire
from keisoku.errors import PlanError
from keisoku.ground.host.claim import Claim, InUse
from keisoku.ground.host.namespace import named
from keisoku.subjects.device.testbed.opening import open_testbed
from keisoku.subjects.device.testbed.requirements import WantedPort, WantedTestbed

pytestmark = pytest.mark.lab

PORTS = f"keisoku-test-{os.getpid()}"
"""A namespace with four ports at a bridge. No name of a lab, so never cleaned as one."""
SETS = [
    [f"{engine}:p{number}@{PORTS}" for number in numbers]
    for engine, chosen in (("packet", ((1, 2), (1, 2, 3), (1, 3), (2, 1))), ("xdp", ((1, 2), (1, 3))))
    for numbers in chosen
]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture(scope="module")
def ports() -> Iterator[None]:
    ip("netns", "add", PORTS)
    try:
        ip("-n", PORTS, "link", "add", "bridge", "type", "bridge")
        ip("-n", PORTS, "link", "set", "bridge", "up")
        for number in (1, 2, 3, 4):
            ip("-n", PORTS, "link", "add", f"p{number}", "type", "veth", "peer", "name", f"d{number}")
            ip("-n", PORTS, "link", "set", f"d{number}", "master", "bridge", "up")
            ip("-n", PORTS, "link", "set", f"p{number}", "up")
            # A veth takes XDP frames of its peer only with NAPI, which GRO switches on.
            ip("netns", "exec", PORTS, "ethtool", "-K", f"d{number}", "gro", "on")
        yield
    finally:
        ip("netns", "del", PORTS)


def script(locations: list[str]) -> Any:
    """A flow from the first port to the second, and any more ports."""
    config = two_ports(*locations[:2])
    for number, location in enumerate(locations[2:], 3):
        config.ports.port(name=f"p{number}", location=location)
    udp_flow(config, packets=20)
    return config


def test_each_set_of_ports_follows_each_other_one(ports: None) -> None:
    """The server's own claim of a port that both had once refused the second."""
    order = [locations for number, one in enumerate(SETS) for other in SETS[number + 1 :] for locations in (one, other)]
    with otg_client() as api:
        for locations in [*order, SETS[0]]:
            api.set_config(script(locations))
            assert [port.location for port in api.get_config().ports] == locations
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
    assert (metric.frames_tx, metric.frames_rx) == (20, 20)
    for name in ("p1", "p2", "p3"):
        Claim(name, named(PORTS)).close()


def test_what_the_host_or_the_device_refuses_is_no_fault_of_the_server(ports: None) -> None:
    with otg_client() as api:
        gateway = script(SETS[0])
        gateway.flows.clear()
        for number in (1, 2):
            ethernet = gateway.devices.device(name=f"h{number}")[-1].ethernets.ethernet(name=f"e{number}")[-1]
            ethernet.connection.port_name, ethernet.mac = f"p{number}", f"02:00:00:00:00:0{number}"
            ethernet.ipv4_addresses.ipv4(name=f"a{number}", address=f"198.18.{number}.2", gateway=f"198.18.{number}.1")
        flow = gateway.flows.flow(name="f")[-1]
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["a1"], ["a2"]
        api.set_config(gateway)
        with pytest.raises(Exception, match=r"(?s)400.*198\.18\.1\.1"):
            set_traffic(api, "start")
        where = {"namespace": str(named(PORTS))}
        places = [{"engine": "packet", "interface": "p2"} | where, {"engine": "xdp", "interface": "p1"} | where]
        other = Wire(json.dumps(places), [0], [1])
        try:
            with pytest.raises(Exception, match=r"(?s)400.*another XDP program"):
                api.set_config(script([f"xdp:p2@{PORTS}", f"xdp:p1@{PORTS}"]))
        finally:
            other.close()
        # Nothing is kept of ports that failed to open.
        Claim("p2", named(PORTS)).close()


@pytest.mark.parametrize("engine", ["packet", "xdp"])
def test_flows_that_are_said_to_have_started_have_sent(ports: None, engine: str) -> None:
    """They once had no frames for half a second."""
    with otg_client() as api:
        config = script([f"{engine}:p1@{PORTS}", f"{engine}:p2@{PORTS}"])
        config.flows[0].duration.continuous.gap = 12
        api.set_config(config)
        set_traffic(api, "start")
        (metric,) = flow_metrics(api)
        assert metric.transmit == "started" and metric.frames_tx > 0


PPS, FRAMES = 1000, 2400
LATE_FRAMES = 100
"""What may leave, or be left out, in the time from a change of a link until the kernel has told all of it."""


@pytest.mark.parametrize("engine", ["packet", "xdp"])
@pytest.mark.parametrize("down", [(1,), (2,), (1, 2)], ids=["tx", "rx", "both"])
def test_frames_to_a_port_without_a_link_are_not_sent(ports: None, engine: str, down: tuple[int, ...]) -> None:
    """With packet all flows of the sender once stood still, and with xdp such frames were the device's losses."""
    config = script([f"{engine}:p{number}@{PORTS}" for number in (1, 2, 3, 4)])
    config.flows.clear()
    for name, tx, rx in (("f", 1, 2), ("other", 3, 4)):
        flow = udp_flow(config, name, f"p{tx}", f"p{rx}", packets=FRAMES)
        flow.packet[0].src.value, flow.packet[0].dst.value = f"02:00:00:00:0a:0{tx}", f"02:00:00:00:0a:0{rx}"
        flow.rate.pps = PPS
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        until(api, lambda found: found[0].frames_tx > FRAMES // 6)
        begun_s = time.monotonic()
        for number in down:
            ip("-n", PORTS, "link", "set", f"d{number}", "down")
        # A host that stops for a while postpones the frames of both flows: the other one's tell how many were due.
        all_down = flow_metrics(api)
        before = until(api, lambda found: found[1].frames_tx > FRAMES // 2)
        least = before[1].frames_tx - all_down[1].frames_tx - LATE_FRAMES
        for number in down:
            ip("-n", PORTS, "link", "set", f"d{number}", "up")
        most = (time.monotonic() - begun_s) * PPS + LATE_FRAMES
        found, other = until_stopped(api)
        warnings = set_traffic(api, "stop").warnings
    assert (other.frames_tx, other.frames_rx) == (FRAMES, FRAMES), warnings
    # A busy host does stop the sender, for some ms. The missing link once did, until it was back.
    blamed_percent = [int(share) for text in warnings for share in re.findall(r"host stopped .* for (\d+) %", text)]
    assert max(blamed_percent, default=0) < 50, warnings
    unsent = FRAMES - found.frames_tx
    if 1 in down:
        assert before[0].frames_tx < before[1].frames_tx - LATE_FRAMES
        assert least < unsent < most
        assert found.frames_tx - found.frames_rx < LATE_FRAMES
        assert any("p1 had no link for" in warning and f"; {unsent} frames were not" in warning for warning in warnings)
    else:
        assert unsent == 0 and least < found.frames_tx - found.frames_rx < most
        assert any(warning.startswith("p2 had no link for") for warning in warnings)


def test_ports_that_stay_are_never_free_for_others(ports: None) -> None:
    first = open_testbed(_wanted(SETS[0]))
    second = open_testbed(_wanted(SETS[2], first))
    first.close()
    for name in ("p1", "p3"):
        with pytest.raises(InUse, match=str(os.getpid())):
            Claim(name, named(PORTS))
    Claim("p2", named(PORTS)).close()
    second.close()
    Claim("p1", named(PORTS)).close()


def test_everybody_who_is_refused_is_told_by_whom(ports: None) -> None:
    with pytest.raises(PlanError) as refusal:
        open_testbed(_wanted([f"packet:p1@{PORTS}", f"packet:p9@{PORTS}"]))
    assert refusal.value.field == "ports[1].location"
    claim = Claim("p1", named(PORTS))
    for _ in range(20):
        with pytest.raises(PlanError, match=rf"p1 is used by another keisoku \(process {os.getpid()}\)"):
            open_testbed(_wanted(SETS[0]))
    claim.close()


def _wanted(locations: list[str], before: Any = None) -> WantedTestbed:
    wanted = tuple(WantedPort(location, f"ports[{number}].location") for number, location in enumerate(locations))
    return WantedTestbed(wanted, held={} if before is None else before.claims)
