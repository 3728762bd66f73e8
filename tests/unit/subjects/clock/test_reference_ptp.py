"""Exchanges with a PTP master on the loopback whose clock is known, and with masters that do something wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from support.ptp_ports import MASTER
from support.ptp_responder import PtpResponder

from keisoku.errors import EngineError
from keisoku.subjects.clock.frequency import hard_bounds
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.reference.ptp import reference as reference_ptp
from keisoku.subjects.clock.reference.ptp.exchange import TOO_LARGE
from keisoku.subjects.clock.reference.ptp.message import (
    NO_FLAGS,
    Arrival,
    Contract,
    Flag,
    Message,
    MessageType,
    Moment,
    PortIdentity,
)
from keisoku.subjects.clock.reference.ptp.port import Ports
from keisoku.subjects.clock.reference.ptp.reference import PtpClient
from keisoku.subjects.clock.reference.ptp.target import target

AHEAD = 10**12
_PAUSE_S = 0.01
_ANY = Ports(0, 0)


@contextmanager
def _client(server: PtpResponder, options: str = "", pause_s: float = _PAUSE_S) -> Iterator[PtpClient]:
    client = PtpClient(target(f"127.0.0.1{options}"), pause_s, server.ports, _ANY)
    server.slave_event = client.port.own.event
    try:
        yield client
    finally:
        client.close()


def _edited(kind: MessageType, change: Callable[[Message], Message | None]) -> Callable[[Message], list[Message]]:
    """What a master sends whose messages of one kind are changed, or lost where that is None."""

    def edit(message: Message) -> list[Message]:
        changed = change(message) if message.kind is kind else message
        return [] if changed is None else [changed]

    return edit


@pytest.mark.parametrize("one_step", [False, True])
@pytest.mark.parametrize(
    ("flags", "utc_s"), [(NO_FLAGS, 0), (Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID, 37), (Flag.PTP_TIMESCALE, None)]
)
def test_exchanges_are_stamped_by_the_kernel_and_hold_the_time(one_step: bool, flags: Flag, utc_s: int | None) -> None:
    with PtpResponder(ahead_ns=AHEAD, flags=flags, one_step=one_step) as server, _client(server) as client:
        for _ in range(5):
            first = bracket()
            found = client.reading()
            last = bracket()
            assert first.before < found.after and found.before < last.after
            if utc_s is None:
                assert client.ahead is None
            else:
                assert client.ahead is not None
                ahead_ns, bound_ns = client.ahead
                assert abs(ahead_ns - (AHEAD - utc_s * 10**9)) <= bound_ns
    assert client.stamped_by_kernel
    assert client.port.master == MASTER


def test_the_masters_rate_is_within_the_hard_bounds() -> None:
    with PtpResponder(rate=-900e-6) as server, _client(server) as client:
        own, readings = [bracket()], [client.reading() for _ in range(30)]
        own.append(bracket())
    bounds, truth = hard_bounds(readings), hard_bounds(own)
    assert bounds is not None and truth is not None
    assert bounds[0] <= truth[1] / (1 - 900e-6) and truth[0] / (1 - 900e-6) <= bounds[1]


def test_contracts_are_for_three_messages_and_ended_at_the_end() -> None:
    with PtpResponder() as server:
        with _client(server, pause_s=0.02) as client:
            client.reading()
            identity = client.port.identity
        ended = server.wait_for(Contract.CANCEL)
    asked = {term.of: term.log_period for term in server.requests}
    assert asked == {MessageType.ANNOUNCE: 0, MessageType.SYNC: -6, MessageType.DELAY_RESP: -6}
    assert {message.source for message in server.seen} == {identity}
    assert {term.of for term in ended} == {MessageType.ANNOUNCE, MessageType.SYNC, MessageType.DELAY_RESP}


def test_a_master_that_cancels_or_begins_anew_is_asked_again_and_told() -> None:
    with PtpResponder() as server, _client(server) as client:
        client.reading()
        server.cancel(MessageType.SYNC)
        client.reading()
        assert [term.of for term in server.wait_for(Contract.ACKNOWLEDGE)] == [MessageType.SYNC]
        server.forget()
        client.reading()
        client.reading()
        assert len(server.requests) >= 5


def test_contracts_are_renewed_while_they_hold() -> None:
    grants = PtpResponder(grants=lambda it: dataclasses.replace(it, duration_s=1))
    with grants as server, _client(server) as client:
        while len(server.requests) < 6:
            client.reading()


@pytest.mark.usefixtures("hasty")
def test_lost_doubled_and_disordered_messages_cost_readings_and_never_the_truth() -> None:
    held: list[Message] = []
    answers = count(1)

    def edit(message: Message) -> list[Message]:
        if message.kind is MessageType.SYNC:  # its Follow_Up comes first
            held.append(message)
            return []
        if message.kind is MessageType.FOLLOW_UP:
            return [message, held.pop(), message]
        if message.kind is MessageType.DELAY_RESP:
            return [message, message] if next(answers) % 3 else []
        return [message]

    with PtpResponder(ahead_ns=AHEAD, edit=edit) as server, _client(server) as client:
        readings = 0
        for _ in range(10):
            try:
                client.reading()
            except EngineError:
                continue
            readings += 1
            assert client.ahead is not None and abs(client.ahead[0] - AHEAD) <= client.ahead[1]
        assert readings > 0


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_ptp, "PATIENCE_S", 0.1)
    monkeypatch.setattr(reference_ptp, "LOST_MOST", 3)


def _late(message: Message, by_ns: int) -> Message:
    body = message.body
    assert isinstance(body, Moment | Arrival)
    return dataclasses.replace(message, body=dataclasses.replace(body, time_ns=body.time_ns + by_ns))


def _replaced(**changes: Any) -> Callable[[Message], Message]:
    return lambda message: dataclasses.replace(message, **changes)


STRANGER = PortIdentity(b"stranger", 7)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        (MessageType.FOLLOW_UP, lambda _: None, "no Follow_Up came to its Sync"),
        (MessageType.FOLLOW_UP, _replaced(sequence=40_000), "no Follow_Up came to its Sync"),
        (MessageType.FOLLOW_UP, _replaced(source=STRANGER), rf"no Follow_Up .* of {STRANGER}, not of {MASTER}"),
        (MessageType.DELAY_RESP, lambda _: None, "no Delay_Resp came to its Delay_Req"),
        (MessageType.DELAY_RESP, _replaced(domain=5), "no Delay_Resp .* of domain 5"),
        (MessageType.DELAY_RESP, lambda it: dataclasses.replace(it, sequence=it.sequence ^ 1), "no Delay_Resp"),
        (MessageType.DELAY_RESP, _replaced(body=Arrival(1, STRANGER)), "no Delay_Resp"),
        (MessageType.DELAY_RESP, lambda it: _late(it, -(10**9)), "arrived before it left"),
        (MessageType.FOLLOW_UP, lambda it: _late(it, 10**9), "arrived before it left"),
        (MessageType.DELAY_RESP, _replaced(correction=TOO_LARGE), "correction was too large"),
        (MessageType.SYNC, lambda _: None, "no Sync came"),
        (MessageType.SYNC, _replaced(flags=Flag.ALTERNATE_MASTER), "no Sync came"),
        (MessageType.ANNOUNCE, lambda _: None, "no Announce came"),
    ],
)
def test_what_a_master_does_wrong_is_told_and_never_made_a_reading(
    kind: MessageType, change: Callable[[Message], Message | None], says: str
) -> None:
    responder = PtpResponder(edit=_edited(kind, change))
    with responder as server, _client(server) as client, pytest.raises(EngineError, match=says):
        client.reading()


@pytest.mark.usefixtures("hasty")
def test_masters_that_grant_nothing_or_are_of_another_domain_are_told_in_a_sentence() -> None:
    silent = r"no answer to 3 requests for unicast in domain 0 within 0\.1 s.*multicast"
    passed_over = r"messages passed over: .* of domain 44"
    for server, says in ((PtpResponder(grants=lambda _: None), silent), (PtpResponder(domain=44), passed_over)):
        with server, _client(server) as client, pytest.raises(EngineError, match=says):
            client.reading()
    deny = [MessageType.SYNC, MessageType.DELAY_RESP]
    refuse = PtpResponder(grants=lambda it: dataclasses.replace(it, duration_s=0) if it.of in deny else it)
    with refuse as server, _client(server) as client, pytest.raises(EngineError, match=r"refuses to send .*Sync"):
        client.reading()
    with pytest.raises(EngineError, match="cannot be reached: it, or a router, refuses"), _client(refuse) as client:
        client.reading()


def test_a_master_of_another_domain_is_taken_where_it_is_asked_for() -> None:
    with PtpResponder(domain=44) as server, _client(server, ",domain=44") as client:
        assert isinstance(client.reading(), Reading)
        assert {message.domain for message in server.seen} == {44}


def test_a_clock_that_is_slave_only_and_a_timescale_that_changes_are_refused() -> None:
    slave = PtpResponder(clock_class=255)
    with slave as server, _client(server) as client, pytest.raises(EngineError, match="slave only"):
        client.reading()
    with PtpResponder(flags=Flag.PTP_TIMESCALE) as server, _client(server) as client:
        client.reading()
        server.flags = NO_FLAGS
        with pytest.raises(EngineError, match=r"from TAI .* to an arbitrary timescale"):
            for _ in range(10_000):
                client.reading()


def test_a_master_that_is_255_clocks_away_from_its_source_is_refused() -> None:
    with PtpResponder() as server, _client(server) as client:
        server.announced = dataclasses.replace(server.announced, steps_removed=254)
        client.reading()
        server.announced = dataclasses.replace(server.announced, steps_removed=255)
        with pytest.raises(EngineError, match="255 clocks away from its source"):
            for _ in range(10_000):
                client.reading()


def test_a_master_that_loses_its_source_ends_the_measurement() -> None:
    with PtpResponder(clock_class=6) as server, _client(server) as client:
        client.reading()
        server.announced = dataclasses.replace(server.announced, clock_class=7)  # holdover within its specification
        client.reading()
        server.announced = dataclasses.replace(server.announced, clock_class=248)
        with pytest.raises(EngineError, match=r"lost its source of time: .*clock class 248"):
            for _ in range(10_000):
                client.reading()


def test_leap_seconds_and_a_new_utc_offset_change_nothing_of_a_time_in_tai() -> None:
    responder = PtpResponder(ahead_ns=AHEAD, flags=Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID)
    with responder as server, _client(server) as client:
        first = client.reading()
        server.announced = dataclasses.replace(server.announced, utc_offset_s=38)
        server.flags |= Flag.LEAP_61
        while client.announce is None or Flag.LEAP_61 not in client.announce.flags:
            client.reading()
        last = client.reading()
        assert client.ahead is not None and abs(client.ahead[0] - AHEAD + 38 * 10**9) <= client.ahead[1]
    assert 0 < last.reference_ns - first.reference_ns < 60 * 10**9


def test_ports_that_are_taken_and_hosts_that_are_not_there_are_told_in_a_sentence() -> None:
    taken = r"UDP port \d+ cannot be had.*phc:N"
    with PtpResponder() as server, _client(server) as client, pytest.raises(EngineError, match=taken):
        PtpClient(target("127.0.0.1"), 1.0, server.ports, client.port.own)
    with pytest.raises(EngineError, match=r"ptp:no\.such\.host\.invalid: no such host"):
        PtpClient(target("no.such.host.invalid"), 1.0, own=_ANY)
    with pytest.raises(EngineError, match="no name of a host"):
        PtpClient(target("a" * 64), 1.0, own=_ANY)
