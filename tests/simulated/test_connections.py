"""Procedures of stateful devices (RFC 9693) on simulated ones, whose tables are hidden from them."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, IPv6
from scapy.layers.l2 import Ether
from support.hidden_tables import hidden
from support.simulated_trials import Spoil, carry_out, device, plan, untouched

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.port_pairs import port_pairs
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.engine.connecting import RETURNED, Connecting
from keisoku.subjects.device.engine.told_errors import pair_told
from keisoku.subjects.device.method.rfc2889 import UNDECIDED
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.opening import Opening
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LINK = "ports = 2\nlink_bits_per_second = 10_000_000_000\n"
WAITS = {"learning_wait_s": 0, "drain_s": 0.01, "rest_s": 0}


def measured(
    method: str, table: str, spoil: Spoil = untouched, size: int = 64, **settings: Any
) -> tuple[Result, list[TrialRecord]]:
    own = plan(method, frame_bytes=[size], phases=WAITS, **{method: settings})
    return carry_out(own, device(f"{LINK}[connections]\n{table}"), spoil)


def summary(result: Result) -> Row:
    return result.rows[0]


@pytest.mark.parametrize("seed", range(900, 908))
def test_the_capacity_of_a_hidden_table_is_found_within_a_thousandth(seed: int) -> None:
    table, truth = hidden(seed)
    result, _ = measured("connection_capacity", table, connections=512, most_connections=8_000)
    figure = summary(result).figures["connections"]
    bounds = figure.bounds
    assert bounds is not None
    assert bounds[0] <= truth <= bounds[1]
    assert truth - figure.value <= max(1, truth / 1000)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("connection_capacity", {}),
        ("connection_rate", {}),
        ("connection_throughput", {"maximum_fps": 1000, "trial_s": 1}),
    ],
)
def test_a_device_is_not_said_to_fail_where_the_tester_was_disturbed_in_each_trial(
    method: str, settings: dict[str, Any]
) -> None:
    """It was said that not even the first number of connections was valid, or that frames were lost at every rate."""

    def interrupted(index: int, trial: Trial, facts: Facts) -> Facts:
        return facts.model_copy(update={"interrupted": True})

    result, records = measured(method, "entries = 4000\n", interrupted, connections=100, **settings)
    assert not any(record.valid for record in records)
    assert summary(result).figures == {} and summary(result).remark == UNDECIDED


def test_failed_connections_are_named_with_their_ports_their_time_and_what_became_of_them() -> None:
    result, records = measured(
        "connection_capacity", "entries = 100\n", connections=150, most_connections=150, order="linear", open_fps=1000
    )
    assert summary(result).figures["connections"].value == 100
    named = [row for row in result.rows if str(row.case).startswith("failed")]
    assert str(named[0].remark) == "UDP port 1124 to 1: dropped"
    assert named[0].figures["opened"].value == 0.1
    opened = records[0].facts.opened
    assert opened is not None and opened.refused.ranges == [(100, 149)] and opened.forgotten.count == 0


def test_connections_whose_place_was_taken_reached_the_responder_but_are_not_answered() -> None:
    _, records = measured(
        "connection_capacity", "entries = 100\nwhen_full = 'evict'\n", connections=150, most_connections=150
    )
    opened = records[0].facts.opened
    assert opened is not None and opened.refused.count == 0
    assert opened.forgotten.ranges == [(0, 49)]


def test_a_pool_of_ports_is_described() -> None:
    result, records = measured(
        "connection_capacity", "entries = 5000\nports = 300\n", connections=400, most_connections=400
    )
    pool = next(record.facts.opened for record in records if record.facts.opened).pool
    assert pool is not None
    assert (pool.source_ports, pool.least_port, pool.most_port, pool.shared) == (300, 1024, 1323, 0)
    assert summary(result).figures["connections"].value == 300


def test_a_table_that_forgets_during_the_opening_has_no_room_for_all() -> None:
    # 1 s to open 1000 connections, of which those of the last half second are known.
    result, _ = measured(
        "connection_capacity",
        "entries = 5000\ntimeout_s = 0.5\n",
        connections=1000,
        most_connections=1000,
        open_fps=1000,
    )
    bounds = summary(result).figures["connections"].bounds
    assert bounds is not None and bounds[1] < 400


@pytest.mark.parametrize("seed", range(40, 43))
def test_the_rate_of_new_connections_is_found(seed: int) -> None:
    truth = random.Random(seed).uniform(2_000, 2_000_000)
    table = f"entries = 100_000\nnew_per_second = {truth}\nwaiting = 0\n"
    result, _ = measured("connection_rate", table, connections=3000)
    figure = summary(result).figures["rate"]
    assert figure.bounds is not None
    # A connection that comes while one is made is dropped; times of frames are whole ns.
    assert figure.bounds[0] <= truth * 1.003 and figure.bounds[1] >= truth * 0.997
    assert figure.value == pytest.approx(truth, rel=0.013)


def test_the_rate_of_the_tester_is_only_a_bound() -> None:
    result, _ = measured("connection_rate", "entries = 100_000\n", connections=1000, maximum_fps=50_000)
    assert summary(result).figures["rate"].bound == "at least"


def test_a_rate_that_the_tester_did_not_reach_is_not_a_bound() -> None:
    """2000 connections are sent within the 10 ms by which the last frame may be late, so any rate seemed to pass."""
    most_fps = 250_000

    def slow(index: int, trial: Trial, facts: Facts) -> Facts:
        opening = facts.opening
        assert opening is not None
        least_ns = opening.sent.first_sent_ns + (opening.sent.offered_frames - 1) * 1_000_000_000 // most_fps
        told = opening.model_dump()
        for one in told["transmitters"]:
            one["sent"]["last_sent_ns"] = max(one["sent"]["last_sent_ns"], least_ns)
        return facts.model_copy(update={"opening": Facts.model_validate(told)})

    result, _ = measured("connection_rate", "entries = 100_000\n", slow, connections=2000)
    figure = summary(result).figures["rate"]
    assert figure.bound == "at least"
    assert 0.97 * most_fps <= figure.value <= 1.02 * most_fps


def test_the_rate_of_forgetting_is_found() -> None:
    table = "entries = 100_000\nforgotten_per_second = 123_456.0\n"
    result, _ = measured("connection_teardown", table, connections=2000, repetitions=3)
    assert summary(result).figures["rate"].value == pytest.approx(123_456, rel=1e-3)


@pytest.mark.parametrize("direction", ["both", "out", "in"])
def test_throughput_with_connections(direction: str) -> None:
    own = plan(
        "connection_throughput",
        frame_bytes=[64],
        phases=WAITS,
        connection_throughput={"connections": 500, "trial_s": 0.05, "direction": direction, "maximum_fps": 4e5},
    )
    slow = f"{LINK}[output]\nservice_bits_per_second = 1e8\nbuffer_bytes = 2000\n[connections]\nentries = 1000\n"
    result, _ = carry_out(own, device(slow))
    figure = summary(result).figures["throughput"]
    assert figure.value == pytest.approx(1e8 / 8 / 84, rel=0.02)


def test_throughput_with_connections_and_native_frames_beside_them() -> None:
    own = plan(
        "connection_throughput",
        frame_bytes=[84],
        phases=WAITS,
        connection_throughput={"connections": 500, "trial_s": 0.05, "maximum_fps": 4e5, "native_percent": 25.0},
    )
    slow = f"{LINK}[output]\nservice_bits_per_second = 1e8\nbuffer_bytes = 2000\n[connections]\nentries = 1000\n"
    result, records = carry_out(own, device(slow))
    assert summary(result).figures["throughput"].value == pytest.approx(1e8 / 8 / 104, rel=0.02)
    offered = [stream.offered_frames for stream in records[-1].facts.streams]
    assert offered[2] == pytest.approx(offered[0] / 3, rel=0.01) and offered[3] == pytest.approx(
        offered[1] / 3, rel=0.01
    )


def test_a_load_of_more_connections_than_fit_says_so() -> None:
    own = plan(
        "connection_throughput",
        frame_bytes=[64],
        phases=WAITS,
        connection_throughput={"connections": 500, "trial_s": 0.01, "maximum_fps": 1e5, "resolution_percent": 50},
    )
    result, _ = carry_out(own, device(f"{LINK}[connections]\nentries = 400\n"))
    assert "connections were refused" in str(summary(result).remark)


def test_connections_of_tcp_are_opened_and_answered() -> None:
    table = "entries = 300\nwhen_full = 'refuse'\n"
    result, records = measured("connection_capacity", table, size=76, transport="tcp", connections=256)
    assert summary(result).figures["connections"].value == 300
    assert any(str(row.remark).startswith("TCP port") for row in result.rows)
    assert any("half open" in str(deviation) for deviation in result.deviations)
    assert all(record.trial.opening is not None and record.trial.opening.transport == "tcp" for record in records)
    with pytest.raises(PlanError, match="frame size"):
        measured("connection_capacity", table, size=64, transport="tcp")
    with pytest.raises(PlanError, match="established: UDP has no handshake"):
        measured("connection_capacity", table, established=True)


def test_a_load_of_tcp_uses_connections_that_three_frames_established() -> None:
    own = dict[str, Any](connections=200, trial_s=0.01, maximum_fps=1e5, resolution_percent=50, transport="tcp")
    result, records = measured("connection_throughput", "entries = 400\n", size=76, **own)
    assert summary(result).figures["throughput"].bound == "at least"
    assert any("established by three frames" in str(deviation) for deviation in result.deviations)
    for record in records:
        answers, acknowledgements = record.facts.handshake
        assert record.facts.opening is not None
        frames = [one.sent.offered_frames for one in (record.facts.opening, answers, acknowledgements)]
        assert frames == [200, 200, 200]
        loads = record.trial.opening_loads
        assert [load.flows[0].connections for load in loads] == ["open", "answer", "open"]
        assert record.trial.seconds == pytest.approx(0.01 + 0.2 + 0.1 + 200 / 20_000 * (1 + 2 + 1) + 4 * 0.01)


@pytest.mark.parametrize("full", ["refuse", "evict"])
def test_established_connections_beyond_the_table_fail_before_the_load(full: str) -> None:
    own = dict[str, Any](connections=200, trial_s=0.01, maximum_fps=1e4, resolution_percent=50, transport="tcp")
    result, records = measured("connection_throughput", f"entries = 150\nwhen_full = '{full}'\n", size=76, **own)
    assert "connections were refused" in str(summary(result).remark)
    opened = records[0].facts.opened
    assert opened is not None
    assert (opened.refused.count, opened.forgotten.count) == ((50, 0) if full == "refuse" else (0, 50))
    result, _ = measured(
        "connection_capacity",
        f"entries = 150\nwhen_full = '{full}'\n",
        size=76,
        transport="tcp",
        established=True,
        connections=200,
        most_connections=400,
    )
    assert summary(result).figures["connections"].value == 150


def test_frames_of_tcp_connections_are_a_syn_and_its_answer() -> None:
    ends = Ends("02:00:00:00:00:01", "02:00:00:00:00:02", "198.18.1.2", "198.18.2.2")
    opening = Opening(
        connections=9, frames_per_second=1, source_ports=(1024, 2000), destination_ports=(80, 90), transport="tcp"
    )
    # Each arrives from 192.0.2.1, with its own source port, at port 80.
    words = b"".join(bytes([192, 0, 2, 1]) + (5000 + number).to_bytes(2, "big") + b"\0P" for number in range(9))
    own = Connecting(opening, words)
    sent, answered = own.opens("ipv4", 76, ends), own.answers("ipv4", 76, ends)
    for number in range(9):
        syn, answer = (Ether(made.frame(number)) for made in (sent, answered))
        for frame in (syn, answer):
            whole = IP(bytes(frame[IP]))
            told, whole[TCP].chksum = whole[TCP].chksum, None
            assert IP(bytes(whole))[TCP].chksum == told
        assert (str(syn[TCP].flags), syn[TCP].sport) == ("S", int(own.ports[0][number]))
        assert (answer[IP].dst, answer[TCP].sport, answer[TCP].dport) == ("192.0.2.1", 80, 5000 + number)
        assert (str(answer[TCP].flags), answer[TCP].ack) == ("SA", syn[TCP].seq + 1)
    # What follows is in order: each side goes on behind its own SYN, and acknowledges the other's.
    later = replace(own, established=True)
    syn, answer = (Ether(made.frame(0))[TCP] for made in (sent, answered))
    out, back = (Ether(made.frame(0))[TCP] for made in (later.opens("ipv4", 76, ends), later.answers("ipv4", 76, ends)))
    assert (str(out.flags), out.seq, out.ack, out.sport) == ("A", syn.seq + 1, answer.seq + 1, syn.sport)
    assert (str(back.flags), back.seq, back.ack, back.dport) == ("A", answer.seq + 1, syn.seq + 1, answer.dport)


def test_what_became_of_a_connection_is_told_apart() -> None:
    opening = Opening(
        connections=6, frames_per_second=1, source_ports=(10, 15), destination_ports=(80, 80), order="linear"
    )

    def word(port: int) -> bytes:
        return bytes([192, 0, 2, 1]) + port.to_bytes(2, "big") + b"\0P"

    # Dropped, reset, sent back in an ICMP error; then valid, forgotten as its port went to the next one, and that.
    returned = RETURNED.to_bytes(8, sys.byteorder)
    own = Connecting(opening, bytes(16) + returned + word(700) + word(800) + word(800))
    answers = bytes(24) + word(10) + bytes(8) + word(10)
    opened = own.outcome([answers], None, (np.array([11, 99]), np.array([80, 80])))
    assert opened.refused.ranges == [(0, 2)] and opened.forgotten.ranges == [(4, 4)]
    assert opened.reset.ranges == [(1, 2)] and opened.taken.ranges == [(4, 4)]
    assert opened.pool is not None and opened.pool.shared == 1


def test_errors_of_a_device_are_told_by_the_ports_that_the_initiator_sent() -> None:
    ether = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
    sent = IP(src="198.18.1.2", dst="198.18.2.2") / UDP(sport=1030, dport=7)
    sent6 = IPv6(src="2001:2::1", dst="2001:2::2") / TCP(sport=1031, dport=8)
    about = {
        (1024, 80): IP(src="198.18.2.2", dst="198.18.1.2") / TCP(sport=80, dport=1024, flags="RA"),
        (1025, 81): IPv6(src="2001:2::2", dst="2001:2::1") / TCP(sport=81, dport=1025, flags="R"),
        (1030, 7): IP(src="198.18.1.1", dst="198.18.1.2") / ICMP(type=3, code=3) / sent,
        (1031, 8): IPv6(src="2001:2::3", dst="2001:2::1") / ICMPv6DestUnreach() / sent6,
    }
    for ports, packet in about.items():
        assert pair_told(bytes(ether / packet)) == ports
    assert pair_told(bytes(ether / IP() / TCP(sport=80, dport=1024, flags="SA"))) is None
    assert pair_told(bytes(ether / sent)) is None
    assert pair_told(b"short") is None


def test_a_load_like_a_flood_is_refused_on_ports_of_a_host() -> None:
    with pytest.raises(PlanError, match="SYN flood"):
        plan("connection_rate", dut=None, tx="eth1", rx="eth2")
    assert plan("connection_rate", dut=None, tx="eth1", rx="eth2", force=True).force


def test_more_connections_than_pairs_of_ports_are_refused() -> None:
    with pytest.raises(PlanError, match="pairs of ports"):
        measured("connection_rate", "entries = 9\n", connections=50, source_ports="1024-1033", destination_ports="7")


@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 20), st.booleans(), st.integers(0, 9))
def test_every_pair_of_ports_occurs_once(
    count: int, sources: int, destinations: int, pseudorandom: bool, seed: int
) -> None:
    ranges = (1024, 1023 + sources), (7, 7 + destinations)
    if count > sources * (destinations + 1):
        with pytest.raises(PlanError):
            port_pairs(count, *ranges, pseudorandom, seed)
        return
    found = list(zip(*(own.tolist() for own in port_pairs(count, *ranges, pseudorandom, seed)), strict=True))
    linear = ((source, port) for port in range(7, 8 + destinations) for source in range(1024, 1024 + sources))
    expected = list(islice(linear, count))
    assert sorted(found) == sorted(expected) if pseudorandom else found == expected
