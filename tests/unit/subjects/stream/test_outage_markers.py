"""Markers that others POST while interruptions are measured: dated, bounded, and refused in a sentence."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from keisoku.errors import EngineError
from keisoku.subjects.stream.outage.course import Course
from keisoku.subjects.stream.outage.marker_server import MarkerServer
from keisoku.subjects.stream.outage.settings import CourseSettings

Kept = list[tuple[str, int]]


@pytest.fixture
def kept() -> Kept:
    return []


@pytest.fixture
def server(kept: Kept) -> Iterator[MarkerServer]:
    """One with room for five markers."""

    def mark(text: str, came_ns: int) -> bool:
        kept.append((text, came_ns))
        return len(kept) <= 5

    with MarkerServer("127.0.0.1", 0, mark) as made:
        yield made


def said(server: MarkerServer, method: str, body: bytes | None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, "/", body)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode().strip()
    connection.close()
    return found


def test_a_line_that_is_posted_has_the_time_at_which_it_came(server: MarkerServer, kept: Kept) -> None:
    before_ns = time.monotonic_ns()
    assert said(server, "POST", b"drained rack 3\n") == (200, "marked")
    after_ns = time.monotonic_ns()
    ((text, came_ns),) = kept
    assert text == "drained rack 3" and before_ns <= came_ns <= after_ns


def test_what_is_no_marker_is_refused_in_a_sentence(server: MarkerServer, kept: Kept) -> None:
    assert said(server, "GET", None) == (405, "only markers are taken here; POST a line of text")
    assert said(server, "POST", b" \n") == (400, "a marker is a line of text; post one")
    assert said(server, "POST", b"x" * 1001) == (413, "a marker has a Content-Length, of at most 1000 bytes")
    assert kept == []


def test_markers_beyond_the_room_are_refused(server: MarkerServer) -> None:
    assert said(server, "POST", b"1\n2\n3\n4\n5\n") == (200, "marked")
    assert said(server, "POST", b"6") == (507, "there are too many markers; this one is not kept")


def test_clients_that_say_nothing_keep_nobody_out_for_long_and_are_few(server: MarkerServer, kept: Kept) -> None:
    at = ("127.0.0.1", server.port)
    silent = [socket.create_connection(at) for _ in range(16)]
    with socket.create_connection(at) as one_too_many:
        one_too_many.settimeout(20)
        answer = one_too_many.recv(1000)
    assert answer.startswith(b"HTTP/1.0 503 ") and answer.endswith(b"too many at once; try again\n")
    for one in silent:
        one.settimeout(20)
        assert one.recv(1000) == b"", "a client that says nothing is left"
        one.close()
    until_s = time.monotonic() + 60
    while said(server, "POST", b"again")[0] != 200:
        assert time.monotonic() < until_s
    assert [text for text, _ in kept] == ["again"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(data=some.binary(max_size=200))
def test_any_bytes_are_refused_or_marked_and_end_nothing(server: MarkerServer, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(20)
        client.sendall(b"POST / HTTP/1.0\r\n" + data)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1000):
            pass
    assert said(server, "GET", None)[0] == 405


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(EngineError, match="--markers-http"):
        MarkerServer("127.0.0.1", taken.getsockname()[1], lambda *_: True)


def test_a_course_keeps_what_is_posted_as_a_marker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Course(CourseSettings(markers_http=str(port))) as course:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/", b"step 1")
        assert connection.getresponse().status == 200
        (mark,) = course.marks
    assert (mark["kind"], mark["text"]) == ("marker", "step 1")
