"""Flows of a trial: what becomes of them as streams, and how many frames a port is to send."""

from __future__ import annotations

import pytest
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether
from support.trials import record_of

from keisoku.errors import PlanError
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


def test_a_flow_of_several_streams_gives_each_one_frame_and_an_even_part() -> None:
    ports = tuple(f"UDP.{name}=list(1001, 1002, 1003, 1004)" for name in ("sport", "dport"))
    own = Flow(transmit=0, receive=1, modify=ports, streams=4, share=0.4)
    trial = TRIAL.model_copy(update={"flows": (own, Flow(transmit=0, receive=1, share=0.6))})
    traffic = Traffic(routes_between([(0, 1)]), [Content()])
    streams, tables = traffic.streams(trial), traffic.tables(trial)
    assert [one.frames for one in streams] == [trial.frames // 10] * 4 + [trial.frames * 6 // 10]
    assert sum(one.frames_per_second for one in streams) == pytest.approx(trial.frames_per_second)
    found = [Ether(table.frame(0))[UDP] for table in tables[:4]]
    assert [(one.sport, one.dport) for one in found] == [(port, port) for port in (1001, 1002, 1003, 1004)]
    assert all(table.count == 1 for table in tables)


def test_streams_that_are_not_as_many_as_the_frames_of_their_flow_are_refused() -> None:
    flow = Flow(transmit=0, receive=1, modify=("UDP.sport=list(1, 2)",), streams=3)
    with pytest.raises(PlanError, match="3 streams of one content"):
        Traffic(routes_between([(0, 1)]), [Content()]).tables(TRIAL.model_copy(update={"flows": (flow,)}))
