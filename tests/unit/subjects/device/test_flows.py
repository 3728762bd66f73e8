"""Flows of a trial: what becomes of them as streams, and how many frames a port is to send."""

from __future__ import annotations

from support.trials import record_of

from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.plan.pattern import pairs
from keisoku.subjects.device.record.trial import Bursts, Flow, Trial

TRIAL = Trial(
    purpose="test",
    frame_bytes=100,
    frames_per_second=10_000,
    duration_ns=100_000_000,
    interval_ns=10_000_000,
    flows=(
        Flow(transmit=0, receive=2, duration_ns=50_000_000),
        Flow(transmit=0, receive=1, share=0.5, start_ns=50_000_000),
        Flow(transmit=1, receive=2, share=0.25, frame_bytes=(64, 128), pacing=Bursts(burst_frames=8)),
    ),
)


def test_each_flow_is_a_stream() -> None:
    traffic = Traffic(routes_between(pairs("mesh", 3)), [Content(headers="ethernet")])
    streams = traffic.streams(TRIAL)
    assert [(s.transmit, s.receive, s.frames, s.start_ns, s.frame_bytes) for s in streams] == [
        (0, 2, 500, 0, (100,)),
        (0, 1, 250, 50_000_000, (100,)),
        (1, 2, 250, 0, (64, 128)),
    ]
    assert [stream.frames_per_second for stream in streams] == [10_000, 5_000, 2_500]
    assert [table.count for table in traffic.tables(TRIAL)] == [1, 1, 2]
    assert (TRIAL.frames_of(0), TRIAL.frames_of(1), TRIAL.frames_of(2)) == (750, 250, 0)


def test_a_simulated_device_carries_flows() -> None:
    engine = SimulatedEngine(
        parse_device("ports = 3", "test"),
        (1, 2, 3),
        Traffic(routes_between(pairs("mesh", 3)), [Content(headers="ethernet")]),
    )
    engine.start(TRIAL, stream=1, seed=1)
    facts, _ = engine.finish()
    record = record_of(TRIAL, facts)
    assert record.valid
    assert record.intended_frames == facts.sent.offered_frames == facts.tracked.forwarded_frames == 1000
    late = {interval.start_ns: interval.forwarded_frames for interval in facts.streams[1].tracked.series}
    assert sum(late.get(start_ns, 0) for start_ns in range(0, 50_000_000, 10_000_000)) == 0
    assert late[60_000_000] == 50
