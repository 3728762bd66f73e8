"""Ports are promiscuous only where a card would otherwise keep frames of the trial from the tester."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.engine.address_filter import filtered_at
from keisoku.subjects.device.engine.traffic import Addressing, Route, Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.trial import Trial

MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02"]
ROUTER = "02:00:00:00:00:99"
TRIAL = Trial(purpose="test", frame_bytes=128, frames_per_second=1000.0, duration_ns=10**9)


def filtered(next_hop: str, **content: object) -> list[int]:
    ips = {"ipv4": ("198.18.0.2", "198.19.0.2")}
    forward, back = Addressing(MACS[0], next_hop, MACS[1], ips), Addressing(MACS[1], MACS[0], MACS[0], ips)
    traffic = Traffic([Route(0, 1, forward, back)], [Content.model_validate(content)])
    return filtered_at(traffic.streams(TRIAL), traffic.tables(TRIAL), traffic.routes, MACS)


@pytest.mark.parametrize(
    ("next_hop", "content"),
    [
        (MACS[1], {"headers": "ethernet"}),
        (MACS[1], {"headers": "ipv4", "streams": 4}),
        (ROUTER, {"headers": "ipv4"}),
        (ROUTER, {"headers": "ipv4", "modify": ["IP.dst=increment(198.19.0.2, count=100)"]}),
    ],
)
def test_frames_for_the_ports_own_address_need_nothing(next_hop: str, content: dict[str, object]) -> None:
    assert filtered(next_hop, **content) == []


@pytest.mark.parametrize(
    ("next_hop", "content"),
    [
        (MACS[1], {"headers": "ethernet", "modify": ["Ether.dst=increment(02:00:00:00:01:00, count=100)"]}),
        (MACS[1], {"headers": "Ether()/Dot1Q(vlan=7)/IP()/UDP()"}),
        (ROUTER, {"headers": "Ether()/Dot1Q(vlan=7)/IP()/UDP()"}),
    ],
)
def test_frames_for_other_addresses_and_tagged_ones_do(next_hop: str, content: dict[str, object]) -> None:
    assert filtered(next_hop, **content) == [1]


def test_a_group_behind_a_router_needs_a_promiscuous_port() -> None:
    """A router leaves a group's MAC address as it is, and a card keeps only groups that somebody joined on it."""
    headers = "Ether(dst='01:00:5e:01:00:00')/IP(dst='239.1.0.0')/UDP()"
    assert filtered(ROUTER, headers=headers) == [1]
