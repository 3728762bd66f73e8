"""What is said in short becomes headers and a parameter of the device, and what cannot is a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from keisoku.errors import PlanError
from keisoku.ground.frame.stack import parse as stack
from keisoku.subjects.device.plan.plan import Plan, parse

TRIAL = {"methods": ["trial"], "dut": "sim:gs908e"}


def plan(**keys: Any) -> Plan:
    return parse({**TRIAL, **keys})


@pytest.mark.parametrize(
    ("keys", "headers"),
    [
        ({"vlan": 5}, "Ether()/Dot1Q(vlan=5)/IP()/UDP()"),
        ({"vlan": "4094", "headers": "ethernet"}, "Ether()/Dot1Q(vlan=4094)"),
        ({"dscp": "ef"}, "Ether()/IP(tos=184)/UDP()"),
        ({"dscp": 46}, "Ether()/IP(tos=184)/UDP()"),
        ({"dscp": "AF41", "headers": "ipv6"}, "Ether()/IPv6(tc=136)/UDP()"),
        ({"vlan": 5, "dscp": "cs6"}, "Ether()/Dot1Q(vlan=5)/IP(tos=192)/UDP()"),
        ({"dscp": "le", "headers": "mpls"}, "Ether()/MPLS(s=1)/IP(tos=4)/UDP()"),
        ({"vlan": 7, "headers": "Ether(type=0x8100)/IP()/UDP()"}, None),
    ],
)
def test_vlan_and_dscp_are_headers(keys: dict[str, Any], headers: str | None) -> None:
    if headers is None:
        with pytest.raises(PlanError, match="vlan: there is no Ether"):
            plan(**keys)
        return
    made = plan(**keys)
    assert made.headers == headers and stack(headers).text
    assert "vlan" not in made.plain() and parse(made.plain()) == made


def test_frames_of_no_size_in_particular_are_longer_by_their_tags() -> None:
    assert plan(vlan=5).frame_bytes == (68, 132, 260, 516, 1028, 1284, 1522)
    assert plan(vlan=5, frame_bytes="imix").mix == (68, 574, 68, 68, 574, 68, 1522, 68, 574, 68, 574, 68)
    assert plan(headers="Ether()/Dot1AD(vlan=5)/Dot1Q(vlan=6)", frame_bytes="imix").all_frame_bytes == [72, 578, 1526]
    assert plan(vlan=5, frame_bytes="128,1518").frame_bytes == (128, 1518)
    assert plan(vlan=5, frame_bytes="64:1,128:1").all_frame_bytes == [64, 128]
    (content,) = plan(stream=[{"headers": "Ether()/Dot1Q()/IP()/UDP()", "frame_bytes": "imix"}]).stream
    assert content.frame_bytes is not None and max(content.frame_bytes) == 1522


def test_an_mtu_is_a_parameter_of_a_lab_device() -> None:
    assert plan(dut="lab:bridge", mtu=9000).dut == "lab:bridge?mtu=9000"
    assert plan(dut="lab:faulty?every=10", mtu="2000").dut == "lab:faulty?every=10&mtu=2000"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"vlan": 0}, "vlan: there is no VLAN of 0; give 1 to 4094"),
        ({"dscp": 64}, "dscp: there is no DSCP of 64; give 0 to 63"),
        ({"dscp": "efx"}, "dscp: there is no class 'efx'; give 0 to 63, or a name such as ef, af41 or cs6"),
        ({"dscp": "ef", "headers": "ethernet"}, "dscp: there is no IP() without values in the headers; write IP(tos="),
        ({"vlan": 5, "stream": [{}]}, "vlan: is given beside a list of streams; write Ether()/Dot1Q(vlan=5) into"),
        ({"mtu": 9000}, "mtu: a simulated device has no MTU, and takes every size; leave it out"),
        ({"mtu": 9000, "dut": "lab:bridge?mtu=2000"}, "mtu: lab:bridge?mtu=2000 has one already; give it once"),
        (
            {"mtu": 9000, "dut": None, "tx": "eth1", "rx": "eth2"},
            "mtu: the MTU of these ports is the host's; set it there: ip link set DEVICE mtu 9000",
        ),
    ],
)
def test_what_cannot_be_is_a_sentence(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as error:
        plan(**keys)
    assert str(error.value).startswith(said)
