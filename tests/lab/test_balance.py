"""Balance of flows over members of the lab, whose hash is configured: shares, deciding fields and moved flows.

Every expectation is the kernel's or Open vSwitch's documented behaviour, never a figure of an earlier run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.lab_passages import needs, require
from support.lab_trials import on_lab
from support.trials import drive

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.vswitch import PROGRAMS
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.balance.balance import ALL, MEMBER
from keisoku.subjects.device.procedure.balance.deciding import FIELD
from keisoku.subjects.device.procedure.balance.moves import EVENT

pytestmark = pytest.mark.lab

PORTS = 4
WAITS = {"learning_wait_s": 0.05, "drain_s": 0.2, "rest_s": 0.0}
TUNNEL = "Ether()/IP(proto=47)/GRE()/IP()/UDP()"
EVEN = ("as even as a random hash", "more even than a random hash, as flows that take the members in turn")
SOURCE, DESTINATION = "source IPv4 address", "destination IPv4 address"
PORT_FROM, PORT_TO = "UDP source port", "UDP destination port"


@contextmanager
def lab_of(name: str) -> Iterator[Lab]:
    require(name)
    with Lab(name, ports=PORTS) as lab:
        yield lab


def measured(lab: Lab, headers: str = "ipv4", **own: Any) -> Result:
    plan = parse(
        {
            "methods": ["balance"],
            "dut": f"lab:{lab.device.name}",
            "ports": [str(number + 1) for number in range(PORTS)],
            "frame_bytes": [128],
            "headers": headers,
            "balance": {"resolution_percent": 4, "stable_s": 0.3, "watch_s": 0.6} | own,
            "phases": WAITS,
        }
    )
    engine = on_lab(plan, lab)
    try:
        method = begin("balance", plan, engine.capabilities, Bias(), {})
        result, _ = drive("balance", method, engine, seed=lambda index: index, streams=4096)
    finally:
        engine.close()
    assert result is not None
    return result


def verdict(result: Result) -> Row:
    return next(row for row in result.rows if row.case == ALL)


def group(result: Result, name: str) -> list[Row]:
    return [row for row in result.rows if row.group == name]


def deciding(result: Result) -> set[str]:
    """Raises if a field is neither known to decide nor known not to."""
    fields = group(result, FIELD)[1:]
    assert all(row.remark == "decides" or row.remark.startswith("does not decide") for row in fields), fields
    return {row.case for row in fields if row.remark == "decides"}


@pytest.mark.parametrize(
    ("policy", "headers", "fields"),
    [
        # Documentation/networking/ip-sysctl.rst: fib_multipath_hash_policy.
        ("policy=0", "ipv4", {SOURCE, DESTINATION}),
        ("policy=1", "ipv4", {SOURCE, DESTINATION, PORT_FROM, PORT_TO}),
        ("policy=2", TUNNEL, {f"inner {SOURCE}", f"inner {DESTINATION}"}),
        ("policy=3&fields=dst,sport", "ipv4", {DESTINATION, PORT_FROM}),
        ("policy=0", "ipv6", {"source IPv6 address", "destination IPv6 address", "IPv6 flow label"}),
        ("policy=1", "ipv6", {"source IPv6 address", "destination IPv6 address", PORT_FROM, PORT_TO}),
    ],
)
def test_the_fields_of_the_kernels_policy_decide_and_its_group_is_even(
    policy: str, headers: str, fields: set[str]
) -> None:
    network = "2001:2:0:8000::/49" if headers == "ipv6" else "198.19.0.0/16"
    with lab_of(f"ecmp?{policy}") as lab:
        result = measured(lab, headers, fields=True, destinations=network)
    assert verdict(result).remark in EVEN
    assert deciding(result) == fields


def test_weights_of_a_nexthop_group_are_found() -> None:
    with lab_of("ecmp?weights=1:2:1") as lab:
        assert verdict(measured(lab, weights="1:2:1")).remark in EVEN
        result = measured(lab)
    assert verdict(result).remark.startswith("uneven: member 2 carries ")
    low, high = group(result, MEMBER)[1].figures["flow_share"].bounds or (0, 0)
    assert low <= 50 <= high


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_only_flows_of_the_lost_member_of_a_resilient_group_move(version: str) -> None:
    with lab_of("ecmp?buckets=128") as lab:
        lost, _ = group(measured(lab, version, event="member-lost"), EVENT)
    assert lost.figures["moved"].value > 0
    assert lost.figures["moved_needlessly"].value == 0


def test_flows_of_members_that_stay_move_in_a_group_with_thresholds_and_come_back() -> None:
    """RFC 2992: the parts of the hash's range become larger, and their borders move."""
    with lab_of("ecmp") as lab:
        lost, back = group(measured(lab, event="member-lost"), EVENT)
    flows = lost.figures["flows"].value
    # Of three equal parts that become two, a sixth of all flows is between the old and the new border.
    assert flows / 12 < lost.figures["moved_needlessly"].value < flows / 4
    assert back.figures["moved"].value == lost.figures["moved"].value


def test_a_command_may_take_a_member_away() -> None:
    with lab_of("ecmp") as lab:
        command = f"ip -n {lab._places[0].name} link set dev {lab.ports[-1].dut_interface} down"
        (lost,) = group(measured(lab, event=command), EVENT)
    assert lost.case == "command"
    assert 0 < lost.figures["moved_needlessly"].value < lost.figures["moved"].value


def test_a_bridge_sends_every_flow_to_one_port() -> None:
    with lab_of("bridge") as lab:
        assert verdict(measured(lab)).remark.startswith("every flow took one member")


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        # Documentation/networking/bonding.rst: xmit_hash_policy; layer2 also has the destination address and the type.
        ("layer2", {"source MAC address"}),
        ("layer2+3", {"source MAC address", SOURCE, DESTINATION}),
        ("layer3+4", {SOURCE, DESTINATION, PORT_FROM, PORT_TO}),
    ],
)
def test_the_fields_of_a_bonds_policy_decide(policy: str, fields: set[str]) -> None:
    with lab_of(f"lag?hash={policy}") as lab:
        result = measured(lab, fields=True, destinations="198.19.0.0/16")
    assert verdict(result).remark in EVEN
    assert deciding(result) == fields


def test_a_bond_that_takes_turns_sprays_every_flow() -> None:
    with lab_of("lag?mode=balance-rr") as lab:
        found = verdict(measured(lab))
    assert found.figures["sprayed"].value == found.figures["flows"].value


@pytest.mark.parametrize(
    ("hashed", "headers", "fields"),
    [
        ("udp_src", "ipv4", {PORT_FROM}),
        ("eth_src,ip_src", "ipv4", {"source MAC address", SOURCE}),
        ("ipv6_label,udp_dst", "ipv6", {"IPv6 flow label", PORT_TO}),
    ],
)
@pytest.mark.parametrize("name", [pytest.param("ovs-select", marks=needs(*PROGRAMS))])
def test_the_fields_of_a_select_group_decide(name: str, hashed: str, headers: str, fields: set[str]) -> None:
    with lab_of(f"{name}?fields={hashed}") as lab:
        result = measured(lab, headers, fields=True)
    assert verdict(result).remark in EVEN
    assert deciding(result) == fields


@pytest.mark.parametrize("name", [pytest.param("ovs-select", marks=needs(*PROGRAMS))])
def test_weights_of_a_select_group_are_not_its_shares(name: str) -> None:
    """Open vSwitch sends by the bucket with the largest product of a random number and the weight: 2u is more than two
    others with a probability of 1/2 + 1/6 (ofproto-dpif-xlate.c, group_best_live_bucket)."""
    with lab_of(f"{name}?weights=1:2:1") as lab:
        result = measured(lab, weights="1:2:1")
    assert verdict(result).remark.startswith("uneven: member 2 carries ")
    low, high = group(result, MEMBER)[1].figures["flow_share"].bounds or (0, 0)
    assert low <= 200 / 3 <= high
