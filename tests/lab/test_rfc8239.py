"""RFC 8239's procedures on a real bridge, one of whose outputs is made slow and given a queue of known length.

Rates are low and figures compared loosely: the machine may be busy. What the tester itself spoils is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyroute2 import IPRoute
from support.lab_trials import on_lab
from support.trials import Spoiled, drive, incomplete, later_than, without_interference

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = [pytest.mark.lab, pytest.mark.alone]

SIZE = 512
SERVICE_FPS = 1000
QUEUE_FRAMES = 60
CALM = later_than(5_000_000)
"""A trial in which a thread woke later than this is tried again: its longest latency may be the tester's."""
WAITS = {"learning_wait_s": 0.02, "drain_s": 0.2, "rest_s": 0}


def slow(lab: Lab, number: int) -> None:
    """A token bucket at the device's end of a port: a server of SERVICE_FPS with a queue of QUEUE_FRAMES."""
    port = lab.ports[number - 1]
    skb_bytes = SIZE - 4

    def shape() -> None:
        with IPRoute() as route:
            index = route.link_lookup(ifname=port.dut_interface)[0]
            limit = QUEUE_FRAMES * skb_bytes
            route.tc("add", "tbf", index, 0x10000, rate=SERVICE_FPS * skb_bytes, burst=2000, limit=limit)

    assert port.dut_namespace_path is not None
    run_in_namespace(port.dut_namespace_path, shape)


def measured(
    method: str,
    ports: int,
    before: Callable[[Lab], None] = lambda lab: None,
    again: Spoiled = incomplete,
    **settings: Any,
) -> tuple[Result, list[TrialRecord]]:
    """The method's result; trials are done again while `again` says so."""
    numbers = [str(port + 1) for port in range(ports)]
    source = {"methods": [method], "dut": "lab:bridge", "ports": numbers, "frame_bytes": [SIZE], "phases": WAITS}
    plan = parse({**source, method: {"maximum_fps": SERVICE_FPS, **settings}})
    with Lab("bridge", ports=ports) as lab:
        engine = on_lab(plan, lab)
        try:
            before(lab)
            own = begin(method, plan, engine.capabilities, Bias(), {})
            result, records = drive(method, own, engine, again, change=without_interference)
        finally:
            engine.close()
    assert result is not None
    return result, records


def test_buffering_finds_the_queue_of_a_slow_output() -> None:
    settings = {
        "cases": ["port"],
        "outputs": "last",
        "oversubscription_percent": 60,
        "repetitions": 1,
        "step_frames": 8,
    }
    result, _ = measured("buffering", 3, lambda lab: slow(lab, 3), CALM, **settings)
    row = result.rows[0]
    assert row.figures["service"].value == pytest.approx(SERVICE_FPS, rel=0.1)
    assert row.figures["buffer"].value == pytest.approx(QUEUE_FRAMES * SIZE, rel=0.3)


def test_microburst_finds_what_fits_into_the_queue_of_a_slow_output() -> None:
    settings = {"outputs": "last", "repetitions": 2, "step_frames": 4, "limit_s": 0.5}
    result, _ = measured("microburst", 4, lambda lab: slow(lab, 4), CALM, **settings)
    row = result.rows[0]
    # Of each millisecond's three frames one leaves.
    assert row.figures["burst"].value == pytest.approx(QUEUE_FRAMES / 2, rel=0.3)
    assert row.figures["buffer"].value == pytest.approx(QUEUE_FRAMES * SIZE, rel=0.3)


def test_a_bridge_whose_output_is_congested_does_not_block_another() -> None:
    result, _ = measured("head_of_line", 4, lambda lab: slow(lab, 4), trial_s=0.4, shifts=1)
    row = result.rows[0]
    assert row.figures["loss"].value == row.figures["alone"].value == 0
    assert row.figures["congested"].value > 5


def test_incast_at_a_free_output_loses_nothing() -> None:
    result, records = measured("incast", 4, trial_s=0.3, burst_frames=5, period_s=0.05)
    assert result.rows[0].case == "1 to 4, steady"
    assert all(row.figures["loss"].value == 0 for row in result.rows)
    assert result.rows[1].figures["goodput"].value == pytest.approx(100 * (SIZE - 46) * 8)
    assert [stream.offered_frames for stream in records[-1].facts.streams][1:] == [30, 30]


def test_line_rate_by_pairs_and_as_a_mesh() -> None:
    result, _ = measured("line_rate", 4, trial_s=0.3)
    assert [row.case for row in result.rows] == ["port pairs", "full mesh"]
    for row in result.rows:
        assert row.figures["lost"].value == 0
        assert row.figures["line_share"].value == pytest.approx(99.98, abs=0.5)
        assert row.figures["jitter_max"].value > 0
