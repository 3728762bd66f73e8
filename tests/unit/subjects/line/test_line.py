"""The survey of a line: its figures and its words, from a line in virtual time whose truth is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.virtual_line import Line, measured_as, random_line
from support.virtual_nat import Nat, VirtualNat
from support.virtual_queue import Queue

from keisoku.ground.run.settings import parsed
from keisoku.ground.statistics.share import share
from keisoku.subjects.line.responsiveness.condition import WAYS
from keisoku.subjects.line.responsiveness.outcome import Datagrams
from keisoku.subjects.line.survey.analysis import CLOCKS, PACKETS, RATE, Clocks, analyse
from keisoku.subjects.line.survey.measurement import MEASUREMENT
from keisoku.subjects.line.survey.nat import ANSWERED, KEPT, NAT, UNANSWERED, nat_rows, nat_sentences
from keisoku.subjects.line.survey.nat import Nat as Found
from keisoku.subjects.line.survey.settings import LineSettings
from keisoku.subjects.path.nat.behaviour import behaviour


@given(st.integers(1, 10_000), st.data())
def test_a_share_is_within_its_interval_and_none_is_not_sure(whole: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, whole))
    found = share(count, whole)
    lower, upper = found.bounds or (0.0, 0.0)
    assert 0 <= lower <= found.value <= upper <= 100 and lower < upper
    # More packets of the same share are surer.
    more_lower, more_upper = share(10 * count, 10 * whole).bounds or (0.0, 0.0)
    assert more_upper - more_lower < upper - lower


def test_a_line_is_said_in_words() -> None:
    settings = parsed(LineSettings, {"host": "far", "rounds": 2, "ramp_s": 1.0, "duration_s": 1.0})
    line = Line({"up": Queue(2e6, 40_000), "down": Queue(4e6, 40_000)}, round_trip_s=0.02)
    drift = 15e-6
    outcomes = measured_as(line, settings.responsiveness(), settings.plan(), seed=5, drift=drift)
    for one in outcomes:
        for way in WAYS:
            if one.condition == f"{way}-half":
                one.datagrams[way] = Datagrams(1000, 10, 5, 0)
    result, _ = analyse(settings, outcomes, {1: "192.0.2.1", 2: "192.0.2.2"}, 1492, Clocks(True, False))
    rows = {(row.group, row.case): row for row in result.rows}
    for way, case, rate in (("up", "upload", 2e6), ("down", "download", 4e6)):
        assert rows[RATE, case].figures["capacity"].value == pytest.approx(rate, rel=0.02), way
        assert rows[PACKETS, case].figures["lost"].value == 1.0
        assert rows[PACKETS, case].figures["reordered"].value == pytest.approx(500 / 990)
    fast = rows[CLOCKS, "far clock"].figures["runs_fast"]
    lower, upper = fast.bounds or (0.0, 0.0)
    assert lower <= 1e6 * drift <= upper and upper - lower < 20
    assert "not synchronised" in rows[CLOCKS, "far clock"].remark
    for said in ("The upload carries", "drop-tail", "at hop 2 (192.0.2.2)", "up to 1492 byte", "1.0", "grade"):
        assert said in result.sentence, result.sentence
    assert not result.flags


def test_a_line_is_not_blamed_for_what_the_far_host_lost() -> None:
    """Its headline said '1 % of the packets were lost', of which the far host had lost up to eight of ten."""
    settings = parsed(LineSettings, {"host": "far", "rounds": 1, "ramp_s": 1.0, "duration_s": 1.0})
    line = Line({"up": Queue(2e6, 40_000), "down": Queue(4e6, 40_000)}, round_trip_s=0.02)
    outcomes = measured_as(line, settings.responsiveness(), settings.plan(), seed=5)
    for one in outcomes:
        for way in WAYS:
            if one.condition == f"{way}-half":
                one.datagrams[way] = Datagrams(1000, 10, 5, 8 if way == "up" else 0)
    result, _ = analyse(settings, outcomes, {}, 1492, Clocks(True, False))
    lost = {row.case: row.figures["lost"] for row in result.rows if row.group == PACKETS}
    assert lost["upload"].bound == "at most" and lost["upload"].value == 1.0 and not lost["download"].bound
    host = (
        "the line lost at most 1 % of the packets (upload; up to 8 of the lost ones were lost by the far host itself)"
    )
    assert host in result.sentence and "(download)" in result.sentence, result.sentence


@pytest.mark.parametrize(
    "nat, said",
    [
        (
            Nat(mapping="address-and-port", preserves=False, unanswered_s=30, answered_s=120),
            [
                "UDP: a NAT translates addresses.",
                "Its mapping of UDP is address- and port-dependent, its filtering address- and port-dependent.",
                "An idle binding of UDP with answers is kept at least 4",
                "An idle binding of UDP without an answer is kept between 29.",
            ],
        ),
        (
            Nat(filtering="independent", two_addresses=False, unanswered_s=150, answered_s=8),
            [
                "Its mapping of UDP is endpoint-independent or address-dependent",
                "with answers is kept between 7",
                "without an answer is kept at least 47",
            ],
        ),
        (
            Nat(translates=False),
            ["UDP: no NAT, but a firewall lets in answers only.", "without an answer is kept between 2"],
        ),
        (Nat(translates=False, filtering=None), ["UDP: neither a NAT nor a firewall that keeps state."]),
        (Nat(loss=2.0), ["UDP: no answer to any datagram, so whether there is a NAT is not known."]),
    ],
)
def test_a_nat_is_said_in_words_and_its_timeouts_are_judged(nat: Nat, said: list[str]) -> None:
    found = Found(behaviour(VirtualNat(nat, 11).run(48)))
    rows = {(row.group, row.case): row for row in nat_rows(found)}
    words = " ".join(nat_sentences(found))
    for text in said:
        assert text in words, words
    assert rows[NAT, "kind"].remark in words
    for case, truth_s in ((ANSWERED, nat.answered_s), (UNANSWERED, nat.unanswered_s)):
        row = rows.get((KEPT, case))
        assert (row is None) == ("neither" in words or "no answer to any" in words)
        if row is not None:
            lower, upper = row.figures["timeout"].bounds or (0.0, 0.0)
            assert lower <= 1e9 * truth_s <= upper
            assert ("shorter than" in row.remark) == (upper < 120e9), row.remark
            assert ("not waited for" in row.remark) == (upper > 120e9), row.remark


def test_addresses_that_differ_from_that_of_tcp_are_said() -> None:
    known = behaviour(VirtualNat(Nat(), 11).run(3))
    addresses = {row.case: row.remark for row in nat_rows(Found(known, from_elsewhere=3))}["outer address"]
    assert addresses.startswith("203.0.113.5; UDP also leaves from other addresses")
    assert "another outer address than TCP" in " ".join(nat_sentences(Found(behaviour([]), from_elsewhere=3)))


@pytest.mark.parametrize("seed", range(3001, 3009))
def test_the_capacity_of_a_random_line_is_inside_its_interval(seed: int) -> None:
    chance = random.Random(seed)
    line = random_line(chance, chance.choice(["drop-tail", "codel", "fq"]), chance.random() < 0.5)
    settings = parsed(LineSettings, {"host": "far", "rounds": 1, "ramp_s": 0.6, "duration_s": 0.6})
    outcomes = measured_as(line, settings.responsiveness(), settings.plan(), seed)
    result, _ = analyse(settings, outcomes, {}, 0, None)
    for way, case in zip(WAYS, ("upload", "download"), strict=True):
        (row,) = [one for one in result.rows if (one.group, one.case) == (RATE, case)]
        lower, upper = row.figures["capacity"].bounds or (0.0, 0.0)
        assert lower <= line.queues[way].rate_bps <= upper, (line, row)
        assert upper - lower < 0.1 * line.queues[way].rate_bps


def test_a_capacity_that_was_not_offered_more_is_a_bound() -> None:
    settings = parsed(LineSettings, {"host": "far", "rounds": 1})
    line = Line({"up": Queue(2e6, 40_000), "down": Queue(4e6, 40_000)}, round_trip_s=0.02)
    outcomes = measured_as(line, settings.responsiveness(), settings.plan(), seed=5)
    for one in outcomes:
        if one.condition == "up-overload":
            one.offered_bps = 1.05 * one.rates_bps["up"]
    rows = {row.case: row for row in analyse(settings, outcomes, {}, 0, None)[0].rows if row.group == RATE}
    assert rows["upload"].figures["capacity"].bound == "at least"
    assert rows["download"].figures["capacity"].bound == ""


def test_a_survey_takes_one_minute_by_its_own_settings() -> None:
    settings = parsed(LineSettings, {"host": "far"})
    assert MEASUREMENT.seconds is not None and settings.within_s is not None
    seconds = MEASUREMENT.seconds(settings)
    assert seconds is not None and 40 < seconds <= settings.within_s <= 60
