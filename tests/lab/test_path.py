"""Paths of the lab: every hop answers, links take 8·L/C, truth adds up, and nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import namespaces_of, start
from support.path_probes import (
    PATIENCE_S,
    PORT,
    TIME_EXCEEDED,
    UDP_HEADERS_BYTES,
    UNREACHABLE,
    Prober,
    one_way_ns,
    prober,
    stamped_pair,
)

from keisoku.ground.host.undo import undo_left
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.truth import BucketTruth, DirectionTruth, PathTruth

pytestmark = pytest.mark.lab

M = 1_000_000
SIZES = (100, 500, 1000, 1500)
NEAR_THE_LEAST_NS = 15_000


def _directions(truth: PathTruth) -> list[DirectionTruth]:
    both = [way for hop in truth.hops for way in (hop.forward, hop.reverse)]
    return [way for way in both if isinstance(way, DirectionTruth)]


def _until(lab: PathLab, holds: Callable[[PathTruth], bool]) -> PathTruth:
    # Each look asks the links' thread. Packets between two devices are in no count, so a sum holds in a quiet moment.
    deadline = time.monotonic() + PATIENCE_S
    while not holds(truth := lab.truth()):
        assert time.monotonic() < deadline, truth
    return truth


def _forward(truth: PathTruth, hop: int) -> DirectionTruth:
    way = truth.hops[hop - 1].forward
    assert isinstance(way, DirectionTruth)
    return way


def _at_rest(truth: PathTruth) -> bool:
    return not any(way.held_packets for way in _directions(truth))


def test_every_hop_answers_and_every_packet_is_accounted_for():
    hops = [Hop(100 * M), Hop(50 * M, 10 * M, propagation_ns=100_000), Hop(1000 * M), Hop(100 * M)]
    with PathLab(hops, icmp="unlimited") as lab, prober(lab) as probes:
        for ttl, address in enumerate(lab.hop_addresses, 1):
            probes.send(ttl, 100 * ttl)
            kind = TIME_EXCEEDED if ttl < len(hops) else UNREACHABLE
            assert probes.answer()[:2] == (address, kind)
        truth = _until(lab, _at_rest)
        assert all(way.adds_up for way in _directions(truth))
        ways = _directions(truth)
        forward, reverse = ways[::2], ways[1::2]
        assert [way.in_packets for way in forward] == [4, 3, 2, 1] == [way.delivered_packets for way in forward]
        assert [way.in_bytes for way in forward] == [1000, 900, 700, 400]
        assert [way.busy_ns for way in forward] == [80_000, 144_000, 5_600, 32_000]
        assert [way.in_packets for way in reverse] == [4, 3, 2, 1]
        assert lab.context()["addresses"] == [lab.tester_address, *lab.hop_addresses]
        namespaces = [node.namespace for node in lab.nodes]
    assert len(namespaces) == 5 and namespaces_of(os.getpid()) == []


def _slope_ns(sender: socket.socket, receiver: socket.socket) -> float:
    """Of the least delay against size, once enough packets of each size found the host undisturbed."""
    delays: dict[int, list[int]] = {size: [] for size in SIZES}
    for _ in range(400):
        for size, seen in delays.items():
            delay = one_way_ns(sender, receiver, size)
            seen += [] if delay is None else [delay]
        if all(sum(one < min(seen) + NEAR_THE_LEAST_NS for one in seen) >= 8 for seen in delays.values()):
            break
    least = {size: min(seen) for size, seen in delays.items()}
    return (least[SIZES[-1]] - least[SIZES[0]]) / (SIZES[-1] - SIZES[0])


def test_a_link_takes_the_time_of_its_rate_in_each_direction_and_a_hidden_stage_once_more():
    hops = [Hop(20 * M, 10 * M, stages=(40 * M,))]
    with PathLab(hops) as lab:
        with stamped_pair(lab.run_in_tester, lab.run_in_target, lab.target_address) as pair:
            assert _slope_ns(*pair) == pytest.approx(8e3 / 20 + 8e3 / 40, rel=0.03)
        with stamped_pair(lab.run_in_target, lab.run_in_tester, lab.tester_address) as pair:
            assert _slope_ns(*pair) == pytest.approx(8e3 / 10 + 8e3 / 40, rel=0.03)


def test_jumbo_frames_pass_and_what_finds_no_room_is_dropped():
    with PathLab([Hop(10 * M, queue_bytes=20_000, mtu=9100), Hop(100 * M, loss=0.5, mtu=9100)]) as lab:
        sender = lab.run_in_tester(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with sender:
            for _ in range(200):
                sender.sendto(bytes(9100 - UDP_HEADERS_BYTES), (lab.target_address, PORT))

        def passed(truth: PathTruth) -> bool:
            first, second = _forward(truth, 1), _forward(truth, 2)
            return _at_rest(truth) and first.in_packets == 200 and second.in_packets == first.delivered_packets

        truth = _until(lab, passed)
        first, second = _forward(truth, 1), _forward(truth, 2)
        assert first.adds_up and second.adds_up and first.in_bytes == 200 * 9100
        # One is being sent and two wait; more pass only while the sender is held up.
        assert first.delivered_packets >= 3
        assert second.lost_packets + second.delivered_packets == second.in_packets


def test_cross_traffic_crosses_its_own_hop_only_and_is_counted():
    cross = [CrossTraffic(2, "poisson", 0.2, sizes_bytes=(40, 576, 1500)), CrossTraffic(2, "constant", 0.1, "reverse")]
    with PathLab([Hop(100 * M), Hop(20 * M), Hop(100 * M)], cross_traffic=cross) as lab:

        def quiet(truth: PathTruth) -> bool:
            ways = (truth.hops[1].forward, truth.hops[1].reverse)
            return _at_rest(truth) and all(
                isinstance(way, DirectionTruth)
                and way.in_packets == one.sent_packets
                and way.delivered_packets == one.received_packets
                and way.in_packets >= 200
                for one, way in zip(truth.cross, ways, strict=True)
            )

        truth = _until(lab, quiet)
        poisson, constant = truth.cross
        for sent, way in ((poisson, truth.hops[1].forward), (constant, truth.hops[1].reverse)):
            assert isinstance(way, DirectionTruth) and way.adds_up
            assert (way.in_bytes, way.delivered_bytes) == (sent.sent_bytes, sent.received_bytes)
        assert constant.sent_bytes == 1000 * (constant.sent_packets or 0)
        # 250 packets/s, begun after the links.
        assert (constant.sent_packets or 0) + constant.skipped_packets <= truth.elapsed_ns * 250e-9 + 1
        for other in (truth.hops[0], truth.hops[2]):
            assert all(isinstance(way, DirectionTruth) and not way.in_packets for way in (other.forward, other.reverse))


def test_tcp_crosses_its_own_hop_only():
    cross = [CrossTraffic(1, "tcp", 0.5), CrossTraffic(1, "tcp", 1, "reverse")]
    with PathLab([Hop(20 * M), Hop(20 * M)], cross_traffic=cross) as lab:
        truth = _until(lab, lambda truth: all(one.received_bytes > 200_000 for one in truth.cross))
        assert all(way.adds_up for way in _directions(truth))
        assert all(way.in_packets == 0 for way in _directions(truth)[2:])
        assert len(lab.context()["namespaces"]) == 7  # type: ignore[arg-type]


@pytest.mark.parametrize("discipline", ["tbf", "htb"])
def test_a_token_bucket_lets_its_burst_pass_and_counts(discipline):
    with PathLab([Hop(100 * M), Hop(1 * M, bucket_bytes=15_000, queue_bytes=6000, discipline=discipline)]) as lab:
        sender = lab.run_in_tester(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver = lab.run_in_target(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with sender, receiver:
            receiver.bind((lab.target_address, PORT))
            receiver.settimeout(PATIENCE_S)
            for _ in range(30):
                sender.sendto(bytes(1400), (lab.target_address, PORT))
            for _ in range(10):
                assert len(receiver.recv(2000)) == 1400
        bucket = _until(lab, lambda truth: _sent(truth) + truth.hops[1].forward.dropped_packets == 30).hops[1].forward
        assert bucket.dropped_packets > 0


def _sent(truth: PathTruth) -> int:
    bucket = truth.hops[1].forward
    assert isinstance(bucket, BucketTruth)
    return bucket.sent_packets


def _answers(probes: Prober, address: str) -> int:
    """How many of 20 probes the first hop answers: an echo through it afterwards says when all had their chance."""
    for _ in range(20):
        probes.send(1)
    for _ in range(3):
        probes.send(2)
    seen = [probes.answer()[0]]
    while seen[-1] == address:
        seen.append(probes.answer()[0])
    return seen.count(address)


@pytest.mark.parametrize(
    ("icmp", "silent", "least", "most"), [("unlimited", (), 20, 20), ("default", (), 6, 19), ("unlimited", (1,), 0, 0)]
)
def test_a_router_answers_as_it_is_told(icmp, silent, least, most):
    with PathLab([Hop(100 * M), Hop(100 * M)], icmp=icmp, silent=silent) as lab, prober(lab) as probes:
        assert least <= _answers(probes, lab.hop_addresses[0]) <= most


def test_a_target_that_resets_says_so():
    with PathLab([Hop(100 * M)] * 2, icmp="unlimited", target="resets") as lab, prober(lab) as probes:
        probes.send(9)
        assert probes.answer() == (lab.target_address, UNREACHABLE, 13)
        with lab.run_in_tester(socket.socket) as connection, pytest.raises(ConnectionRefusedError):
            connection.connect((lab.target_address, 99))


def test_a_target_that_drops_everything_says_nothing():
    with PathLab([Hop(100 * M)] * 2, icmp="unlimited", target="drops") as lab, prober(lab) as probes:
        for _ in range(5):
            probes.send(9)
        _until(lab, lambda truth: _forward(truth, 2).delivered_packets == 5)
        probes.send(1)
        assert probes.answer()[0] == lab.hop_addresses[0]
        assert _directions(lab.truth())[3].in_packets == 0


_CHILD = """
import time
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
cross = [CrossTraffic(1, "tcp", 0.1), CrossTraffic(1, "poisson", 0.1)]
with PathLab([Hop(10**8), Hop(10**7, bucket_bytes=15000)], cross_traffic=cross) as lab:
    print("ready", flush=True)
    [time.sleep(0.1) for _ in range(600)]
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_path(number):
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "ready\n", child.communicate()[1]
    made = namespaces_of(child.pid)
    assert len(made) == 5
    child.send_signal(number)
    child.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert {f"removed {name}" for name in made} <= set(undo_left())
    assert namespaces_of(child.pid) == []


def test_the_command_says_how_to_reach_a_path_and_what_it_did(tmp_path: Path):
    child = start("lab", "path?hops=100M/10M,50M+50M,10M~15000&delay=1ms&icmp=unlimited&silent=1", cwd=tmp_path)
    assert child.stdout
    lines = [child.stdout.readline()]
    while not lines[-1].startswith("ready"):
        assert lines[-1], child.communicate()[1]
        lines.append(child.stdout.readline())
    text = "".join(lines)
    for words in ("198.18.1.1  probe from here", "100 Mb/s forward, 10 Mb/s reverse", "then a hidden line of 50 Mb/s"):
        assert words in text
    assert f"keisoku-{child.pid}-target  198.18.3.2" in text
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert "hop 2 reverse: 0 packets in, 0 delivered" in said and said.endswith("removed\n")
    assert namespaces_of(child.pid) == []
