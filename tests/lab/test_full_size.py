"""The longest frames that interfaces take: by their MTU, which a VLAN tag is not counted in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import wrpcap
from support.lab_trials import FRAMES, carry_out, on_lab, plan_for

from keisoku.errors import PlanError
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.capture.replay import replay
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.replay_ports import open_ports
from keisoku.subjects.device.testbed.lab import MOST_XDP_BYTES

pytestmark = pytest.mark.lab
TAGGED = "Ether()/Dot1Q(vlan=5)/IP()/UDP()"


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
@pytest.mark.parametrize(
    ("device", "headers", "size"),
    [("bridge", TAGGED, 1522), ("bridge?mtu=2000", "ipv4", 2018), ("cable", TAGGED, 1522)],
)
def test_the_longest_frames_pass(device: str, headers: str, size: int, engine: str) -> None:
    """A tagged frame of 1522 byte was refused at an MTU of 1500, and no lab could have another one."""
    facts, _ = carry_out(plan_for(device, headers=headers, frame_bytes=[size], engine=engine))
    (stream, *_) = facts.streams
    assert stream.tracked.forwarded_frames == FRAMES


@pytest.mark.parametrize(
    ("size", "engine"), [(MOST_XDP_BYTES, "xdp"), (MOST_XDP_BYTES + 1, "packet"), (9018, "packet")]
)
def test_a_lab_has_an_engine_that_sends_what_its_mtu_allows(size: int, engine: str) -> None:
    plan = plan_for("bridge?mtu=9000", frame_bytes=[size])
    with Lab("bridge?mtu=9000") as lab, closing(on_lab(plan, lab)) as opened:
        assert opened.capabilities.engine == engine
    facts, _ = carry_out(plan)
    assert facts.streams[0].tracked.forwarded_frames == FRAMES


@pytest.mark.parametrize(
    ("device", "headers", "most"),
    [("bridge", "ipv4", 1518), ("bridge", TAGGED, 1522), ("bridge?mtu=9000", "ipv4", 9018)],
)
def test_a_longer_frame_is_refused(device: str, headers: str, most: int) -> None:
    plan = plan_for(device, headers=headers, frame_bytes=[most + 1])
    with (
        Lab(device) as lab,
        closing(on_lab(plan, lab)) as engine,
        pytest.raises(PlanError, match=f"at most {most} byte"),
    ):
        check_ability(plan, engine.capabilities)


def test_ports_of_this_host_take_a_tag_more(tmp_path: Path) -> None:
    with Lab("cable") as lab:
        tx, rx = (f"packet:{port.interface}@{port.namespace_path}" for port in lab.ports[:2])
        for size, headers, fits in ((1522, TAGGED, True), (1523, TAGGED, False), (1519, "ipv4", False)):
            plan = parse({"methods": ["loss"], "tx": tx, "rx": rx, "frame_bytes": [size], "headers": headers})
            if fits:
                with open_engine(plan) as engine:
                    assert engine.capabilities.max_frame_bytes == 1522
            else:
                with pytest.raises(PlanError, match="too large for"), open_engine(plan):
                    pass
        plain = Ether() / IP(dst="192.0.2.1") / UDP()
        tagged = Ether() / Dot1Q(vlan=5) / IP(dst="192.0.2.1") / UDP()
        for frame, size, fits in ((tagged, 1522, True), (tagged, 1523, False), (plain, 1519, False)):
            file = tmp_path / f"{size}.pcap"
            wrpcap(str(file), frame / bytes(size - 4 - len(frame)))
            sizes = [replay(file).largest_bytes + 4]
            if fits:
                with open_ports(None, tx, rx, None, sizes):
                    pass
            else:
                with pytest.raises(PlanError, match="too large for"), open_ports(None, tx, rx, None, sizes):
                    pass
