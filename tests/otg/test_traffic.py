"""snappi's own client against the server, on a simulated device: time is computed, so nothing depends on the host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snappi
from support.otg_server import (
    both_ways,
    flow_metrics,
    otg_client,
    otg_clients,
    set_traffic,
    two_ports,
    udp_flow,
    until_stopped,
)


@pytest.fixture(scope="module", params=["http", "grpc"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    with otg_client(request.param) as client:
        yield client


def test_fixed_packets_are_sent_exactly_and_counted(api: Any) -> None:
    config = two_ports()
    udp_flow(config, packets=1234)
    api.set_config(config)
    assert set_traffic(api, "start").warnings == []
    (metric,) = until_stopped(api)
    assert (metric.name, metric.port_tx, metric.port_rx) == ("f1", "p1", "p2")
    assert (metric.frames_tx, metric.frames_rx, metric.loss) == (1234, 1234, 0.0)
    assert (metric.bytes_tx, metric.bytes_rx) == (1234 * 128, 1234 * 128)


def test_a_script_of_real_ports_runs_in_virtual_time(api: Any) -> None:
    found = both_ways(api, "sim:gs908e#1", "sim:gs908e#2")
    assert [(metric.name, metric.frames_tx, metric.frames_rx) for metric in found] == [
        ("there", 50, 50),
        ("back", 50, 50),
    ]
    assert all(metric.latency.minimum_ns > 0 for metric in found)


def test_a_start_clears_the_counts_and_a_stop_keeps_them(api: Any) -> None:
    config = two_ports()
    udp_flow(config, "one", packets=10)
    udp_flow(config, "two", tx="p2", rx="p1", packets=20, size=200)
    api.set_config(config)
    assert set_traffic(api, "start").warnings == []
    assert [metric.frames_rx for metric in until_stopped(api)] == [10, 20]
    set_traffic(api, "stop")
    assert [metric.frames_tx for metric in flow_metrics(api)] == [10, 20]
    set_traffic(api, "start", ["two"])
    assert [metric.frames_tx for metric in until_stopped(api)] == [0, 20]


def test_ports_count_what_passes_them(api: Any) -> None:
    config = two_ports()
    udp_flow(config, "one", packets=10)
    udp_flow(config, "two", tx="p2", rx="p1", packets=20, size=200)
    api.set_config(config)
    set_traffic(api, "start")
    until_stopped(api)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p2"]
    (metric,) = api.get_metrics(request).port_metrics
    assert (metric.name, metric.frames_tx, metric.frames_rx) == ("p2", 20, 10)
    assert (metric.bytes_tx, metric.bytes_rx, metric.transmit, metric.link) == (4000, 1280, "stopped", "up")


def test_latency_by_both_definitions_differs_by_the_time_of_a_frame(api: Any) -> None:
    found = {}
    for mode in ("cut_through", "store_forward"):
        config = two_ports()
        flow = udp_flow(config, size=1000)
        flow.metrics.latency.enable = True
        flow.metrics.latency.mode = mode
        api.set_config(config)
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
        latency = metric.latency
        assert latency.minimum_ns <= latency.average_ns <= latency.maximum_ns
        found[mode] = latency.average_ns
    # 1000 bytes at 1 Gb/s.
    assert found["cut_through"] - found["store_forward"] == pytest.approx(8000)


def test_a_continuous_flow_goes_on_until_it_is_stopped(api: Any) -> None:
    config = two_ports()
    flow = udp_flow(config)
    flow.duration.continuous.gap = 12
    flow.rate.percentage = 100
    api.set_config(config)
    set_traffic(api, "start")
    while not (live := flow_metrics(api)[0]).frames_tx:
        pass
    assert live.transmit == "started"
    set_traffic(api, "stop")
    (metric,) = flow_metrics(api)
    assert metric.transmit == "stopped"
    assert metric.frames_tx >= live.frames_tx > 0


def _endless() -> Any:
    config = two_ports()
    udp_flow(config).duration.continuous.gap = 12
    return config


@pytest.mark.parametrize(("first", "second"), [("http", "http"), ("http", "grpc"), ("grpc", "http")])
def test_a_configuration_does_not_end_traffic_of_another(first: str, second: str) -> None:
    """It once did, without a word to the client that had started it."""
    with otg_clients() as connect:
        api, other = connect(first), connect(second)
        api.set_config(_endless())
        set_traffic(api, "start")
        for config in (two_ports(), snappi.Config()):
            with pytest.raises(Exception, match=r"409(.|\n)*traffic is running"):
                other.set_config(config)
        assert flow_metrics(other)[0].transmit == "started"
        # Traffic belongs to the one that starts it.
        set_traffic(other, "stop")
        set_traffic(other, "start")
        with pytest.raises(Exception, match="traffic is running"):
            api.set_config(two_ports())
        set_traffic(api, "stop")
        assert api.set_config(two_ports()).warnings == []


def test_a_script_may_replace_its_own_traffic(api: Any) -> None:
    """OTG's other engines end the traffic; it was refused to the script itself."""
    api.set_config(_endless())
    set_traffic(api, "start")
    api.set_config(two_ports())
    assert flow_metrics(api) == []


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_a_server_that_takes_over_ends_traffic(transport: str) -> None:
    with otg_client(transport, take_over=True) as client:
        client.set_config(_endless())
        set_traffic(client, "start")
        client.set_config(two_ports())
        assert flow_metrics(client) == []


def test_a_client_that_never_stops_is_told_why_traffic_was_invalid(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that offered 4365 of 5000 frames once looked like any other."""
    config = two_ports()
    udp_flow(config, packets=10)
    api.set_config(config)
    set_traffic(api, "start")
    monkeypatch.setattr(
        "keisoku.faces.otg.traffic.session.reasons", lambda trial, facts: ["the host held the tester up"]
    )
    said = ["the last traffic is invalid: the host held the tester up"]
    until_stopped(api)
    assert set_traffic(api, "start").warnings == said
    until_stopped(api)
    assert api.set_config(config).warnings == said
    assert api.set_config(config).warnings == []


def test_flows_may_repeat_after_more_frames_than_a_port_holds_for_a_plan(api: Any) -> None:
    """16 MiB a port, shared by its flows: one such flow was refused, two smaller ones only when traffic was started."""
    config = two_ports()
    for name in ("f1", "f2"):
        flow = udp_flow(config, name, packets=50_010, size=512)
        flow.rate.pps = 1_000_000
        flow.packet[2].src_port.increment.start, flow.packet[2].src_port.increment.count = 1000, 50_000
    api.set_config(config)
    set_traffic(api, "start")
    assert [(flow.frames_tx, flow.loss) for flow in until_stopped(api)] == [(50_010, 0.0)] * 2


def test_seconds_bursts_and_percentages_have_exact_frames(api: Any) -> None:
    config = two_ports()
    timed = udp_flow(config, "timed", size=64)
    timed.rate.percentage = 50
    timed.duration.fixed_seconds.seconds = 0.01
    bursts = udp_flow(config, "bursts", tx="p2", rx="p1")
    bursts.duration.burst.bursts = 7
    bursts.duration.burst.packets = 9
    bursts.duration.burst.inter_burst_gap.microseconds = 500
    api.set_config(config)
    set_traffic(api, "start")
    # 50 % of 1 488 095 frames/s for 10 ms.
    assert [metric.frames_tx for metric in until_stopped(api)] == [7440, 63]


def test_the_configuration_comes_back_as_it_was_sent(api: Any) -> None:
    config = two_ports()
    udp_flow(config)
    api.set_config(config)
    assert api.get_config().serialize("dict") == config.serialize("dict")
    api.set_config(snappi.Config())
    assert api.get_config().serialize("dict") == {}
    assert flow_metrics(api) == []


def test_flows_are_changed_added_and_taken_away(api: Any) -> None:
    config = two_ports()
    udp_flow(config, "one", packets=10)
    api.set_config(config)
    change = snappi.ConfigUpdate()
    change.flows.property_names = ["size"]
    flow = change.flows.flows.add(name="one")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
    flow.size.fixed = 300
    api.update_config(change)
    other = two_ports()
    more = snappi.ConfigAppend()
    more.config_append_list.add().flows.append(udp_flow(other, "two", packets=5))
    api.append_config(more)
    set_traffic(api, "start")
    assert [(metric.name, metric.bytes_tx) for metric in until_stopped(api)] == [("one", 3000), ("two", 5 * 128)]
    less = snappi.ConfigDelete()
    less.config_delete_list.add().flows = ["one"]
    api.delete_config(less)
    assert [metric.name for metric in flow_metrics(api)] == ["two"]


def test_what_names_nothing_is_refused(api: Any) -> None:
    api.set_config(two_ports())
    with pytest.raises(Exception, match="there is no flow nobody"):
        flow_metrics(api, "nobody")
    with pytest.raises(Exception, match="the configuration has no flow"):
        set_traffic(api, "start")


def test_flows_between_devices_have_their_addresses(api: Any) -> None:
    config = two_ports()
    for number in (1, 2):
        device = config.devices.device(name=f"d{number}")[-1]
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:01:0{number}")
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv4_addresses.add(name=f"ip{number}", address=f"198.18.{number}.2", gateway=f"198.18.{number}.1")
    flow = config.flows.flow(name="between")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["ip1"], ["ip2"]
    flow.packet.ethernet().ipv4().udp()
    flow.size.fixed = 100
    flow.duration.fixed_packets.packets = 5
    flow.metrics.enable = True
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert (metric.frames_tx, metric.frames_rx) == (5, 5)


def counters(metric: Any) -> dict[str, float | None]:
    """What OTG's model has as a number."""
    return {name: metric.get(name) for name, kind in metric._TYPES.items() if kind.get("type") in (int, float)}


def test_every_counter_is_in_every_answer(api: Any) -> None:
    """A client that is generated from the model, as gosnappi is, looks at each of them without asking."""
    config = two_ports()
    flow = udp_flow(config, packets=3000)
    flow.size.increment.start, flow.size.increment.end, flow.size.increment.step = 64, 80, 16
    api.set_config(config)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p1", "p2"]
    ended = started = False
    while not ended:
        ports = api.get_metrics(request).port_metrics
        (of_flow,) = flow_metrics(api)
        ended = started and of_flow.transmit == "stopped"
        for port in ports:
            assert {name for name, value in counters(port).items() if value is None} <= {"last_change", "speed"}
        # What shares of frames were lost is not known before the last one has arrived.
        assert {name for name, value in counters(of_flow).items() if value is None} <= {"loss"}
        if not started:
            assert not any(value for name, value in counters(of_flow).items() if name != "loss")
            set_traffic(api, "start")
            started = True
    assert (of_flow.bytes_tx, of_flow.bytes_rx) == (3000 * 72, 3000 * 72)


def test_bytes_of_the_sizes_that_arrived_are_counted(api: Any, tmp_path: Path) -> None:
    """Where frames of several sizes were lost, bytes_rx was once left out, and gosnappi ended with a nil pointer."""
    device = tmp_path / "half.toml"
    device.write_text("[loss]\nabove_frame_bytes = 1000\nabove_ratio = 0.5\n")
    config = two_ports(f"sim:{device}#1", f"sim:{device}#2")
    flow = udp_flow(config, packets=1000)
    flow.size.increment.start, flow.size.increment.end, flow.size.increment.step = 64, 1518, 1454
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert 600 < metric.frames_rx < 900
    assert metric.bytes_rx == 500 * 64 + (metric.frames_rx - 500) * 1518
