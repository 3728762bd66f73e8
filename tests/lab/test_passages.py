"""Every device does to a frame what its passage says, in both directions."""

from __future__ import annotations

import pytest
from support.lab_passages import MakeTap, assert_passage, needs, require

from keisoku.errors import PlanError
from keisoku.ground.lab.device.catalogue import FAMILIES, find_device
from keisoku.ground.lab.device.lab import Lab

pytestmark = pytest.mark.lab

NAMES = [
    "cable", "bridge", "router", "faulty", "nat", "nat64", "firewall", "firewall?rules=1", "vxlan", "srv6", "ovs",
    "ovs?flows=1", "ovs-mpls?action=push", "ovs-mpls?action=pop", "ovs-mpls?action=swap", "ovs-vxlan",
    "bond", "bond?mode=active-backup&links=3", "bond?mode=balance-xor", "bond?mode=802.3ad", "team", "vlan",
    "vlan?id=4094&protocol=802.1ad", "macvlan", "vrf", "hsr", "mpls", "wireguard", "macsec", "macsec?encrypt=off",
    "ipsec", "xfrm", "netem", "netem?delay=1ms", "tbf", "htb", "hfsc", "cbs", "codel", "fq_codel", "pie", "red",
    "cake", "cake?tins=diffserv4", "ets", "mqprio", "mqprio?classes=8", "taprio", "etf",
    "diamond?bfd=off", "bgp", "vrrp", "stp", "ecmp", "ecmp?policy=3&fields=src,label&weights=1:2", "lag",
    "lag?mode=balance-rr", "lag?hash=layer2", "ovs-select", "ovs-select?fields=eth_src", "ovs-export",
    "multicast-router", "serial",
    "police", "police?rate=100kpps", "gate", "flower", "flower?mark=10",
]  # fmt: skip
GROWTH = {
    "vlan": 4,
    "vlan?id=4094&protocol=802.1ad": 4,
    "vxlan": 50,
    "ovs-vxlan": 50,
    "srv6": 64,
    "nat64": -20,
    "ovs-mpls?action=push": 4,
    "ovs-mpls?action=pop": -4,
}
EACH = [pytest.param(name, marks=needs(*find_device(name).programs)) for name in NAMES]


def test_every_family_is_tried() -> None:
    assert {name.partition("?")[0] for name in NAMES} == set(FAMILIES)


@pytest.mark.parametrize("name", EACH)
def test_a_frame_comes_out_as_the_passage_says(name: str, tap: MakeTap) -> None:
    require(name)
    with Lab(name) as lab:
        assert lab.passage(1, 2).growth_bytes == GROWTH.get(name, 0) == -lab.passage(2, 1).growth_bytes
        for length in (46, 1400):
            assert_passage(lab, tap, 1, 2, length)
            assert_passage(lab, tap, 2, 1, length)


@pytest.mark.parametrize("name", EACH)
def test_a_full_frame_passes_although_it_grows(name: str, tap: MakeTap) -> None:
    require(name)
    with Lab(name) as lab:
        headers_bytes = 48  # IPv6 and UDP
        longest = min(1500, *(port.mtu_bytes for port in lab.ports)) - headers_bytes - (4 if "swap" in name else 0)
        assert_passage(lab, tap, 1, 2, longest)
        assert_passage(lab, tap, 2, 1, longest)


@pytest.mark.parametrize("family", ["bridge", "router", "firewall", "ovs", "ovs?flows=10"])
@pytest.mark.parametrize("ports", [3, 8])
def test_every_pair_of_many_ports(family: str, ports: int, tap: MakeTap) -> None:
    if any(program.path is None for program in find_device(family).programs):
        pytest.skip(f"needs the Debian package {find_device(family).programs[0].package}")
    with Lab(family, ports=ports) as lab:
        for tx in range(1, ports + 1):
            for rx in range(1, ports + 1):
                if tx != rx:
                    assert_passage(lab, tap, tx, rx)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("switch", "there is no lab device 'switch'; use one of"),
        ("firewal", "there is no lab device 'firewal'; did you mean 'firewall'?"),
        ("ovs?flow=1", "ovs cannot have a parameter flow; write ovs?flows=1 to 10000"),
        ("ovs?flows=10001", "ovs cannot have flows=10001; write"),
        ("ovs?flows=many", "ovs cannot have flows=many; write"),
        ("ovs?flows", "'flows' is not a list of parameters; write"),
        ("ovs?flows=1&flows=2", "is not a list of parameters"),
        ("ovs-mpls", "ovs-mpls cannot have no action; write ovs-mpls?action=push, pop or swap"),
        ("ovs-mpls?action=peek", "ovs-mpls cannot have action=peek"),
        ("bridge?rules=1", "bridge cannot have a parameter rules; write bridge?snooping=on&leave=fast&groups="),
        ("bridge?capacity=fast", "groups=4096, or with mtu=9000&capacity=300kpps"),
        ("bridge?capacity=0", "bridge cannot have capacity=0; write"),
        ("bridge?capacity=2Tbps", "bridge cannot have capacity=2Tbps; write"),
        ("bridge?burst=1ms", "bridge cannot have burst=1ms; write"),
        ("bridge?capacity=1kpps&burst=-1ms", "bridge cannot have burst=-1ms; write"),
        ("router?cost=1ms", "router cannot have cost=1ms; write"),
        ("ovs?cost=1us", "ovs cannot have cost=1us; write"),
        ("netem?jitter=1ms", "netem cannot have jitter=1ms; write netem?delay="),
        ("netem?loss=110%", "netem cannot have loss=110%"),
        ("tbf?rate=fast", "tbf cannot have rate=fast; write tbf?rate=10Mbps&bucket=20kB"),
        ("police?rate=0pps", "police cannot have rate=0pps"),
        ("gate?open=30ms", "gate cannot have open=30ms; write gate?cycle=20ms&open=10ms"),
        ("etf?slots=x:5ms", "etf cannot have slots=x:5ms"),
        ("etf?delta=30ms", "etf cannot have delta=30ms"),
        ("ets?quanta=0", "ets cannot have quanta=0"),
        ("bond?links=1", "bond cannot have links=1"),
        ("cable?capacity=1kpps", "cable cannot have capacity=1kpps; write cable alone"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, said: str) -> None:
    with pytest.raises(PlanError) as refusal:
        find_device(name, "dut")
    assert refusal.value.field == "dut"
    assert said in str(refusal.value)


@pytest.mark.parametrize("name", [*NAMES, "firewall?rules=3&capacity=1.5Gbit/s&burst=3ms&cost=200ns"])
def test_a_device_is_found_again_by_its_name(name: str) -> None:
    assert find_device(find_device(name).name) == find_device(name)


def test_a_missing_program_is_told_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisoku.ground.host.program.shutil.which", lambda *_, **__: None)
    with pytest.raises(PlanError, match=r"ovs needs the program .*install the Debian package openvswitch-switch"):
        Lab("ovs").__enter__()
