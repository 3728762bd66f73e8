"""Tests of capacity in virtual time, on paths whose truth is known: search, accounting, figures, flags."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.udpstp_search import HIGH_SPEED, PACKET_BYTES, RateSearch
from support.virtual_capacity import SendingServer, VirtualPath, carried_out

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import parsed
from keisoku.subjects.stream.capacity.analysis import analyse
from keisoku.subjects.stream.capacity.capacity_test import CapacityTest, ObservedStatus
from keisoku.subjects.stream.capacity.end import NS
from keisoku.subjects.stream.capacity.pdu import NO_DELAY, Activation, LoadHeader, Status
from keisoku.subjects.stream.capacity.receiving_end import ReceivingEnd
from keisoku.subjects.stream.capacity.rows import Reading, readings, table
from keisoku.subjects.stream.capacity.settings import CapacitySettings, Way
from keisoku.subjects.stream.capacity.sub_interval import sub_intervals

ASKED = Activation(duration_s=6, sub_interval_ms=500)
Told = Sequence[tuple[int, Status]]


def found(
    told: Sequence[tuple[int, Status]],
    way: Way = "down",
    end: Callable[[ObservedStatus], ObservedStatus] = lambda seen: seen,
) -> Result:
    """The result of what a client was told; its own end had nothing to do unless `end` says so."""
    setting = parsed(CapacitySettings, {"host": "far", "direction": way, "duration_s": 6, "sub_interval_s": 0.5})
    result, _ = analyse(setting, {way: read(told, way, end)}, {})
    return result


def read(
    told: Sequence[tuple[int, Status]], way: Way, end: Callable[[ObservedStatus], ObservedStatus] = lambda seen: seen
) -> list[Reading]:
    """As it comes back from the rows of a run."""
    seen = [end(ObservedStatus(at_ns, status, at_ns, 0, 0, 0, 0)) for at_ns, status in told]
    return readings(table(way, CapacityTest(ASKED, seen, ipv6=False, silent=False)))[way]


def only(result: Result) -> Row:
    (row,) = result.rows
    return row


@pytest.mark.parametrize(
    ("mbps", "queue_bytes", "up"), [(3.7, 50_000, True), (7.3, 20_000, False), (11.9, 3_000, True)]
)
def test_the_capacity_of_a_path_is_found(mbps: float, queue_bytes: int, up: bool) -> None:
    """Of queues of 108, 22 and 2 ms: one in which the search stays, one that overflows, one too short to be seen."""
    told = carried_out(VirtualPath(lambda at_s: 1e6 * mbps, queue_bytes), ASKED, up)
    result = found(told, "up" if up else "down")
    capacity = only(result).figures["capacity"]
    assert capacity.uncertainty is not None and capacity.uncertainty < 0.02 * capacity.value
    assert capacity.value == pytest.approx(1e6 * mbps, abs=capacity.uncertainty)
    assert only(result).figures["least_rtt"].value == pytest.approx(10, abs=3)
    assert result.flags == [] and "carries" in result.sentence


def test_a_burst_of_a_token_bucket_is_told_from_what_lasts() -> None:
    bucket = VirtualPath(lambda at_s: 6e6, 50_000, peak_bps=20e6)
    bucket.fill(2_000_000)
    result = found(carried_out(bucket, ASKED, up=False))
    assert result.flagged("token-bucket")
    row = only(result)
    assert row.figures["capacity"].value == pytest.approx(6e6, rel=0.02)
    assert row.figures["maximum"].value > 1.5 * 6e6


def test_a_path_that_was_never_full_carries_at_least_what_arrived() -> None:
    result = found(carried_out(VirtualPath(lambda at_s: 1e9), replace(ASKED, duration_s=1), up=True), "up")
    assert only(result).figures["capacity"].bound == "at least"
    assert "not full for long enough" in only(result).remark and not result.flags


def test_an_end_that_is_busy_itself_is_no_path_that_is_full() -> None:
    told = carried_out(VirtualPath(lambda at_s: 5e6), ASKED, up=False)
    result = found(told, end=lambda seen: replace(seen, waited_ns=seen.at_ns // 20))
    assert only(result).figures["capacity"].bound == "at least" and result.flagged("own-ceiling")
    result = found(told, end=lambda seen: replace(seen, dropped=seen.status.number))
    assert only(result).figures["capacity"].bound == "at least" and result.flagged("own-ceiling")
    told = carried_out(VirtualPath(lambda at_s: 1e9), replace(ASKED, duration_s=1), up=True)
    result = found(told, "up", lambda seen: replace(seen, missed_ns=seen.at_ns // 10, sent=seen.status.number))
    assert only(result).figures["capacity"].bound == "at least" and result.flagged("own-ceiling")


def test_statuses_that_were_lost_on_the_way_lose_no_sub_interval() -> None:
    told = carried_out(VirtualPath(lambda at_s: 5e6), ASKED, up=True)
    chance = random.Random(3)
    some = [one for one in told if chance.random() > 0.3]
    whole, part = (sub_intervals(read(one, "up")) for one in (told, some))
    assert [one.bps for one in part] == [one.bps for one in whole] and len(whole) == 12


def test_whoever_says_nothing_more_gets_a_datagram_now_and_then_and_soon_none() -> None:
    """So a forged source is no way to send somebody a load."""
    sender = SendingServer(ASKED, 0, 0)
    sent = []
    while not sender.over:
        sent += [len(data) for data in sender.leave(sender.due_ns)]
    assert sender.silent and 50 <= len(sent) <= 62 and sum(sent) < 62 * PACKET_BYTES


def test_the_search_is_algorithm_b() -> None:
    """The flow chart of Y.1540 Annex B: fast up, nothing between both delays, back by 30 rows at the third congestion,
    then single rows for good."""
    search = RateSearch(Activation(), rows=1091)
    calm, between, full = Status(rtt_over_ms=0), Status(rtt_over_ms=60), Status(rtt_over_ms=91)
    assert [search.told(calm) for _ in range(5)] == [10, 20, 30, 40, 50]
    assert search.told(between) == 50 and search.told(Status(rtt_over_ms=NO_DELAY)) == 50
    assert [search.told(one) for one in (full, calm, Status(lost=11))] == [49, 59, 58]
    assert [search.told(full) for _ in range(2)] == [57, 27]
    assert [search.told(calm) for _ in range(3)] == [28, 29, 30]
    assert [search.told(full) for _ in range(2)] == [29, 28]
    assert search.told(Status(rtt_over_ms=0, lost=10)) == 29
    high = RateSearch(Activation(), rows=1091, row=HIGH_SPEED - 3)
    assert [high.told(calm) for _ in range(3)] == [HIGH_SPEED, HIGH_SPEED + 1, HIGH_SPEED + 2]
    one_way = RateSearch(Activation(one_way=1, only_losses=0), rows=1091, row=200)
    assert one_way.told(Status(delays=2, delay_sum_ms=190)) == 199
    assert one_way.told(Status(delays=2, delay_sum_ms=0, lost=4, reordered=4, duplicated=4)) == 198


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 40_000_000)), min_size=1, max_size=300))
@settings(max_examples=50)
def test_every_datagram_is_accounted_for(arrivals: list[tuple[int, int]]) -> None:
    """Whatever comes in whatever order: what the status says adds up to the highest number."""
    end, buffer = ReceivingEnd(Activation(), 0, 0), bytearray(100)
    for number, late_ns in arrivals:
        LoadHeader(0, 0, number, 100, 0, 0, 0, *divmod(number * 1000, NS), 0).pack_into(buffer)
        end.arrived(number * 1000 + late_ns, bytes(buffer))
    (data,) = [bytes(one) for one in end.leave(50_000_000)]
    status = Status.parse(data)
    numbers = [number for number, _ in arrivals]
    assert status.datagrams == len(numbers) and status.payload_bytes == 100 * len(numbers)
    assert status.duplicated == len(numbers) - len(set(numbers))
    assert status.lost == max(numbers) - len(set(numbers))


@given(st.lists(st.binary(max_size=250), max_size=20), st.booleans())
@settings(max_examples=10)
def test_noise_changes_nothing(noise: list[bytes], up: bool) -> None:
    told = carried_out(VirtualPath(lambda at_s: 5e6), replace(ASKED, duration_s=0), up, noise=noise)
    assert told == carried_out(VirtualPath(lambda at_s: 5e6), replace(ASKED, duration_s=0), up)


def test_a_far_end_that_goes_away_is_said() -> None:
    """What it told until then counts."""
    told = carried_out(VirtualPath(lambda at_s: 5e6), ASKED, up=False)[:70]
    setting = parsed(CapacitySettings, {"host": "far", "direction": "down"})
    facts = {"down": {"duration_s": 6, "sub_interval_ms": 500, "broke_off": True}}
    result, _ = analyse(setting, {"down": read(told, "down")}, facts)
    assert result.flagged("broke-off") and len(result.deviations) == 2
    assert only(result).figures["capacity"].value == pytest.approx(5e6, rel=0.02)


def test_a_receiver_that_was_held_up_sent_two_statuses_at_once() -> None:
    """The second said that nothing had come, and the search went by it."""
    end, buffer = ReceivingEnd(Activation(), 0, 0), bytearray(100)
    LoadHeader(0, 0, 1, 100, 0, 0, 0, 0, 0, 0).pack_into(buffer)
    end.arrived(0, bytes(buffer))
    assert len(list(end.leave(170_000_000))) == 1
    assert end.due_ns == 220_000_000
