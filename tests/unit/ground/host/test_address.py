"""Addresses as text and of sockets, and hosts whose name has several, of which only the last has a server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from support.ntp_responder import NtpResponder

from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.clock.reference.ntp import NtpClient
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.stream.capacity import near
from keisoku.subjects.stream.capacity.pdu import Activation
from keisoku.subjects.stream.session import StreamSession

NAME = "both.example"
HERE = Place("127.0.0.1")


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8::7", 1, 0, 0), "2001:db8::7"),
        (("fe80::1", 1, 0, 3), "fe80::1%3"),
        (("fe80::1%3", 1), "fe80::1%3"),
        (("fe80::1%eth0", 1, 0, 3), "fe80::1%3"),
        (("::ffff:192.0.2.7", 1, 0, 0), "192.0.2.7"),
    ],
)
def test_an_address_keeps_its_interface(found: tuple[Any, ...], text: str) -> None:
    assert address_text(found) == text
    assert address_text(socket_address(text, 1)) == text
    assert family(text) == (socket.AF_INET6 if ":" in text else socket.AF_INET)


def test_an_interface_by_its_name_is_that_of_its_number() -> None:
    number = socket.if_nametoindex("lo")
    assert socket_address("fe80::1%lo", 7) == ("fe80::1", 7, 0, number)
    assert Place("fe80::1%lo").addresses() == [f"fe80::1%{number}"]


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A name of which the first address has no server, and the second no route."""
    known = socket.getaddrinfo

    def found(host: str, *more: Any, **how: Any) -> list[Any]:
        hosts = ("::1", "2001:db8::ffff", "127.0.0.1") if host == NAME else (host,)
        return [one for each in hosts for one in known(each, *more, **how)]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    yield


def test_every_address_of_a_name_is_tried_by_tcp(several: None) -> None:
    """It said "start 'keisoku stream serve' there", although it ran."""
    with FarEnd("stream", HERE) as server, StreamSession(Place(NAME), server.port) as session:
        assert session.remote == "127.0.0.1"


def test_every_address_of_a_name_is_tried_by_udpstp(several: None) -> None:
    with FarEnd("stream", HERE, "--capacity=0") as server:
        found = near.measure(Place(NAME), server.ports[1], Activation(duration_s=1))
    assert found.seen and not found.silent


def test_every_address_of_a_name_is_tried_by_stamp(several: None) -> None:
    with FarEnd("reflect", HERE) as reflector:
        wanted = DelaySettings(host=NAME, port=reflector.port, packets=3, interval_s=0.001, wait_s=0.5)
        assert DelaySender(Place(NAME), wanted).measure()["answers"].to_pylist() == [1, 1, 1]


def test_every_address_of_a_name_is_tried_by_ntp(several: None, monkeypatch: pytest.MonkeyPatch) -> None:
    responder = NtpResponder()
    known = socket.getaddrinfo

    def found(host: str, *more: Any, **how: Any) -> list[Any]:
        return [one for each in ("127.0.0.3", "127.0.0.2") for one in known(each, *more, **how)]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    try:
        assert NtpClient(f"{NAME}:{responder.port}").ends[0] == "127.0.0.2"
    finally:
        responder.close()


def test_a_far_end_without_an_address_serves_both_versions() -> None:
    """It served IPv4 alone, unless --at :: was given, which whoever asked at an IPv6 address was told to do."""
    with FarEnd("stream", Place("")) as server:
        for address in ("127.0.0.1", "::1"):
            with StreamSession(Place(address), server.port) as session:
                assert session.remote == address
    for at, refused in (("127.0.0.1", "::1"), ("::1", "127.0.0.1")):
        with FarEnd("stream", Place(at)) as server, pytest.raises(EngineError, match="'keisoku stream serve' there"):
            StreamSession(Place(refused), server.port)


@pytest.mark.parametrize(("both", "families"), [(True, (socket.AF_INET, socket.AF_INET6)), (False, (socket.AF_INET,))])
def test_a_server_listens_at_both_versions_unless_the_kernel_has_only_one(
    both: bool, families: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: both)
    with Place("").listen(0) as listener:
        port = listener.getsockname()[1]
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family, socket.SOCK_STREAM) as client:
                assert (client.connect_ex((address, port)) == 0) == (family in families)
