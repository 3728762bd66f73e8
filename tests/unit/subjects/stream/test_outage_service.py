"""Services that are asked without a far end: what is sent, what counts as an answer, and the interruptions of a run."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.place import Place
from keisoku.subjects.stream.outage.probing import ANSWERED, BROKEN, REFUSED, SILENT, WRONG, Probing, Question
from keisoku.subjects.stream.outage.service import outcome_of_questions
from keisoku.subjects.stream.outage.target import Target

MS = 1_000_000


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("icmp:192.0.2.7", Target("icmp", "192.0.2.7", 0)),
        ("icmp:2001:db8::7", Target("icmp", "2001:db8::7", 0)),
        ("stamp:host", Target("stamp", "host", 862)),
        ("dns:[2001:db8::7]:5353", Target("dns", "2001:db8::7", 5353)),
        ("tcp:host:22", Target("tcp", "host", 22)),
        ("http://host", Target("http", "host", 80, "/")),
        ("http://[2001:db8::7]:8080/a?b=c", Target("http", "2001:db8::7", 8080, "/a?b=c")),
    ],
)
def test_a_target_is_read(text: str, target: Target) -> None:
    assert Target.parse(text) == target


@pytest.mark.parametrize(
    "text", ["", "host", "tcp:host", "icmp:", "ftp:host", "tcp:host:0", "tcp:host:x", "http://", "http://h:99999/"]
)
def test_what_is_no_target_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(PlanError):
        Target.parse(text)


@given(number=some.integers(0, 10**9), later=some.integers(0, 1000), ipv6=some.booleans())
def test_an_answer_names_its_question(number: int, later: int, ipv6: bool) -> None:
    newest = number + later
    stamp, dns, icmp = (Target(kind, "h", 1) for kind in ("stamp", "dns", "icmp"))
    # RFC 8762 §4.3.1: the sender's number is behind the reflector's own number, its times and its error estimate.
    answer = bytes(24) + stamp.datagram(number, 7, ipv6)[:4] + bytes(16)
    assert stamp.answered(answer, newest, 7, ipv6) == number
    query = dns.datagram(number, 7, ipv6)
    assert dns.answered(query, newest, 7, ipv6) is None, "a question is no answer"
    assert dns.answered(query[:2] + b"\x80" + query[3:], newest, 7, ipv6) == number
    echo = icmp.datagram(number, 7, ipv6)
    header = b"" if ipv6 else bytes([0x45]) + bytes(19)
    assert icmp.answered(header + bytes([129 if ipv6 else 0]) + echo[1:], newest, 7, ipv6) == number
    assert icmp.answered(header + bytes([129 if ipv6 else 0]) + echo[1:], newest, 8, ipv6) is None


@given(data=some.binary(max_size=200), kind=some.sampled_from(["stamp", "dns", "icmp"]), ipv6=some.booleans())
def test_any_bytes_are_read_without_an_error(data: bytes, kind: Any, ipv6: bool) -> None:
    found = Target(kind, "h", 1).answered(data, 1000, 7, ipv6)
    assert found is None or 0 <= found <= 1000


def asked(target: Target, count: int, wait_s: float = 0.3) -> list[Question]:
    """So many questions, and what became of them."""
    found: list[Question] = []
    probing = Probing(target, 0.005, wait_s)
    try:
        probing.run(lambda: probing.questions >= count, found.extend)
    finally:
        probing.close()
    return found


@contextmanager
def service(*answers: bytes) -> Iterator[int]:
    """A port that answers one connection after the other with these bytes, again and again; empty: it only closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            number = 0
            while True:
                try:
                    made, _ = listener.accept()
                except OSError:
                    return
                with made:
                    made.recv(2048)
                    made.sendall(answers[number % len(answers)])
                number += 1

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def test_an_error_of_the_service_and_a_broken_connection_are_no_answers() -> None:
    good, bad = b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 503 Service Unavailable\r\n\r\n"
    with service(good, bad, b"") as port:
        found = asked(Target("http", "127.0.0.1", port), 9)
    outcomes = [one.outcome for one in found]
    assert {ANSWERED, WRONG, BROKEN} == set(outcomes)
    assert [one.number for one in found] == sorted(one.number for one in found)


def test_a_refused_connection_and_a_silent_port_are_told_apart() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        refused = asked(Target("tcp", "127.0.0.1", bound.getsockname()[1]), 3)
    assert {one.outcome for one in refused} == {REFUSED}
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        unheard = asked(Target("dns", "127.0.0.1", silent.getsockname()[1]), 3, wait_s=0.05)
    assert {one.outcome for one in unheard} == {SILENT}


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(EngineError, match=r"nowhere\.invalid"):
        Probing(Target("tcp", "nowhere.invalid", 1), 0.1, 0.1)


def rows(answered: list[bool], interval_ns: int = 50 * MS) -> dict[str, Any]:
    number = np.arange(len(answered))
    outcome = np.where(answered, ANSWERED, SILENT)
    return {
        "number": number,
        "asked_ns": number * interval_ns,
        "done_ns": number * interval_ns + MS,
        "outcome": outcome,
    }


def test_questions_without_an_answer_are_one_interruption_with_both_ends() -> None:
    found = outcome_of_questions(rows([True] * 10 + [False] * 4 + [True] * 10), {"begun_ns": 0}, 50 * MS)
    (flow,) = found.directions["round trip"]
    (one,) = flow.of_path
    assert (one.begin.lowest, one.begin.highest) == (450 * MS, 500 * MS)
    assert (one.end.lowest, one.end.highest) == (650 * MS, 700 * MS)
    assert (one.length.lowest, one.length.highest) == (150 * MS, 250 * MS)
    assert one.lost == 4 and flow.lost == 4


def test_a_service_that_is_not_back_never_came_back() -> None:
    found = outcome_of_questions(rows([True] * 10 + [False] * 4), {"begun_ns": 0}, 50 * MS)
    assert found.directions["round trip"][0].never


def test_a_service_that_answers_at_another_address_is_said_to_have_moved() -> None:
    answered, address = [True] * 10 + [False] * 4 + [True] * 10 + [False] + [True], [0] * 12 + [1] * 14
    found = outcome_of_questions({**rows(answered), "address": np.array(address)}, {"begun_ns": 0}, 50 * MS)
    assert [one.ended for one in found.directions["round trip"][0].of_path] == ["another address", "answered again"]


def test_the_next_connection_goes_to_the_next_address_of_a_name_and_stays_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a name server says is given here; the name is asked for again after a failure, and may have moved on."""
    known = [["127.0.0.2", "127.0.0.3"], ["127.0.0.1"]]
    monkeypatch.setattr(Place, "addresses", lambda _: known.pop(0) if len(known) > 1 else known[0])
    with service(b"x") as port:
        probing = Probing(Target("tcp", "moved.invalid", port), 0.005, 5)
        found: list[Question] = []
        probing.run(lambda: sum(one.outcome == ANSWERED for one in found) >= 3, found.extend)
        probing.close()
    outcomes = [(one.outcome, probing.addresses[one.address]) for one in found]
    assert outcomes[0] == (REFUSED, "127.0.0.2")
    assert {address for outcome, address in outcomes if outcome == ANSWERED} == {"127.0.0.1"}
    first = next(place for place, (outcome, _) in enumerate(outcomes) if outcome == ANSWERED)
    assert {outcome for outcome, _ in outcomes[first:]} == {ANSWERED}


def test_no_answer_while_this_host_was_stopped_is_not_the_services_fault() -> None:
    facts = {"begun_ns": 0, "stops": [[480 * MS, 690 * MS]]}
    found = outcome_of_questions(rows([True] * 10 + [False] * 4 + [True] * 10), facts, 50 * MS)
    (flow,) = found.directions["round trip"]
    assert flow.of_path == [] and flow.interruptions[0].cause == "near host"


def test_what_was_due_while_this_host_was_away_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with service(b"x") as port:
        probing = Probing(Target("tcp", "127.0.0.1", port), 0.005, 0.3)
        found: list[Question] = []
        since_s = time.monotonic()

        def keep(questions: list[Question]) -> None:
            if not found:
                while time.monotonic() < since_s + 0.2:
                    pass
            found.extend(questions)

        probing.run(lambda: probing.questions >= 60, keep)
        probing.close()
    skipped = {number for first, last in probing.skipped for number in range(first, last + 1)}
    assert len(skipped) >= 20
    assert skipped.isdisjoint(one.number for one in found)
