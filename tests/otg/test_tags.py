"""Metrics by the values that frames carry in tagged bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import snappi
from hypothesis import given, settings
from hypothesis import strategies as st
from support.otg_server import otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.errors import PlanError
from keisoku.faces.otg.flow.header import packet
from keisoku.faces.otg.flow.tag import classes
from keisoku.faces.otg.reading.conformance import checked
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.variants import frames


@pytest.fixture(scope="module", params=["http", "grpc"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    with otg_client(request.param) as client:
        yield client


def test_frames_are_counted_by_their_tags(api: Any) -> None:
    config = two_ports()
    flow = udp_flow(config, packets=10)
    flow.metrics.latency.enable, flow.metrics.latency.mode = True, "cut_through"
    flow.packet[1].priority.dscp.phb.values = [10, 46, 46]
    flow.packet[1].priority.dscp.phb.metric_tags.metrictag(name="dscp", offset=0, length=6)
    flow.packet[2].dst_port.increment.start = 6000
    flow.packet[2].dst_port.increment.count = 2
    flow.packet[2].dst_port.metric_tags.metrictag(name="odd", offset=15, length=1)
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert (metric.frames_tx, metric.frames_rx, metric.bytes_tx) == (10, 10, 1280)
    found = {tuple((tag.name, int(tag.value.hex, 16)) for tag in each.tags): each for each in metric.tagged_metrics}
    # Frame n has the code point of n modulo 3 and the port of n modulo 2.
    assert {key: each.frames_tx for key, each in found.items()} == {
        (("dscp", 10), ("odd", 0)): 2,
        (("dscp", 46), ("odd", 1)): 3,
        (("dscp", 46), ("odd", 0)): 3,
        (("dscp", 10), ("odd", 1)): 2,
    }
    assert all(each.frames_rx == each.frames_tx and each.loss == 0.0 for each in found.values())
    assert all(each.latency.minimum_ns > 0 for each in found.values())
    request = snappi.MetricsRequest()
    request.flow.flow_names = ["f1"]
    request.flow.tagged_metrics.filters.add(name="dscp", values=["0x2e"])
    request.flow.tagged_metrics.metric_names = ["frames_tx"]
    (metric,) = api.get_metrics(request).flow_metrics
    assert [each.frames_tx for each in metric.tagged_metrics] == [3, 3]
    assert metric.tagged_metrics[0].frames_rx is None
    request.flow.tagged_metrics.include = False
    assert not api.get_metrics(request).flow_metrics[0].tagged_metrics


@settings(max_examples=30, deadline=None)
@given(
    ports=st.lists(st.integers(0, 65535), min_size=1, max_size=6),
    hops=st.lists(st.integers(1, 255), min_size=1, max_size=4),
    sizes=st.lists(st.sampled_from([64, 128, 200]), min_size=1, max_size=3).map(tuple),
    offset=st.integers(0, 15),
    count=st.integers(0, 50),
)
def test_the_frames_of_all_tags_are_those_of_the_flow(
    ports: list[int], hops: list[int], sizes: tuple[int, ...], offset: int, count: int
) -> None:
    flow = snappi.Flow(name="f")
    flow.tx_rx.port.tx_name = "p1"
    _, ip, udp = flow.packet.ethernet().ipv4().udp()
    udp.src_port.values, ip.time_to_live.values = ports, hops
    udp.src_port.metric_tags.metrictag(name="t", offset=offset, length=16 - offset)
    headers = packet(checked(flow.serialize("dict"), "Flow"))
    whole = frames(headers.headers, sizes, ENDS, headers.modify)
    found = classes(headers, sizes, "flows[0]", by_size=False)
    assert sum(one.frames_of(count) for one in found) == count
    assert sum(one.share for one in found) == pytest.approx(1)
    for one in found:
        own = frames(one.packet.headers, one.frame_bytes, ENDS, one.packet.modify)
        numbers = [begin + place for begin in range(0, 40 * one.period, one.period) for place in one.places]
        for place, number in enumerate(numbers[:40]):
            assert own.frame(place) == whole.frame(number)


def test_only_what_is_tagged_bounds_after_how_many_frames_a_tagged_flow_repeats() -> None:
    """A flow of 255 tagged values and 2000 ports was refused, because both together repeat after 102 000 frames."""
    flow = snappi.Flow(name="f")
    flow.tx_rx.port.tx_name = "p1"
    _, ip, udp = flow.packet.ethernet().ipv4().udp()
    ip.time_to_live.values = list(range(1, 256))
    ip.time_to_live.metric_tags.metrictag(name="t", offset=0, length=8)
    udp.src_port.values = list(range(1000, 3000))
    headers = packet(checked(flow.serialize("dict"), "Flow"))
    found = classes(headers, (128,), "flows[0]", by_size=False)
    assert len(found) == 255 and sum(one.frames_of(102_001) for one in found) == 102_001
    whole = frames(headers.headers, (128,), ENDS, headers.modify, most_bytes=2**26)
    own = frames(found[7].packet.headers, (128,), ENDS, found[7].packet.modify)
    assert own.frame(399) == whole.frame(399 * 255 + 7) and own.frame(400) == own.frame(0)
    ip.time_to_live.metric_tags.clear()
    udp.src_port.metric_tags.metrictag(name="t", offset=15, length=1)
    ip.dst.increment.count = 65_536
    with pytest.raises(PlanError, match="repeats in the frames of one tag after"):
        classes(packet(checked(flow.serialize("dict"), "Flow")), (128,), "flows[0]", by_size=False)


ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")
