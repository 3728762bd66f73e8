"""Port URIs, and that no unsuitable port gets past `check`; each refusal names field, fault and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.testbed import host_port
from keisoku.subjects.device.testbed.host_port import PortAddress, check, resolve_mac
from keisoku.subjects.device.testbed.host_port_list import HostPort, list_ports


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("xdp:eth1", PortAddress("xdp", "eth1")),
        ("eth1", PortAddress(None, "eth1")),
        ("eth1@blue", PortAddress(None, "eth1", "blue")),
        ("afxdp:eth1", PortAddress("afxdp", "eth1")),
        ("packet:enp3s0f1.7", PortAddress("packet", "enp3s0f1.7")),
        ("xdp:eth1@blue", PortAddress("xdp", "eth1", "blue")),
        ("packet:t1@/run/netns/blue", PortAddress("packet", "t1", "/run/netns/blue")),
    ],
)
def test_uris_are_read_and_written(text, address):
    assert PortAddress.parse(text) == address
    assert str(address) == text


def test_a_namespace_is_a_name_or_a_path():
    assert PortAddress.parse("xdp:eth1").namespace_path is None
    assert PortAddress.parse("xdp:eth1@blue").namespace_path == Path("/run/netns/blue")
    assert PortAddress.parse("xdp:eth1@/proc/7/ns/net").namespace_path == Path("/proc/7/ns/net")


@pytest.mark.parametrize("text", ["", "dpdk:eth1", "xdp:", "xdp:eth1@", "xdp:a b", "xdp:morethan15letters"])
def test_other_texts_are_refused(text):
    with pytest.raises(PlanError, match=r"--tx: .* is not the name of a port; write xdp:INTERFACE"):
        PortAddress.parse(text, "--tx")


def _port(**changes: object) -> HostPort:
    plain: dict[str, Any] = {
        "name": "eth1",
        "driver": "veth",
        "mac": "02:00:00:00:00:01",
        "mtu": 1500,
        "speed_mbps": 10_000,
        "up": True,
        "carrier": True,
        "default_route": False,
        "xdp": None,
        "offloads": {},
    }
    return HostPort(**(plain | changes))


def _offer(monkeypatch, *ports: HostPort, missing: list[str] | None = None) -> None:
    monkeypatch.setattr(host_port, "list_ports", lambda namespace: list(ports))
    monkeypatch.setattr(host_port, "_missing", lambda address: missing or [])


@pytest.mark.parametrize(
    ("changes", "sizes", "sentence"),
    [
        ({"name": "eth7"}, [64], "there is no port eth1; choose one that exists: eth7"),
        (
            {"default_route": True},
            [64],
            "eth1 carries the default route, .*; choose another port, or give --force",
        ),
        ({"up": False}, [64], "eth1 is down; set it up with `ip link set eth1 up`"),
        ({"carrier": False}, [64], "eth1 has no carrier; connect the cable"),
        ({}, [64, 1519], "frames of 1519 bytes are too large for eth1, .* MTU of 1500 allows 1518; .* mtu 1501`"),
    ],
)
def test_unsuitable_ports_are_refused(monkeypatch, changes, sizes, sentence):
    _offer(monkeypatch, _port(**changes))
    with pytest.raises(PlanError, match=f"^--rx: {sentence}"):
        check(PortAddress("packet", "eth1"), sizes, field="--rx")


def test_a_missing_privilege_is_named(monkeypatch):
    _offer(monkeypatch, _port(), missing=["CAP_NET_RAW", "CAP_BPF"])
    with pytest.raises(PlanError, match="xdp:eth1 needs CAP_NET_RAW and CAP_BPF; run as root"):
        check(PortAddress("xdp", "eth1"), [64])


def test_an_unknown_namespace_is_named():
    with pytest.raises(PlanError, match="there is no namespace keisoku-absent"):
        check(PortAddress("xdp", "eth1", "keisoku-absent"), [64])


def test_suitable_ports_pass_and_force_is_for_the_default_route_only(monkeypatch):
    _offer(monkeypatch, _port(default_route=True))
    assert check(PortAddress("xdp", "eth1"), [64, 1518], force=True).name == "eth1"
    _offer(monkeypatch, _port(default_route=True, carrier=False))
    with pytest.raises(PlanError, match="no carrier"):
        check(PortAddress("xdp", "eth1"), [64], force=True)


def test_the_host_s_own_ports_can_be_listed():
    names = [found.name for found in list_ports()]
    assert names == sorted(names)
    assert "lo" not in names


def test_an_absent_interface_resolves_nothing():
    with pytest.raises(EngineError, match="there is no interface absent0"):
        resolve_mac("absent0", None, "198.18.0.1")
