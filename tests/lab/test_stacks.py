"""Any header stack through real devices: every frame comes out, intact, at the length the device gives it."""

from __future__ import annotations

import shutil

import pytest
from support.lab_trials import FRAMES, carry_out, plan_for
from support.trials import incomplete

from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial

pytestmark = pytest.mark.lab

STACKS = {
    "vlan": "Ether()/Dot1Q(vlan=5)/IP()/UDP()",
    "qinq": "Ether()/Dot1AD(vlan=7)/Dot1Q(vlan=5)/IPv6()/UDP()",
    "mpls": "Ether()/MPLS(label=100)/IP()/UDP()",
    "tcp": "Ether()/IP()/TCP()",
    "tcp6": "Ether()/IPv6()/TCP()",
    "vxlan": "Ether()/IP()/UDP()/VXLAN(vni=9)/Ether()/IPv6()/UDP()",
    "gre": "Ether()/IP()/GRE()/IP()/UDP()",
    "lisp": "Ether()/IP()/UDP()/LISP()/IP()/UDP()",
    "srv6": "Ether()/IPv6()/IPv6ExtHdrSegmentRouting(addresses=['2001:2:0:2::9'])/IPv6()/UDP()",
}


def _lossy(trial: Trial, facts: Facts) -> bool:
    # Frames go through a daemon, which drops some while others use the CPUs.
    return incomplete(trial, facts) or facts.tracked.lost_frames > 0


@pytest.mark.parametrize("engine", ["xdp", "packet"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_bridge_forwards_every_frame_of_every_stack(stack: str, engine: str) -> None:
    plan = plan_for("bridge", headers=STACKS[stack], frame_bytes=[200], engine=engine)
    tracked = carry_out(plan)[0].tracked
    assert (tracked.forwarded_frames, tracked.lost_frames, tracked.corrupt_arrivals) == (FRAMES, 0, 0)


@pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="needs openvswitch-switch")
@pytest.mark.parametrize("stack", ["vlan", "mpls", "tcp"])
def test_open_vswitch_forwards_every_frame_of_a_stack(stack: str) -> None:
    plan = plan_for("ovs", headers=STACKS[stack], frame_bytes=[200])
    facts, _ = carry_out(plan, again=_lossy)
    tracked = facts.tracked
    assert (tracked.forwarded_frames, tracked.lost_frames, tracked.corrupt_arrivals) == (FRAMES, 0, 0)


@pytest.mark.parametrize(
    ("device", "headers", "back"),
    [
        ("router", "ipv4", False),
        ("router", "ipv6", False),
        ("firewall?rules=25", "ipv4", False),
        ("nat", "ipv4", False),
        ("nat", "ipv4", True),
        ("vxlan", "ethernet", False),
        ("vxlan", "ipv4", True),
        ("srv6", "ipv6", False),
        ("srv6", "ipv4", True),
        ("ovs-mpls?action=push", "ipv4", False),
        ("ovs-mpls?action=pop", "ipv4", False),
        ("ovs-mpls?action=swap", "ipv6", False),
        ("ovs-vxlan", "ipv4", False),
        ("ovs-vxlan", "ipv4", True),
        ("ovs?flows=1000", "ipv4", False),
    ],
)
def test_frames_that_a_device_changes_are_recognised(device: str, headers: str, back: bool) -> None:
    if device.startswith("ovs") and shutil.which("ovs-vswitchd") is None:
        pytest.skip("needs openvswitch-switch")
    if device.startswith(("nat", "firewall")) and shutil.which("nft") is None:
        pytest.skip("needs nftables")
    ends = {"tx": "2", "rx": "1"} if back else {}
    plan = plan_for(device, headers=headers, frame_bytes=[256], **ends)
    facts, _ = carry_out(plan, again=_lossy if device.startswith("ovs") else incomplete)
    tracked = facts.tracked
    assert (tracked.forwarded_frames, tracked.lost_frames, tracked.corrupt_arrivals) == (FRAMES, 0, 0)
