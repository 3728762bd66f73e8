"""The rate of a flow, and what bounds it."""

from __future__ import annotations

import json

import pytest
from support.otg_server import two_ports, udp_flow

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import configuration
from keisoku.faces.otg.reading.conformance import checked
from keisoku.subjects.device.record.trial import Bursts


def test_a_least_gap_bounds_the_rate_and_needs_a_line() -> None:
    config = two_ports()
    flow = udp_flow(config, size=128)
    flow.rate.pps, flow.duration.burst.packets, flow.duration.burst.bursts = 500_000, 10, 3
    flow.duration.burst.inter_burst_gap.nanoseconds, flow.duration.burst.gap = 1000, 760

    def within_bursts(rate: float | None) -> float:
        document = json.loads(config.serialize("json"))
        found = configuration(checked(document), document, lambda _: rate, lambda _: None).flows[0].timing
        assert isinstance(found.pacing, Bursts)
        return found.pacing.gap_ns

    # A frame of 128 bytes with its preamble of 8 and 760 bytes behind it, at 1 Gb/s; at 100 Gb/s the rate is lower.
    assert (within_bursts(1e9), within_bursts(100e9)) == (7168, 2000)
    with pytest.raises(PlanError, match="no line rate") as caught:
        within_bursts(None)
    assert caught.value.field == "flows[0].duration.burst.gap"
