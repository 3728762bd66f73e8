"""Which answer belongs to which probe of a flow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scapy.compat import raw
from scapy.layers.inet import ICMP, IP, UDP

from keisoku.ground.host.place import Place
from keisoku.subjects.path.one_packet.probing import sockets
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply


class Router:
    """Both sockets, and a router that answers every probe too late: while the next one is under way."""

    address = ("192.0.2.1", 4000)
    quoted_bytes = 100

    def __init__(self, kind: str, *_: object, **__: object) -> None:
        self.kind = kind

    def send(self, packets: list[tuple[bytes, None, int]]) -> list[Any]:
        for data, _, ttl in packets:
            probe = raw(IP(dst="127.0.0.1", ttl=ttl) / UDP(sport=4000, dport=33435) / data)
            UNDER_WAY.append(raw(IP(src=f"192.0.2.{ttl}") / ICMP(type=11) / probe[: 28 + self.quoted_bytes]))
        return [SimpleNamespace(error=None, kernel_ns=1, realtime_ns=1) for _ in packets]

    def receive(self, deadline_ns: int, least: int) -> tuple[list[Any], list[Any]]:
        if not least:
            return [], []
        found = [SimpleNamespace(data=data) for data in UNDER_WAY[:-1]]
        del UNDER_WAY[:-1]
        return found, []


UNDER_WAY: list[bytes] = []


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> sockets.HopSockets:
    UNDER_WAY.clear()
    monkeypatch.setattr(sockets, "StampedSocket", Router)
    monkeypatch.setattr(sockets, "_reply", lambda sent, arrived, quoted: HopReply(1, rtt_ns=5))
    return sockets.HopSockets(Place("127.0.0.1", None), 33435)


def test_a_late_answer_is_not_that_to_the_next_probe_of_its_size(wire: sockets.HopSockets) -> None:
    """It answered hop 3's probe with hop 2's answer: a false mixed path, and a false loss."""
    for ttl in (2, 3, 4):
        (reply,) = wire.exchange([HopPacket(ttl, 100)], 1_000_000)
        assert reply.rtt_ns is None


def test_a_router_that_quotes_no_payload_is_still_heard(
    wire: sockets.HopSockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Router, "quoted_bytes", 0)
    wire.exchange([HopPacket(2, 100)], 1_000_000)
    (reply,) = wire.exchange([HopPacket(3, 100)], 1_000_000)
    assert reply.rtt_ns == 5, "nothing tells the two apart"
