"""One server whose clients configure other ports of the host one after another, as tests of a suite do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from support.otg_server import otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.errors import PlanError
from keisoku.ground.host.claim import Claim, InUse
from keisoku.ground.host.namespace import named
from keisoku.subjects.device.testbed.opening import open_testbed
from keisoku.subjects.device.testbed.requirements import WantedPort, WantedTestbed

pytestmark = pytest.mark.lab

PORTS = f"keisoku-test-{os.getpid()}"
"""A namespace with three ports at a bridge. No name of a lab, so never cleaned as one."""
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
        for number in (1, 2, 3):
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
        open_testbed(_wanted([f"packet:p1@{PORTS}", f"packet:p4@{PORTS}"]))
    assert refusal.value.field == "ports[1].location"
    claim = Claim("p1", named(PORTS))
    for _ in range(20):
        with pytest.raises(PlanError, match=rf"p1 is used by another keisoku \(process {os.getpid()}\)"):
            open_testbed(_wanted(SETS[0]))
    claim.close()


def _wanted(locations: list[str], before: Any = None) -> WantedTestbed:
    wanted = tuple(WantedPort(location, f"ports[{number}].location") for number, location in enumerate(locations))
    return WantedTestbed(wanted, held={} if before is None else before.claims)
