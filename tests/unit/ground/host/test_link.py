"""Netlink's answers as we read them, beside another reader of the same."""

from __future__ import annotations

import socket
import struct

import pytest
from pyroute2 import IPRoute

from keisoku.ground.host import link
from keisoku.ground.host.link import links
from keisoku.ground.host.netlink import attribute, attributes, dump, number


def test_attributes_are_read_as_they_were_written() -> None:
    written = {1: b"", 2: b"abc", 3: b"abcd", 7: struct.pack("=Q", 1 << 40)}
    data = b"".join(attribute(kind, value) for kind, value in written.items())
    assert len(data) % 4 == 0
    assert attributes(data) == written
    assert number(written[7]) == 1 << 40 and number(None) == 0


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\0\1\0\1\0", b"\3\0\1\0xxxx"])
def test_damaged_attributes_end_the_list(data: bytes) -> None:
    assert attributes(data) == {}


def test_a_refused_request_is_an_error() -> None:
    with pytest.raises(OSError):
        dump(socket.NETLINK_ROUTE, 0x7FFF, b"\0" * 16)


def test_the_links_are_those_that_another_reader_finds() -> None:
    with IPRoute() as ip:
        others = {
            (each["index"], each.get("ifname"), each.get("mtu"), bool(each["flags"] & 1), bool(each.get("carrier")))
            for each in ip.get_links()
        }
    assert {(each.index, each.name, each.mtu, each.up, each.carrier) for each in links()} == others
    assert [each.name for each in links() if each.loopback] == ["lo"]


def test_a_default_route_with_several_hops_counts_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(bits: int, kind: int, *parts: bytes) -> bytes:
        return struct.pack("=BBBBBBBBI", socket.AF_INET, bits, 0, 0, 254, 4, 0, kind, 0) + b"".join(parts)

    def hop(index: int) -> bytes:
        gateway = attribute(5, b"\x0a\0\0\x01")
        return struct.pack("=HBBi", 8 + len(gateway), 0, 0, index) + gateway

    table = [
        entry(0, 1, attribute(9, hop(4) + hop(6))),
        entry(0, 1, attribute(4, struct.pack("=I", 3))),
        entry(0, 6, attribute(4, struct.pack("=I", 1))),  # a blackhole
        entry(8, 1, attribute(4, struct.pack("=I", 2))),
    ]
    monkeypatch.setattr(link, "dump", lambda family, kind, body: table if body[0] == socket.AF_INET else [])
    assert link.default_routes() == {3, 4, 6}
