"""What `keisoku doctor` says of a port, by what the port's driver says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keisoku.ground.host import ethtool
from keisoku.ground.host.checkup.finding import Finding
from keisoku.subjects.device.testbed import device_checkup
from keisoku.subjects.device.testbed.device_checkup import between, first_measurement
from keisoku.subjects.device.testbed.host_port_list import HostPort
from keisoku.subjects.device.testbed.port_checkup import port_findings

QUIET = {
    "receive_queues": 4,
    "pauses": 0,
    "saves_energy": False,
    "gathers_us": 0,
    "joins_segments": False,
}


def port(**differing: Any) -> HostPort:
    known: dict[str, Any] = {
        "name": "eth1",
        "driver": "igb",
        "mac": "02:00:00:00:00:01",
        "mtu": 1500,
        "speed_mbps": 1000,
        "up": True,
        "carrier": True,
        "default_route": False,
        "xdp": ("native", "redirect", "transmit"),
        "offloads": {"GRO": False},
    }
    return HostPort(**(known | differing))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Finding]]:
    def findings(wanted: HostPort, **answers: object) -> list[Finding]:
        for name, answer in (QUIET | answers).items():
            monkeypatch.setattr(ethtool, name, lambda _, answer=answer: answer)
        return port_findings([wanted])

    return findings


def one(findings: list[Finding], word: str) -> Finding:
    (found,) = [finding for finding in findings if word in finding.said]
    return found


def test_a_port_without_faults_has_its_engine_and_why(said: Callable[..., list[Finding]]) -> None:
    findings = said(port())
    assert {finding.grade for finding in findings} == {"good", "note"}  # stamps are those of software
    assert (
        "4 receive queues: engine xdp is expected, because the driver supports native XDP"
        in one(findings, "driver igb").said
    )
    slow = said(port(xdp=()))
    assert "engine packet is expected, because the driver has no native XDP" in one(slow, "driver igb").said


def test_every_problem_has_the_command_that_mends_it(said: Callable[..., list[Finding]]) -> None:
    wanted = port(half_duplex=True, removes_tags=True, offloads={"GRO": True, "TCP segmentation": True})
    findings = said(wanted, pauses=7, saves_energy=True, gathers_us=50, joins_segments=True)
    remedies = {
        "pause frames": "sudo ethtool -A eth1 autoneg off rx off tx off",
        "Energy-Efficient": "sudo ethtool --set-eee eth1 eee off",
        "up to 50 µs": "sudo ethtool -C eth1 adaptive-rx off rx-usecs 0",
        "LRO": "sudo ethtool -K eth1 lro off",
        "VLAN tags": "sudo ethtool -K eth1 rxvlan off",
        "GRO, TCP segmentation": "sudo ethtool -K eth1 gro off tso off",
        "half duplex": "sudo ethtool -s eth1 duplex full",
    }
    for word, remedy in remedies.items():
        assert remedy in one(findings, word).remedy
    assert all(finding.remedy for finding in findings if finding.grade == "problem")


def test_the_line_of_the_default_route_is_never_changed(said: Callable[..., list[Finding]]) -> None:
    def mended(wanted: HostPort) -> list[str]:
        findings = said(wanted, pauses=7, saves_energy=True)
        return [finding.mend.key for finding in findings if finding.mend is not None]

    assert mended(port()) == ["pause", "energy"]
    assert mended(port(default_route=True)) == []


def test_a_veth_is_not_told_to_turn_off_what_its_xdp_needs(said: Callable[..., list[Finding]]) -> None:
    findings = said(port(driver="veth", offloads={"GRO": True}))
    assert not [finding for finding in findings if "GRO" in finding.said]


def test_interfaces_without_another_end_are_named_once_and_never_proposed() -> None:
    others = [port(name="dummy0", driver="dummy"), port(name="ifb0", driver="ifb", up=False)]
    (finding,) = port_findings(others)
    assert finding.about == "dummy0, ifb0" and finding.grade == "note"
    proposed = between([port(), *others])
    assert "only eth1 is" in proposed.said and proposed.grade == "note"


def test_the_first_command_is_of_what_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_checkup, "available", lambda: None)
    assert first_measurement([port(), port(name="eth2")]).startswith("keisoku throughput --tx eth1 --rx eth2 ")
    assert "--dut lab:bridge" in first_measurement([port(), port(name="eth2", default_route=True)])
    monkeypatch.setattr(device_checkup, "available", lambda: "a lab needs root; run it as root")
    assert "--dut sim:" in first_measurement([])
