"""Flows started, paused and stopped one by one while others go on, as snappi's scripts do it, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import snappi
from support.otg_server import flow_metrics, otg_client, set_traffic, two_ports, udp_flow, until, until_stopped

from keisoku.faces.otg.configuration import configuration
from keisoku.faces.otg.metrics import TagWish
from keisoku.faces.otg.metrics import flow_metrics as flow_metrics_of
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.traffic.flow_trial import trial
from keisoku.faces.otg.traffic.session import TrafficSession
from keisoku.subjects.device.engine.engine import Progress, StreamProgress


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    with otg_client() as client:
        yield client


def endless(config: Any, name: str, **ends: Any) -> Any:
    flow = udp_flow(config, name, **ends)
    flow.duration.continuous.gap = 12
    return flow


def states(api: Any) -> dict[str, str]:
    return {metric.name: metric.transmit for metric in flow_metrics(api)}


def test_counters_stay_while_the_account_of_ended_traffic_is_read() -> None:
    """They were zero for that moment, as an engine then tells totals alone."""
    config = two_ports()
    udp_flow(config, "one")
    udp_flow(config, "other", tx="p2", rx="p1")
    document = json.loads(config.serialize("json"))
    found = configuration(checked(document), document, lambda _: None, lambda _: None)
    session = TrafficSession()
    session.configured(found)
    session.started(trial(found.flows, lambda end: end.ports, lambda _: None, (), 0), ["one", "other"])
    part = StreamProgress(state="ended", offered_frames=100, received_frames=99, forwarded_frames=99)
    whole = Progress(offered_frames=200, forwarded_frames=198, finished=False, elapsed_s=1.0, expected_s=1.0)
    session.looked(whole.model_copy(update={"streams": (part, part)}), 1.0)
    session.looked(whole, 1.1)
    metrics = flow_metrics_of(session, found.flows, (), [None, None], TagWish())
    assert [(metric["frames_tx"], metric["frames_rx"]) for metric in metrics] == [(100, 99), (100, 99)]


def test_each_flow_is_counted_while_others_run(api: Any) -> None:
    config = two_ports()
    udp_flow(config, "few", packets=50)
    endless(config, "many", tx="p2", rx="p1")
    api.set_config(config)
    set_traffic(api, "start")
    few, many = until(api, lambda found: found[0].transmit == "stopped")
    assert (few.frames_tx, few.frames_rx, few.bytes_rx, few.loss) == (50, 50, 50 * 128, 0.0)
    assert many.transmit == "started" and many.frames_tx > 50
    until(api, lambda found: found[1].frames_tx_rate > 0 and found[1].frames_tx > many.frames_tx)
    set_traffic(api, "stop")
    few, many = flow_metrics(api)
    assert (few.frames_tx, few.frames_rx) == (50, 50)
    assert many.transmit == "stopped" and many.frames_rx == many.frames_tx


def test_a_flow_joins_traffic_that_runs_and_leaves_it(api: Any) -> None:
    config = two_ports()
    endless(config, "one")
    endless(config, "two")
    api.set_config(config)
    set_traffic(api, "start", ["one"])
    until(api, lambda found: found[0].frames_tx > 0)
    assert states(api) == {"one": "started", "two": "stopped"}
    assert flow_metrics(api, "two")[0].frames_tx == 0
    set_traffic(api, "start", ["two"])
    until(api, lambda found: found[1].frames_tx > 0)
    set_traffic(api, "stop", ["one"])
    one, _ = until(api, lambda found: found[0].transmit == "stopped")
    until(api, lambda found: found[1].frames_tx > 0)
    assert flow_metrics(api, "one")[0].frames_tx == one.frames_tx == one.frames_rx
    with pytest.raises(Exception, match="one has ended in the running traffic"):
        set_traffic(api, "start", ["one"])
    set_traffic(api, "stop")
    assert states(api) == {"one": "stopped", "two": "stopped"}
    set_traffic(api, "start", ["one"])
    assert flow_metrics(api, "two")[0].frames_tx == 0
    set_traffic(api, "stop")


def test_a_paused_flow_stands_still_and_goes_on_where_it_was(api: Any) -> None:
    config = two_ports()
    endless(config, "one")
    # The last frames of an endless flow are days away in virtual time, and a pause in between must not lose any.
    api.set_config(config)
    set_traffic(api, "start")
    until(api, lambda found: found[0].frames_tx > 0)
    set_traffic(api, "pause")
    assert states(api) == {"one": "paused"}
    before, after = flow_metrics(api)[0], flow_metrics(api)[0]
    assert before.frames_tx == after.frames_tx > 0
    with pytest.raises(Exception, match="no flow to pause is started"):
        set_traffic(api, "pause")
    set_traffic(api, "resume")
    until(api, lambda found: found[0].frames_tx > before.frames_tx)
    assert states(api) == {"one": "started"}
    set_traffic(api, "stop")
    (metric,) = flow_metrics(api)
    assert metric.frames_rx == metric.frames_tx and metric.loss == 0.0


def test_a_paused_number_of_frames_is_sent_to_the_end(api: Any) -> None:
    config = two_ports()
    udp_flow(config, "one", packets=100_000_000)
    endless(config, "two")
    api.set_config(config)
    set_traffic(api, "start")
    set_traffic(api, "pause", ["one"])
    (one, _) = flow_metrics(api)
    assert one.transmit == "paused" and one.frames_tx < 100_000_000
    set_traffic(api, "stop")
    assert states(api) == {"one": "stopped", "two": "stopped"}


def test_the_times_of_the_first_and_last_frame(api: Any) -> None:
    config = two_ports()
    flow = udp_flow(config, packets=11)
    flow.metrics.timestamps = True
    flow.metrics.latency.enable = True
    flow.metrics.latency.mode = "cut_through"
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    first, last = metric.timestamps.first_timestamp_ns, metric.timestamps.last_timestamp_ns
    assert first == pytest.approx(metric.latency.average_ns, abs=2)
    assert last - first == pytest.approx(10_000_000, abs=2)


def test_ports_count_all_flows_while_they_run(api: Any) -> None:
    config = two_ports()
    endless(config, "one")
    endless(config, "two", tx="p2", rx="p1")
    api.set_config(config)
    set_traffic(api, "start")
    until(api, lambda found: min(metric.frames_tx for metric in found) > 0)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p1"]
    (port,) = api.get_metrics(request).port_metrics
    one, two = flow_metrics(api)
    assert 0 < port.frames_tx <= one.frames_tx and 0 < port.frames_rx <= two.frames_rx
    assert port.transmit == "started"
    set_traffic(api, "stop")
