"""Many ports, many streams, mixes, pacing and modifiers on real ports: what was planned is what happens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.lab_trials import FRAMES, carry_out, plan_for
from support.trials import incomplete, later_than

from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial

pytestmark = pytest.mark.lab
CALM = later_than(10_000_000)
"""No queue between the ports overflows, and at most a tenth of the frames is late."""
ENGINES = pytest.mark.parametrize("engine", ["xdp", "packet"])


PATTERNS: dict[str, tuple[str, set[tuple[int, int]]]] = {
    "bidirectional": ("1,2", {(0, 1), (1, 0)}),
    "pairs": ("1,2,3,4", {(0, 1), (1, 0), (2, 3), (3, 2)}),
    "mesh": ("1,2,3", {(a, b) for a in range(3) for b in range(3) if a != b}),
    "many-to-one": ("1,2,3", {(0, 2), (1, 2)}),
    "one-to-many": ("1,2,3", {(2, 0), (2, 1)}),
}


@pytest.mark.parametrize(
    ("engine", "pattern"),
    [
        *(("xdp", pattern) for pattern in PATTERNS),
        ("afxdp", "mesh"),
        ("packet", "pairs"),
        *(pytest.param("afxdp", pattern, marks=pytest.mark.long) for pattern in PATTERNS if pattern != "mesh"),
        *(pytest.param("packet", pattern, marks=pytest.mark.long) for pattern in PATTERNS if pattern != "pairs"),
    ],
)
def test_every_port_of_a_pattern_sends_its_load_to_whom_it_should(engine: str, pattern: str) -> None:
    ports, routes = PATTERNS[pattern]
    plan = plan_for("bridge", pattern=pattern, ports=ports.split(","), engine=engine, frame_bytes=[128])
    facts, _ = carry_out(plan)
    assert {(stream.transmit, stream.receive) for stream in facts.streams} == routes
    for transmitter in facts.transmitters:
        assert transmitter.sent.offered_frames == FRAMES
        assert sum(transmitter.sent.gaps.counts) == FRAMES - 1
    for stream in facts.streams:
        assert stream.tracked.forwarded_frames == stream.offered_frames > 0
    assert all(receiver.misdirected_frames == receiver.foreign_frames == 0 for receiver in facts.receivers)
    assert facts.tracked.forwarded_frames == FRAMES * len(facts.transmitters)


def test_ports_start_within_one_percent_of_the_trial() -> None:
    plan = plan_for("bridge", pattern="mesh", ports=["1", "2", "3", "4"], frame_bytes=[64])
    trial_s, frames = 0.2, 240
    bound_ns = 0.01 * trial_s * 1e9

    def held_up(trial: Trial, facts: Facts) -> bool:
        return incomplete(trial, facts) or any(one.sent.lag_max_ns > bound_ns for one in facts.transmitters)

    facts, _ = carry_out(plan, frames, frames / trial_s, again=held_up)
    starts = [transmitter.sent.first_sent_ns for transmitter in facts.transmitters]
    assert max(starts) - min(starts) < bound_ns


@ENGINES
def test_a_mix_keeps_its_sizes_in_turn(engine: str) -> None:
    plan = plan_for("cable", frame_bytes="64:2,594:1,1518:1", engine=engine)
    assert plan.mix is not None and sorted(plan.mix) == [64, 64, 594, 1518]
    facts, _ = carry_out(plan)
    assert facts.tracked.forwarded_frames == facts.sent.offered_frames == FRAMES
    assert facts.tracked.corrupt_arrivals == 0


@ENGINES
def test_a_thousand_streams_are_told_apart(engine: str) -> None:
    facts, _ = carry_out(plan_for("bridge", streams=1000, frame_bytes=[64], engine=engine), 5000, 20_000, again=CALM)
    assert len(facts.streams) == 1000
    assert {stream.offered_frames for stream in facts.streams} == {5}
    assert all(stream.tracked.forwarded_frames == 5 for stream in facts.streams)


def test_streams_have_their_own_headers_sizes_and_shares() -> None:
    stream = [
        {"headers": "ipv4", "frame_bytes": [64], "weight": 3, "modify": ["UDP.sport=random(1024-65535)"]},
        {"headers": "Ether()/Dot1Q(vlan=9)/IPv6()/UDP()", "frame_bytes": "128,512", "pacing": "poisson"},
    ]
    facts, _ = carry_out(plan_for("bridge", stream=stream))
    assert [stream.offered_frames for stream in facts.streams] == [180, 60]
    assert facts.tracked.forwarded_frames == FRAMES
    assert facts.tracked.corrupt_arrivals == 0


@ENGINES
def test_bursts_and_lists_of_gaps_are_kept(engine: str) -> None:
    _, rows = carry_out(plan_for("cable", frame_bytes=[64], engine=engine, pacing="bursts:8@50us"), again=CALM)
    sent = rows["transmit_ns"]
    # A frame never leaves before it is due: 8 frames a burst, 50 µs apart, bursts 2 ms apart.
    due = np.array([burst * 2_000_000 + frame * 50_000 for burst in range(FRAMES // 8) for frame in range(8)])
    assert len(sent) == FRAMES
    assert (sent >= due).all()
    # Bursts that a CPU that stood still did not delay leave when they are due.
    assert np.median(sent - due) < 50_000


def test_a_row_is_kept_for_each_frame() -> None:
    facts, found = carry_out(plan_for("bridge", streams=3, frame_bytes=[64]))
    assert len(found) == facts.tracked.received_frames == FRAMES
    for stream in facts.streams:
        own = found[found["stream"] == stream.stream]
        assert own["sequence"].tolist() == list(range(FRAMES // 3))
        assert (own["receive_ns"] > own["transmit_ns"]).all()
        assert all(later >= earlier for earlier, later in pairwise(own["transmit_ns"].tolist()))
    assert facts.tracked.latency is not None
    latencies = found["receive_ns"] - found["transmit_ns"]
    assert (latencies.min(), latencies.max()) == (facts.tracked.latency.min_ns, facts.tracked.latency.max_ns)
