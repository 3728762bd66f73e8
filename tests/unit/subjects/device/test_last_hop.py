"""From which MAC address frames of a router are expected: its own at the receiving port, not that of the tester."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.engine.watched import watched
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.trial import Phases, Trial
from keisoku.subjects.device.testbed.requirements import WantedTraffic
from keisoku.subjects.device.testbed.tester_hosts import TesterHosts

MACS = "02:00:00:00:00:01", "02:00:00:00:00:02"


class Hosts(TesterHosts):
    """Gateways with MAC addresses of their own; remembers which were asked."""

    def __init__(self, gateways: list[str]) -> None:
        super().__init__(MACS, ["10.0.1.2", "10.0.2.2"], gateways)
        self.asked: list[int] = []

    def gateway_mac(self, port: int) -> str:
        self.asked.append(port)
        return f"02:00:00:00:01:0{port}"

    def own_ip(self, port: int, version: int) -> str | None:
        return None


@pytest.mark.parametrize(
    ("gateways", "source"),
    [(["10.0.1.1", "10.0.2.1"], "Ether.src=02:00:00:00:01:01"), (["10.0.1.1"], "Ether.src=any")],
)
def test_a_real_routers_frames_are_not_expected_from_the_testers_own_address(gateways: list[str], source: str) -> None:
    wanted = WantedTraffic(((0, 1),), (Content(),), changes=True)
    traffic = wanted.on(Hosts(gateways).routes(wanted))
    trial = Trial(
        purpose="test", frame_bytes=64, frames_per_second=1000.0, duration_ns=1_000_000, phases=Phases(),
        changes="changed",
    )  # fmt: skip
    found = watched(traffic, trial)
    assert found is not None
    assert found.texts == [(f"Ether.dst={MACS[1]}", source, "IP.ttl=-1")]


def test_a_receiving_ports_gateway_is_not_asked_where_nobody_compares_headers() -> None:
    hosts = Hosts(["10.0.1.1", "10.0.2.1"])
    hosts.routes(WantedTraffic(((0, 1),), (Content(),)))
    assert hosts.asked == [0]
