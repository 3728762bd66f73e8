"""OTG's times of interruptions: exact, from the lost frames of each flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snappi
from support.otg_server import flow_metrics, otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.traffic.convergence import ControlEvent
from keisoku.subjects.device.record.gaps import Gap

RESET_MS = 50.0
DEVICE = """
link_bits_per_second = 1_000_000_000
[reset]
at_ns = 300_000_000
duration_ns = 50_000_000
"""


@pytest.fixture(scope="module", params=["http", "grpc"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    with otg_client(request.param) as client:
        yield client


def configured(api: Any, file: Path, **wishes: bool) -> Any:
    """A flow of 1 s at 10 000 frames/s and one at 1000 frames/s through a device that resets itself."""
    file.write_text(DEVICE)
    config = two_ports(f"sim:{file}#1", f"sim:{file}#2")
    for name, pps in (("fast", 10_000), ("slow", 1_000)):
        flow = udp_flow(config, name, packets=pps)
        flow.rate.pps = pps
    config.options.flow_options.packet_loss_duration = wishes.get("duration", False)
    config.events.dp_events.enable = wishes.get("flows", False)
    config.events.cp_events.enable = wishes.get("links", False)
    api.set_config(config)
    set_traffic(api, "start")
    return until_stopped(api)


def convergence(api: Any, *names: str) -> list[Any]:
    request = snappi.MetricsRequest()
    request.convergence.flow_names = list(names)
    return list(api.get_metrics(request).convergence_metrics)


def test_the_duration_of_a_loss_is_known_to_a_frame_gap(api: Any, tmp_path: Path) -> None:
    fast, slow = configured(api, tmp_path / "resetting.toml", duration=True)
    assert fast.packet_loss_duration.value == pytest.approx(RESET_MS, abs=0.1)
    assert slow.packet_loss_duration.value == pytest.approx(RESET_MS, abs=1.0)
    assert fast.frames_tx - fast.frames_rx == pytest.approx(500, abs=1)


def test_without_the_option_there_is_no_duration(api: Any, tmp_path: Path) -> None:
    fast, _ = configured(api, tmp_path / "resetting.toml")
    assert fast.packet_loss_duration.value is None


def test_a_flow_converges_when_its_frames_arrive_again(api: Any, tmp_path: Path) -> None:
    configured(api, tmp_path / "resetting.toml", flows=True)
    fast, slow = convergence(api)
    assert [fast.name, slow.name] == ["fast", "slow"]
    assert fast.data_plane_convergence_us == pytest.approx(50_000, abs=100)
    assert slow.data_plane_convergence_us == pytest.approx(50_000, abs=1000)
    assert fast.control_plane_data_plane_convergence_us is None, "no link was set"
    below, above = fast.events
    assert (below.type, above.type) == ("flow_rx_rate_below_threshold", "flow_rx_rate_above_threshold")
    assert below.source == "fast"
    assert below.begin_timestamp_ns == pytest.approx(300e6, abs=100_000)
    assert above.begin_timestamp_ns == pytest.approx(350e6, abs=100_000)
    (only,) = convergence(api, "slow")
    assert only.name == "slow"


def test_a_flow_that_still_runs_converged_as_far_as_is_known() -> None:
    """Scripts that measure convergence ask before they stop the traffic, and had no metric."""
    controller = Controller(seed=1)
    try:
        config = two_ports()
        for name in ("one", "other"):
            udp_flow(config, name).duration.choice = "continuous"
        config.events.dp_events.enable = config.events.cp_events.enable = True
        controller.set_config(json.loads(config.serialize("json")))
        set_flows(controller, "start")
        set_flows(controller, "pause")  # meanwhile virtual time stands still
        engine, session = controller._ports.engine, controller._ports.session
        assert engine is not None
        gap = Gap(first=300, last=399, count=100, after_ns=299_000_000, before_ns=400_000_000)
        engine.longest_gaps = lambda: (gap, None)  # type: ignore[method-assign]
        session.causes += [ControlEvent("route_withdraw", "r1", 250_000_000, 260_000_000)]
        asked = {"choice": "convergence", "convergence": {"flow_names": []}}
        one, other = controller.get_metrics(asked)["convergence_metrics"]
        assert one["data_plane_convergence_us"] == pytest.approx(100_000)
        assert one["control_plane_data_plane_convergence_us"] == pytest.approx(149_500)
        names = [event["type"] for event in one["events"]]
        assert names == ["route_withdraw", "flow_rx_rate_below_threshold", "flow_rx_rate_above_threshold"]
        assert [event["type"] for event in other["events"]] == names[:1] and "data_plane_convergence_us" not in other
    finally:
        controller.close()


def set_flows(controller: Controller, state: str) -> None:
    traffic = {"choice": "flow_transmit", "flow_transmit": {"state": state}}
    controller.set_control_state({"choice": "traffic", "traffic": traffic})


def test_a_flow_without_a_loss_has_no_times(api: Any) -> None:
    config = two_ports()
    udp_flow(config, packets=100)
    config.options.flow_options.packet_loss_duration = True
    config.events.dp_events.enable = True
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert metric.packet_loss_duration.value == 0
    (metric,) = convergence(api)
    assert metric.data_plane_convergence_us is None and not metric.events


def test_without_events_there_are_no_metrics_of_convergence(api: Any) -> None:
    config = two_ports()
    udp_flow(config)
    api.set_config(config)
    with pytest.raises(Exception, match="no events were enabled"):
        convergence(api)
    assert flow_metrics(api)[0].packet_loss_duration.value is None
