"""docs/recipes.md, "A new OTG feature": a line in the table of headers, and scripts can send that header."""

from __future__ import annotations

from typing import Any

import pytest
from support.otg_server import otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.errors import PlanError
from keisoku.faces.otg.flow.header import packet
from keisoku.faces.otg.flow.header_fields import KINDS, HeaderKind
from keisoku.faces.otg.reading.conformance import checked
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.variants import frames

LINE = HeaderKind("HDLC", {"address": "address", "control": "control"})
"""PPP in HDLC-like framing (RFC 1662 §3.1), as Scapy calls it."""


def config() -> Any:
    found = two_ports()
    flow = udp_flow(found)
    flow.packet.clear()
    _, ppp = flow.packet.ethernet().ppp()
    ppp.address.value = 0xFE
    ppp.control.values = [3, 4]
    return found


def test_without_the_line_it_is_refused_with_its_path() -> None:
    with pytest.raises(PlanError, match=r"flows\[0\]\.packet\[1\]\.ppp: the header ppp is not supported"):
        packet(checked(config().serialize("dict"), "Config").children("flows")[0])


def test_with_the_line_it_is_on_the_wire_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "ppp", LINE)
    headers = packet(checked(config().serialize("dict"), "Config").children("flows")[0])
    made = frames(headers.headers, (64,), Ends("02:00:00:00:00:01", "02:00:00:00:00:02"), headers.modify)
    assert [made.frame(number)[14:16] for number in range(2)] == [b"\xfe\x03", b"\xfe\x04"]
    with otg_client() as api:
        api.set_config(config())
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
    assert metric.frames_tx == metric.frames_rx == 100


def test_a_field_that_is_not_in_the_line_is_refused_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "ppp", LINE)
    wanted = config()
    wanted.flows[0].packet[1].protocol_type.value = 0x21
    with otg_client() as api, pytest.raises(Exception, match=r"flows\[0\]\.packet\[1\]\.ppp\.protocol_type"):
        api.set_config(wanted)
