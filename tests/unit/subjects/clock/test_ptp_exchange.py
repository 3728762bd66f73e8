"""The reading that an exchange with a PTP master makes, its timescale, and contracts; all by hand, the truth known."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ptp_ports import MASTER, NOW, OURS, announced

from keisoku.errors import PlanError
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.kinds import Chosen, parse
from keisoku.subjects.clock.reference.ptp.contract import DURATION_S, WANTED, Contracts, log_period, rest_s
from keisoku.subjects.clock.reference.ptp.exchange import (
    RUNS_FAST_MOST,
    TOO_LARGE,
    ahead_ns,
    arrival_ns,
    departure_ns,
    exchange,
    facts,
    fastest,
    grade,
    inaccuracy,
    lack,
    timescale,
    utc_ns,
)
from keisoku.subjects.clock.reference.ptp.message import (
    NO_FLAGS,
    SCALE,
    Announced,
    Arrival,
    Contract,
    Flag,
    Message,
    MessageType,
    Moment,
    Term,
)
from keisoku.subjects.clock.reference.ptp.target import PtpTarget, target

TICKS = 2.5
"""A ns of true time."""


def announce(flags: Flag = NO_FLAGS, clock_class: int = 6, utc_offset_s: int = 37) -> Message:
    return Message(MessageType.ANNOUNCE, MASTER, 1, announced(utc_offset_s, clock_class), flags=flags)


def sync(time_ns: int, correction: int = 0, flags: Flag = NO_FLAGS) -> Message:
    return Message(MessageType.SYNC, MASTER, 1, Moment(time_ns), correction=correction, flags=flags)


@given(
    there=st.integers(4, 50_000_000),
    held=st.integers(0, 50_000_000),
    back=st.integers(4, 50_000_000),
    in_switch=st.integers(0, 10**7),
    ahead=st.integers(-(10**15), 10**15),
    rate=st.floats(-2e-4, 2e-4),
    steered=st.floats(-5e-4, 5e-4),
    late=st.integers(0, 100_000),
)
def test_the_truth_is_in_the_bracket_whatever_the_ways_take(
    there: int, held: int, back: int, in_switch: int, ahead: int, rate: float, steered: float, late: int
) -> None:
    """The master's clock is `ahead` and runs off; a switch of its rate holds Sync; this host is steered."""

    def shown(true_ns: float) -> int:
        return NOW + ahead + round(true_ns * (1 + rate))

    arrived = there + in_switch
    received = arrived + held + back
    left = round(arrived * TICKS) + round(held * TICKS) - late
    first, last = (Reading(round(at * TICKS), round(at * (1 + steered)), round(at * TICKS)) for at in (0, 10**9))
    departed_ns = departure_ns(sync(shown(0), round(in_switch * (1 + rate) * SCALE)), None)
    received_ns = arrival_ns(Message(MessageType.DELAY_RESP, MASTER, 1, Arrival(shown(received), OURS)))
    assert departed_ns is not None and received_ns is not None
    found = exchange(departed_ns, round(arrived * TICKS) + late, left, received_ns, fastest(first, last))
    assert found is not None
    true = (found.reference_ns - NOW - ahead) / (1 + rate) * TICKS
    assert found.before - 2 * TICKS <= true <= found.after + 2 * TICKS
    # As wide as the round trip, whatever a switch held, and what the rate may make of the time between.
    span = received_ns - departed_ns
    ways = (there + back) * (1 + RUNS_FAST_MOST) + 2 * RUNS_FAST_MOST * span + 6
    assert found.width <= ways * TICKS + 2 * late


@pytest.mark.parametrize(
    ("departed", "arrived", "left", "received"), [(0, 1000, 1100, -1), (2000, 1000, 1100, 2001)], ids=["late", "early"]
)
def test_stamps_that_contradict_themselves_are_no_reading(
    departed: int, arrived: int, left: int, received: int
) -> None:
    assert exchange(NOW + departed, arrived, left, NOW + received, 1.0) is None


def test_corrections_of_both_messages_count_and_fractions_widen() -> None:
    follow_up = Message(MessageType.FOLLOW_UP, MASTER, 1, Moment(NOW), correction=SCALE // 4)
    assert departure_ns(sync(5, 2 * SCALE + SCALE // 2), follow_up) == NOW + 2
    assert departure_ns(sync(NOW, -SCALE // 2), None) == NOW - 1
    response = Message(MessageType.DELAY_RESP, MASTER, 1, Arrival(NOW, OURS), correction=3 * SCALE + SCALE // 2)
    assert arrival_ns(response) == NOW - 3
    unknown = Message(MessageType.DELAY_RESP, MASTER, 1, Arrival(NOW, OURS), correction=TOO_LARGE)
    assert arrival_ns(unknown) is None and departure_ns(sync(NOW, TOO_LARGE), follow_up) is None


def test_a_masters_time_is_utc_only_where_it_says_so() -> None:
    valid = Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID
    assert utc_ns(NOW, announce(valid)) == NOW - 37 * 10**9
    assert utc_ns(NOW, announce(Flag.PTP_TIMESCALE)) is None
    assert utc_ns(NOW, announce()) == NOW
    assert facts(announce(valid | Flag.LEAP_61))["leap_61"] is True
    assert facts(announce(valid))["utc_offset_s"] == 37 and facts(announce())["utc_offset_s"] is None
    assert "TAI" in timescale(announce(valid)) and "arbitrary" in timescale(announce())
    assert "locked to a primary source" in grade(announce()) and "(clock class 77)" in grade(announce(clock_class=77))


@pytest.mark.parametrize(
    ("clock_class", "nobodys"),
    [
        *((number, False) for number in (6, 7, 13, 14, 80, 140)),
        *((number, True) for number in (52, 58, 187, 193, 248, 250)),
    ],
)
def test_a_master_without_a_source_is_told_by_its_class(clock_class: int, nobodys: bool) -> None:
    """ptp4l says 248 unless it is told otherwise; its calibrations replaced the ± 100 ppm of an oscillator."""
    said = lack(announce(clock_class=clock_class))
    assert (said is not None) == nobodys
    assert said is None or f"(clock class {clock_class})" in said


@pytest.mark.parametrize(("accuracy", "said"), [(0x21, None), (0x30, None), (0x31, "10 s"), (0xFE, "does not know")])
def test_a_master_that_does_not_know_its_accuracy_is_told(accuracy: int, said: str | None) -> None:
    message = announce()
    assert isinstance(message.body, Announced)
    found = inaccuracy(dataclasses.replace(message, body=dataclasses.replace(message.body, accuracy=accuracy)))
    assert (found is None) if said is None else (found is not None and said in found)


def test_how_far_the_master_is_ahead_is_bounded_by_the_round_trip() -> None:
    reading = Reading(10_000, NOW + 37 * 10**9 + 500, 12_000)
    host = Reading(8_900, NOW, 9_100)
    found = ahead_ns(reading, host, 2.0, announce(Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID))
    # The host's clock was read 2000 ticks, 1000 ns, before the middle.
    assert found is not None and found[0] == 500 - 1000
    assert 550 <= found[1] <= 553
    assert ahead_ns(reading, host, 2.0, announce(Flag.PTP_TIMESCALE)) is None


def test_contracts_are_asked_for_renewed_in_time_cancelled_and_ended() -> None:
    contracts = Contracts(-3)
    asked = contracts.missing(0.0)
    assert [term.of for term in asked] == list(WANTED) and {term.duration_s for term in asked} == {DURATION_S}
    assert {term.log_period for term in asked if term.of != MessageType.ANNOUNCE} == {-3}
    granted = tuple(Term(Contract.GRANT, kind, 0, 100) for kind in WANTED)
    assert contracts.answer(granted, 0.0) == []
    assert contracts.missing(99.0) == [] == contracts.due(49.0)
    assert len(contracts.due(51.0)) == 3 == len(contracts.missing(100.5))
    assert contracts.answer((Term(Contract.CANCEL, MessageType.SYNC),), 10.0) == [
        Term(Contract.ACKNOWLEDGE, MessageType.SYNC)
    ]
    assert [term.of for term in contracts.missing(10.0)] == [MessageType.SYNC]
    contracts.answer((Term(Contract.GRANT, MessageType.SYNC, 0, 0), Term(Contract.GRANT, 3, 0, 9)), 10.0)
    assert contracts.refused == {MessageType.SYNC}
    assert {term.of for term in contracts.farewell()} == {MessageType.ANNOUNCE, MessageType.DELAY_RESP}
    assert contracts.farewell() == [] and len(contracts.missing(11.0)) == 3


@pytest.mark.parametrize(
    ("pause_s", "rests_s"), [(2.0, 1.0), (1.9, 1.5), (1.4, 1.4), (0.001, 0.001), (60.0, 56.0), (1 / 64, 1 / 128)]
)
def test_the_next_exchange_is_a_pause_later(pause_s: float, rests_s: float) -> None:
    assert rest_s(pause_s) == pytest.approx(rests_s)
    period_s = 2.0 ** log_period(pause_s)
    assert math.ceil(rest_s(pause_s) / period_s) * period_s >= pause_s


@pytest.mark.parametrize(("pause_s", "log"), [(2.0, 1), (1.9, 0), (0.005, -7), (1.0, 0), (3600.0, 4), (0.125, -3)])
def test_periods_are_powers_of_two_that_are_no_longer_than_asked(pause_s: float, log: int) -> None:
    assert log_period(pause_s) == log


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.1", PtpTarget("10.0.0.1")),
        ("clock.example.net,domain=44", PtpTarget("clock.example.net", 44)),
        ("10.0.0.1, multicast", PtpTarget("10.0.0.1", 0, True)),
        ("10.0.0.1,domain=239,multicast", PtpTarget("10.0.0.1", 239, True)),
    ],
)
def test_masters_are_named_by_host_and_domain(text: str, found: PtpTarget) -> None:
    assert target(text) == found and target(found.name.removeprefix("ptp:")) == found
    assert parse(f"ptp:{text}") == Chosen("ptp", text)


@pytest.mark.parametrize(
    "text", ["", ",domain=1", "h,domain=240", "h,domain=", "h,domain=-1", "h,port=3", "h,domain=²"]
)
def test_what_names_no_master_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match=r"^reference: "):
        parse(f"ptp:{text}")
