"""Flows with several receiving ports, in virtual time: where frames count, and what such flows cannot have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import snappi
from support.otg_server import otg_client, set_traffic, udp_flow, until, until_stopped

from keisoku.faces.otg.configuration import configuration
from keisoku.faces.otg.flow.flow import Flow
from keisoku.faces.otg.reading.conformance import checked

_HOST = "02:00:00:00:0a:03"


_SWITCH = "name = 'a learning switch'\nports = 4\n[address_table]\nentries = 100\n"


def three_ports(device: str = "gs908e") -> Any:
    config = snappi.Config()
    for number in (1, 2, 3):
        config.ports.port(name=f"p{number}", location=f"sim:{device}#{number}")
    return config


@pytest.fixture
def switch(tmp_path: Path) -> str:
    """A simulated device that learns addresses, and sends frames to others to all ports."""
    file = tmp_path / "switch.toml"
    file.write_text(_SWITCH)
    return str(file)


def spread(config: Any, **more: Any) -> Any:
    """A flow from p1 that may arrive at p2 and p3."""
    flow = udp_flow(config, "spread", **more)
    flow.tx_rx.port.rx_names = ["p2", "p3"]
    flow.packet[0].dst.value = _HOST
    flow.metrics.predefined_metric_tags.rx_name = True
    return flow


def by_receiver(metric: Any) -> dict[str, int]:
    own = [tagged for tagged in metric.tagged_metrics if tagged.tags[0].name == "rx_name"]
    return {tagged.tags[0].value.str: tagged.frames_rx for tagged in own}


def test_what_a_switch_floods_is_received_at_both_ports_and_lost_at_none(switch: str) -> None:
    config = three_ports(switch)
    spread(config)
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        (found,) = until_stopped(api)
        request = snappi.MetricsRequest()
        request.port.port_names = []
        ports = api.get_metrics(request).port_metrics
    assert (found.frames_tx, found.frames_rx, found.loss, found.port_rx) == (100, 200, 0, "p2, p3")
    assert by_receiver(found) == {"p2": 100, "p3": 100}
    assert [(port.frames_tx, port.frames_rx) for port in ports] == [(100, 0), (0, 100), (0, 100)]


def test_a_flow_that_names_no_receiver_counts_frames_wherever_they_arrive(switch: str) -> None:
    """The quick start of OTG's conformance tests was refused: "a flow needs a receiving port"."""
    config = three_ports(switch)
    flow = udp_flow(config)
    flow.tx_rx.port.rx_names = []
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        (found,) = until_stopped(api)
    assert (found.frames_tx, found.frames_rx, found.port_rx) == (100, 200, "p2, p3")


def test_frames_to_a_learned_host_are_received_at_its_port_only_also_while_traffic_runs(switch: str) -> None:
    config = three_ports(switch)
    teacher = udp_flow(config, "teacher", tx="p3", rx="p1", packets=10)
    teacher.packet[0].src.value = _HOST
    flow = spread(config, packets=1_000_000)
    flow.rate.pps = 10_000  # before the switch forgets the host after 300 s
    flow.duration.fixed_packets.delay.nanoseconds = 10_000_000
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        (live,) = until(api, lambda found: found[0].frames_rx > 0, "spread")
        assert live.transmit == "started"
        set_traffic(api, "stop")
        (found,) = until_stopped(api, "spread")
    assert set(by_receiver(live)) == set(by_receiver(found)) == {"p3"}
    assert by_receiver(found)["p3"] == found.frames_rx == found.frames_tx


def understood(config: Any) -> Flow:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None).flows[0]


def test_a_host_receives_what_is_sent_to_it_and_any_port_what_the_script_addresses() -> None:
    config = three_ports()
    for number in (1, 2, 3):
        ethernet = config.devices.device(name=f"d{number}")[-1].ethernets.add(
            name=f"e{number}", mac=f"02:00:00:00:01:0{number}"
        )
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv4_addresses.add(name=f"ip{number}", address=f"198.18.{number}.2", gateway=f"198.18.{number}.1")
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["ip1"], ["ip2", "ip3"]
    _, ip = flow.packet.ethernet().ipv4()
    assert understood(config).receivers == ()
    ip.dst.value = "198.18.9.9"
    assert understood(config).receivers == (1, 2)
    flow.tx_rx.device.tx_names, flow.tx_rx.device.mode = ["ip1", "ip2"], "one_to_one"
    flow.tx_rx.device.rx_names = ["ip2", "ip1"]
    assert understood(config).receivers == ()


def test_headers_that_arrive_are_counted_at_all_receiving_ports(switch: str) -> None:
    """Tests of static routes to several next hops tag what arrives, and were refused."""
    config = three_ports(switch)
    flow = spread(config)
    (ip,) = flow.egress_packet.ethernet().ipv4()[1:]
    ip.time_to_live.metric_tags.metrictag(name="hops")
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        (found,) = until_stopped(api)
    tagged = {
        tag.name: (tag.value.hex or tag.value.str, own.frames_rx) for own in found.tagged_metrics for tag in own.tags
    }
    assert tagged["hops"] == ("0x40", 200)
    assert by_receiver(found) == {"p2": 100, "p3": 100}
