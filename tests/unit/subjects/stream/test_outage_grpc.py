"""Calls of gRPC against real servers, and every byte that others may send in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as some

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.stream.outage.grpc import HEALTH, NOT_SERVING, GrpcAnswer, GrpcFormatError, _both_ways
from keisoku.subjects.stream.outage.probing import ANSWERED, WRONG, Probing, Question
from keisoku.subjects.stream.outage.target import Target

Answer = Callable[[bytes, grpc.ServicerContext], bytes]


@contextmanager
def service(method: str, answer: Answer) -> Iterator[int]:
    """A real server with one unary method, which is given the message as bytes."""
    name, _, own = method.removeprefix("/").partition("/")
    handler = grpc.method_handlers_generic_handler(name, {own: grpc.unary_unary_rpc_method_handler(answer)})
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


def asked(target: Target, count: int = 5) -> list[int]:
    """What became of so many questions."""
    found: list[Question] = []
    probing = Probing(target, 0.02, 5)
    try:
        probing.run(lambda: probing.questions >= count, found.extend)
    finally:
        probing.close()
    return [one.outcome for one in found]


def test_a_health_check_is_answered_by_a_service_that_serves_and_not_by_one_that_does_not() -> None:
    said = [b"\x08\x01", b"\x08\x02", b"", b"\x08\x01"]
    asking: list[bytes] = []

    def answer(message: bytes, _: grpc.ServicerContext) -> bytes:
        asking.append(message)
        return said[min(len(asking), len(said)) - 1]

    with service(HEALTH, answer) as port:
        outcomes = asked(Target.parse(f"grpc://127.0.0.1:{port}"), 6)
    assert outcomes[:4] == [ANSWERED, WRONG, WRONG, ANSWERED]
    assert set(asking) == {b""}, "every field of the message has its default"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (grpc.StatusCode.UNAVAILABLE, WRONG),
        (grpc.StatusCode.INTERNAL, WRONG),
        (grpc.StatusCode.NOT_FOUND, ANSWERED),
        (grpc.StatusCode.UNAUTHENTICATED, ANSWERED),
    ],
)
def test_a_status_is_an_answer_where_the_service_itself_did_what_it_should(code: grpc.StatusCode, outcome: int) -> None:
    def answer(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(code, "because")
        return b""  # abort has raised before

    with service("/shop.Orders/List", answer) as port:
        assert set(asked(Target.parse(f"grpc://127.0.0.1:{port}/shop.Orders/List"))) == {outcome}


def test_a_long_answer_is_read_to_its_end() -> None:
    with service("/shop.Orders/List", lambda _, __: bytes(3_000_000)) as port:
        assert set(asked(Target.parse(f"grpc://127.0.0.1:{port}/shop.Orders/List"), 2)) == {ANSWERED}


def test_a_service_without_the_method_is_named_with_what_to_do() -> None:
    with service("/shop.Orders/List", lambda _, __: b"") as port:
        with pytest.raises(EngineError, match="has no standard health check; name a method"):
            asked(Target.parse(f"grpc://127.0.0.1:{port}"))
        with pytest.raises(EngineError, match=r"has no method /shop\.Orders/Get; name a method"):
            asked(Target.parse(f"grpc://127.0.0.1:{port}/shop.Orders/Get"))


@pytest.mark.parametrize("text", ["grpc://host", "grpc://host:1/method", "grpc://host:1/a/b/c", "grpc://:1"])
def test_what_names_no_method_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        Target.parse(text)


def test_the_spelling_of_rfc_7541_is_known() -> None:
    # Its examples C.4.2 and C.6.1 have these bytes: 'c', '-' of 'no-cache', and '302'.
    assert _both_ways("302") == (b"\x00302", b"\x80\x64\x02")
    assert _both_ways("307") == (b"\x00307", bytes.fromhex("80640eff"))


def headers(block: bytes, flags: int = 5) -> bytes:
    return len(block).to_bytes(3, "big") + bytes((1, flags)) + (1).to_bytes(4, "big") + block


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("status", [0, 5, 14])
def test_a_status_is_found_however_it_is_spelled(coded: bool, status: int) -> None:
    name, value = (_both_ways(text)[coded] for text in ("grpc-status", str(status)))
    spelled = [bytes((one[0] | len(one) - 1,)) + one[1:] for one in (name, value)]
    # A size of the table, ':status' of the static table, and a field with a name of it before ours.
    block = b"\x20\x88\x0f\x10\x03abc" + b"\x40" + b"".join(spelled)
    whole = headers(block)
    assert GrpcAnswer("/a/b").receive(whole) == status
    answer = GrpcAnswer("/a/b")
    assert [answer.receive(bytes((byte,))) for byte in whole] == [None] * (len(whole) - 1) + [status]
    # In two parts, of which the first is padded.
    answer = GrpcAnswer("/a/b")
    padded = b"\x02" + block[:4] + b"\0\0"
    rest = block[4:]
    continued = len(rest).to_bytes(3, "big") + b"\x09\x04" + (1).to_bytes(4, "big") + rest
    assert answer.receive(headers(padded, flags=9)) is None and answer.receive(continued) == status
    assert GrpcAnswer(HEALTH).receive(whole) == (NOT_SERVING if status == 0 else status)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        headers(b"\x88"),
        headers(b"\x40\x0bgrpc-status\x01x"),
        headers(b"\x40\x0bgrpc-sta"),
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",
        b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + bytes(8),
        b"\x00\x00\x00\x00\x01\x00\x00\x00\x01",
    ],
    ids=["HTTP/1.1", "no status", "no number", "cut", "reset", "go away", "ended"],
)
def test_what_ends_a_call_without_a_status_is_said(data: bytes) -> None:
    with pytest.raises(GrpcFormatError):
        GrpcAnswer("/a/b").receive(data)


@given(parts=some.lists(some.binary(max_size=60), max_size=5), block=some.binary(max_size=60))
def test_any_bytes_are_an_answer_or_none(parts: list[bytes], block: bytes) -> None:
    for stream in (parts, [headers(block)], [headers(block, flags=4), *parts]):
        answer = GrpcAnswer("/a/b")
        try:
            for part in stream:
                found = answer.receive(part)
                assert found is None or 0 <= found <= 16
        except GrpcFormatError:
            pass
