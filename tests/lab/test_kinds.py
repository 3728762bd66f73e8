"""Lab devices of kernel parts: each forwards all frames, and keisoku finds the losses, delays, rates, marks and gates
that were set. What the device itself counted is the truth; a kernel that lacks a part skips by its name."""

from __future__ import annotations

import math
import re
import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.lab_frames import Tap, headers, signed
from support.lab_kinds import FRAME_BYTES, through
from support.lab_passages import MakeTap, require, stack
from support.lab_trials import FRAMES, on_lab, patient_trial, plan_for
from support.trials import carried, incomplete

from keisoku.errors import PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.bridge import Bridge
from keisoku.ground.lab.device.catalogue import FAMILIES, describe_kinds
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.arrival import DUPLICATE, REORDERED
from keisoku.subjects.device.record.trial import NS_PER_S

pytestmark = [pytest.mark.lab, pytest.mark.alone]

KINDS = [
    "bond", "bond?mode=active-backup", "bond?mode=balance-xor&links=4", "bond?mode=802.3ad", "team?links=3", "vlan",
    "vlan?protocol=802.1ad", "macvlan", "vrf", "hsr", "mpls", "wireguard", "macsec", "ipsec", "xfrm", "netem",
    "netem?delay=5ms", "tbf", "htb", "hfsc", "cbs", "codel", "fq_codel", "pie", "red", "cake", "ets", "mqprio",
    "taprio", "taprio?slots=1:5ms,2:5ms", "etf", "etf?slots=1:5ms,2:5ms", "police", "police?rate=100kpps", "gate",
    "flower",
]  # fmt: skip
RATE_BPS = 2_000_000
SLOW_BPS, MARKABLE = 500_000, 150
"""Frames wait at this rate also where a slow tester sends them."""
FULL_BYTES = 1518
SLOT_NS = 50_000_000
CYCLE_NS = 2 * SLOT_NS
EDGE_NS = 10_000_000
"""How much later than its slot a frame may be seen: a timer of a virtual machine without KVM."""
SIGMAS = 5.0


def chance(share: float, frames: int) -> tuple[float, float]:
    """Between which counts of frames a share is, by chance, but once in two million."""
    spread = SIGMAS * math.sqrt(frames * share * (1 - share))
    return frames * share - spread, frames * share + spread


@pytest.mark.parametrize("name", KINDS)
def test_every_frame_is_forwarded_once_and_whole(name: str) -> None:
    require(name)
    with Lab(name, own_core=False) as lab:
        full = min(FULL_BYTES, *(port.mtu_bytes + 18 for port in lab.ports))
        engine = on_lab(plan_for(name, frame_bytes=[full]), lab)
        try:
            facts, _ = carried(engine, patient_trial(FRAMES, full, 1000.0), incomplete, streams=1)
        finally:
            engine.close()
    tracked = facts.tracked
    assert tracked.forwarded_frames == tracked.received_frames == facts.sent.offered_frames == FRAMES
    assert (tracked.lost_frames, tracked.corrupt_arrivals) == (0, 0)


def test_each_loss_by_chance_is_one_that_the_device_counted() -> None:
    require("netem")
    seen = through("netem?loss=5%", 2000, 400.0)
    low, high = chance(0.05, 2000)
    assert low <= seen.lost == seen.counted[1].dropped_frames <= high


def test_a_known_delay_is_found() -> None:
    require("netem")
    seen = through("netem?delay=20ms", 200, 200.0)
    latencies = seen.latencies_ns()
    assert seen.lost == 0
    assert latencies.min() >= 20_000_000 and np.median(latencies) < 20_000_000 + EDGE_NS


def test_a_known_jitter_scatters_latencies_within_it() -> None:
    require("netem")
    seen = through("netem?delay=40ms&jitter=20ms", 400, 200.0)
    latencies = seen.latencies_ns()
    assert latencies.min() >= 20_000_000 and np.median(latencies) < 40_000_000 + EDGE_NS
    # Uniform over 40 ms: its standard deviation is 40 / √12.
    assert 0.7 * 11_547_000 < latencies.std() < 1.5 * 11_547_000


def test_known_duplicates_are_found() -> None:
    require("netem")
    seen = through("netem?duplicate=10%", 2000, 400.0)
    twice = int(np.count_nonzero(seen.rows["flags"] & DUPLICATE))
    low, high = chance(0.1, 2000)
    assert low <= twice == seen.facts.tracked.received_frames - 2000 <= high
    assert seen.forwarded == 2000


def test_known_damage_is_found() -> None:
    """netem inverts a bit anywhere: a frame whose addresses or signature it hits is lost or foreign."""
    require("netem")
    seen = through("netem?corrupt=10%", 2000, 400.0)
    low, high = chance(0.1, 2000)
    assert low <= seen.offered - seen.forwarded <= high
    assert seen.facts.tracked.corrupt_arrivals > 0.5 * (seen.offered - seen.forwarded)


def test_frames_that_overtake_are_as_many_as_were_not_delayed() -> None:
    require("netem")
    seen = through("netem?delay=50ms&reorder=25%", 1000, 300.0)
    at_once = int(np.count_nonzero(seen.latencies_ns() < 25_000_000))
    low, high = chance(0.25, 1000)
    assert seen.lost == 0
    assert low <= at_once <= high
    assert np.count_nonzero(seen.rows["flags"] & REORDERED)


LONG_RATES = [pytest.param("htb?bucket=3kB&limit=40", marks=pytest.mark.long)]


@pytest.mark.parametrize(
    "name",
    ["tbf?bucket=3kB&queue=60kB", *LONG_RATES, "hfsc?limit=40", "cbs?bucket=3kB", "netem?limit=40",
     "cake", "police?bucket=4kB"],
)  # fmt: skip
def test_a_known_rate_is_found_and_each_loss_was_counted(name: str) -> None:
    """Twice the rate is offered; the first frames, which a bucket or credit lets through at once, are left out."""
    require(name)
    seen = through(f"{name}{'&' if '?' in name else '?'}rate={RATE_BPS}bps", 400, 330.0, 2.0, frame_bytes=[FULL_BYTES])
    assert seen.bits_per_second(20) == pytest.approx(RATE_BPS, rel=0.03)
    counted = seen.counted[0 if name.startswith("police") else 1]
    assert seen.lost == counted.dropped_frames > 0 or name.startswith(("cbs", "cake"))
    assert seen.forwarded == counted.passed_frames


def test_the_first_trial_meets_no_queue_that_the_warm_up_filled() -> None:
    """Its frames arrived in the first trial, whose own ones waited behind them."""
    require("tbf")
    with Lab("tbf?rate=2Mbps&queue=60kB", own_core=False) as lab:
        engine = on_lab(plan_for("tbf", frame_bytes=[FRAME_BYTES]), lab)
        wanted = patient_trial(FRAMES, FRAME_BYTES, 1000.0)
        phases = wanted.phases.model_copy(update={"drain_ns": NS_PER_S})
        try:
            engine.start(wanted.model_copy(update={"phases": phases}), stream=1, seed=0)
            facts, _ = engine.finish()
        finally:
            engine.close()
    assert facts.tracked.forwarded_frames > 0
    assert [receiver.foreign_frames for receiver in facts.receivers] == [0]


def test_a_queue_of_this_host_does_not_slow_down_who_fills_it() -> None:
    """Frames that waited in a bridge's queue were still of the packet socket, whose room ended after 300 of them."""
    require("tbf")
    with Lab("tbf?rate=1Mbps&queue=60kB", own_core=False) as lab:
        engine = on_lab(plan_for("tbf", frame_bytes=[FRAME_BYTES], engine="packet"), lab)
        try:
            engine.start(patient_trial(10 * FRAMES, FRAME_BYTES, 5000.0), stream=1, seed=0)
            facts, _ = engine.finish()
        finally:
            engine.close()
    assert facts.sent.offered_frames == 10 * FRAMES
    assert facts.sent.interrupted_share < 0.3
    assert facts.tracked.lost_frames > 0


def test_a_policer_of_frames_lets_its_rate_and_bucket_through() -> None:
    require("police")
    seen = through("police?rate=200pps&bucket=10", 1000, 500.0)
    assert seen.lost == seen.counted[0].dropped_frames
    assert seen.forwarded == pytest.approx(10 + 200 * 2, rel=0.03)


@pytest.mark.parametrize("name", ["codel?ecn=on", "fq_codel?ecn=on", "pie?ecn=on", "red?ecn=on&queue=900kB", "cake"])
def test_each_mark_of_congestion_is_one_that_the_device_counted(name: str, tap: MakeTap) -> None:
    require(name)
    with Lab(f"{name}{'&' if '?' in name else '?'}rate={SLOW_BPS}bps", own_core=False) as lab:
        one, other = lab.ports
        sender, receiver = tap(one), tap(other)
        able = Ether(src=one.mac, dst=other.mac) / IP(src=one.ipv4, dst=other.ipv4, tos=1) / UDP(dport=7) / bytes(1400)
        before = lab.counted()[1]
        for _ in range(MARKABLE):
            sender.send(bytes(able))
        arrived = Counter[int]()
        with suppress(TimeoutError):
            while True:
                arrived[Ether(receiver.receive())[IP].tos & 3] += 1
        counted = lab.counted()[1]
    assert arrived[1] + arrived[3] == arrived.total() == counted.passed_frames - before.passed_frames
    assert arrived[3] == counted.marked_frames, arrived
    assert arrived[3] or name.startswith("pie"), "PIE drops where it would mark more than one in ten"
    assert arrived.total() + counted.dropped_frames == MARKABLE


TWO_CLASSES = [
    {"headers": "Ether()/IP(tos=0)/UDP()", "frame_bytes": [128]},
    {"headers": "Ether()/IP(tos=0x20)/UDP()", "frame_bytes": [128]},
]


@pytest.mark.parametrize("name", ["taprio?slots=1:50ms,2:50ms", "etf?slots=1:50ms,2:50ms&delay=300ms&delta=200ms"])
def test_each_class_leaves_in_its_own_half_of_the_cycle(name: str) -> None:
    require(name)
    seen = through(name, 800, 400.0, stream=TWO_CLASSES)
    assert seen.lost == 0
    streams = [stream.stream for stream in seen.facts.streams]
    phases = [seen.rows["receive_ns"][seen.rows["stream"] == stream] % CYCLE_NS for stream in streams]
    (centre, length), (other_centre, other_length) = map(window, phases)
    assert max(length, other_length) <= SLOT_NS + EDGE_NS
    assert abs((other_centre - centre) % CYCLE_NS - SLOT_NS) <= EDGE_NS


def test_a_gate_drops_what_comes_while_it_is_closed() -> None:
    require("gate")
    seen = through("gate?cycle=100ms&open=50ms", 800, 400.0)
    assert seen.lost == seen.counted[0].dropped_frames
    assert seen.lost == pytest.approx(400, rel=0.1)
    _, length = window(seen.rows["transmit_ns"] % CYCLE_NS)
    assert length <= SLOT_NS + EDGE_NS


def window(phases: np.ndarray) -> tuple[float, int]:
    """Middle and length of the shortest part of a cycle that has nine of ten frames: a late timer is seldom."""
    at = np.sort(phases)
    most = math.ceil(0.9 * len(at))
    ends = np.concatenate([at, at + CYCLE_NS])[most - 1 : most - 1 + len(at)]
    first = int((ends - at).argmin())
    return (at[first] + ends[first]) / 2 % CYCLE_NS, int(ends[first] - at[first])


def test_a_strict_class_loses_nothing_while_the_other_loses() -> None:
    require("ets")
    full = [
        one | {"frame_bytes": [FULL_BYTES], "weight": weight} for one, weight in zip(TWO_CLASSES, (3, 1), strict=True)
    ]
    seen = through(f"ets?rate={RATE_BPS}bps&strict=1&quanta=3000", 3000, 400.0, 3.0, stream=full)
    low, high = (stream.tracked for stream in seen.facts.streams)
    assert low.lost_frames > 100, "its queue of 1000 frames was never full"
    assert high.lost_frames == 0 or high.lost_frames < low.lost_frames / 10


def test_each_class_has_the_queue_of_its_number() -> None:
    require("mqprio?classes=4")
    with Lab("mqprio?classes=4", own_core=False) as lab:
        one, other = lab.ports
        sender, receiver = Tap(one), Tap(other)
        for number in range(4):
            frame = Ether(src=one.mac, dst=other.mac) / IP(src=one.ipv4, dst=other.ipv4, tos=number << 5) / UDP()
            for _ in range(10 * (number + 1)):
                sender.send(bytes(frame / bytes(64)))
                receiver.receive()
        sender.close()
        receiver.close()
        name = str(other.dut_interface)
        shown = run_in_namespace(other.dut_namespace_path, lambda: iproute.tc_shows("qdisc", "show", "dev", name))
    parts = [(re.search(r" parent (1:\d+)", part), part) for part in shown.split("qdisc ")]
    leaves = {parent[1]: iproute.tc_frames(part)[0] for parent, part in parts if parent}
    sent = [leaves[f"1:{number}"] for number in range(1, 5)]
    # A few frames of the kernel's own are in the first.
    assert sent[1:] == [20, 30, 40] and sent[0] >= 10


SECRET = b"plain to read in a tunnel that hides nothing"


@pytest.mark.parametrize(
    ("name", "line", "hides", "header"),
    [
        ("wireguard", "line1", True, "IP(proto=17)"),
        ("ipsec", "line1", True, "IP(proto=50)"),
        ("xfrm", "line1", True, "IP(proto=50)"),
        ("macsec", "near1", True, "Ether(type=0x88e5)"),
        ("macsec?encrypt=off", "near1", False, "Ether(type=0x88e5)"),
        ("mpls", "line1", False, "Ether(type=0x8847)"),
        ("hsr", "line1", False, "Ether(type=0x892f)"),
        ("hsr", "line2", False, "Ether(type=0x892f)"),
    ],
)
def test_between_both_ends_frames_are_what_the_tunnel_makes_of_them(
    name: str, line: str, hides: bool, header: str, tap: MakeTap
) -> None:
    require(name)
    with Lab(name) as lab:
        one, other = lab.ports
        watch = run_in_namespace(one.dut_namespace_path, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        run_in_namespace(one.dut_namespace_path, lambda: watch.bind((line, 3)))
        watch.settimeout(5)
        sender, receiver = tap(one), tap(other)
        sender.send(bytes(stack(lab.passage(1, 2).sent["ipv4"]) / SECRET))
        assert SECRET in receiver.receive()
        wanted = stack(header)
        while True:
            between = watch.recv(65536)
            found = Ether(between)
            layer = found.getlayer(type(wanted))
            if layer and all(layer.getfieldval(key) == value for key, value in wanted.fields.items()):
                break
        watch.close()
    assert (SECRET in between) is not hides


@pytest.mark.parametrize("name", ["bond?links=3", "team?links=3"])
def test_the_lines_of_a_link_take_turns(name: str, tap: MakeTap) -> None:
    require(name)
    with Lab(name) as lab:
        one, other = lab.ports
        sender, receiver = tap(one), tap(other)
        sent = lambda: [  # noqa: E731
            int(Path(f"/sys/class/net/near{n}/statistics/tx_packets").read_text()) for n in (1, 2, 3)
        ]
        before = run_in_namespace(one.dut_namespace_path, sent)
        for sequence in range(30):
            sender.send(signed(headers(one, other, 128, l3=False), 7, sequence))
            receiver.receive()
        after = run_in_namespace(one.dut_namespace_path, sent)
    assert [now - then for now, then in zip(after, before, strict=True)] == [10, 10, 10]


def test_a_kernel_without_a_part_is_told_by_its_module_and_option(monkeypatch: pytest.MonkeyPatch) -> None:
    part = KernelPart("sch_nonesuch", "CONFIG_NET_SCH_NONESUCH", queues=("qdisc add dev a root nonesuch",))
    monkeypatch.setattr(Bridge, "parts", (part,))
    with pytest.raises(PlanError, match=r"bridge needs the kernel module sch_nonesuch \(CONFIG_NET_SCH_NONESUCH\)"):
        Lab("bridge").__enter__()


def test_the_help_has_a_sentence_for_every_device() -> None:
    lines = describe_kinds().splitlines()
    for family in FAMILIES:
        sentence = next(line.removeprefix(f"  {family}").strip() for line in lines if line.startswith(f"  {family} "))
        assert len(sentence) > 20
