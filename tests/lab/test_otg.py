"""snappi's own client against the server over the lab's bridge and router; asserts what holds on any host."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest
import snappi
from scapy.layers.inet import IP, UDP
from support.disturber import Disturber
from support.neighbours import known_neighbours
from support.otg_server import (
    both_ways,
    flow_metrics,
    otg_client,
    otg_clients,
    set_traffic,
    two_ports,
    udp_flow,
    until,
    until_stopped,
)

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module", params=["http", "grpc"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    with otg_client(request.param) as client:
        yield client


def test_flows_both_ways_over_the_bridge(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    there = udp_flow(config, "there", packets=200)
    back = udp_flow(config, "back", tx="p2", rx="p1", packets=300, size=300)
    there.packet[0].src.value, there.packet[0].dst.value = "02:00:00:00:0a:01", "02:00:00:00:0a:02"
    back.packet[0].src.value, back.packet[0].dst.value = "02:00:00:00:0a:02", "02:00:00:00:0a:01"
    there.packet[2].src_port.increment.start = 5000
    there.packet[2].src_port.increment.count = 16
    api.set_config(config)
    set_traffic(api, "start")
    first, second = until_stopped(api)
    assert (first.frames_tx, second.frames_tx) == (200, 300)
    assert first.frames_rx <= 200 and second.frames_rx <= 300
    assert first.loss == pytest.approx(100 * (200 - first.frames_rx) / 200)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p1"]
    (port,) = api.get_metrics(request).port_metrics
    assert (port.name, port.link, port.frames_tx) == ("p1", "up", 200)


@pytest.mark.parametrize("device", ["lab:bridge", "lab:cable"])
def test_a_flow_of_the_only_port_needs_no_receiver(api: Any, device: str) -> None:
    """The quick start of OTG's conformance tests, which was refused; at a cable whose other end was not open the driver
    took no XDP frames ("Device or resource busy")."""
    config = snappi.Config()
    config.ports.port(name="p1", location=f"{device}#1")
    flow = udp_flow(config)
    flow.tx_rx.port.rx_names = []
    api.set_config(config)
    set_traffic(api, "start")
    (found,) = until_stopped(api)
    assert (found.frames_tx, found.frames_rx, found.loss) == (100, 0, 100)


def test_a_script_of_simulated_ports_runs_on_the_lab(api: Any) -> None:
    found = both_ways(api, "lab:bridge#1", "lab:bridge#2")
    assert [(metric.name, metric.frames_tx) for metric in found] == [("there", 50), ("back", 50)]
    assert all(0 < metric.frames_rx <= 50 and metric.latency.minimum_ns > 0 for metric in found)


def test_flows_between_devices_find_the_router(api: Any) -> None:
    config = two_ports("lab:router#1", "lab:router#2")
    for number in (1, 2):
        device = config.devices.device(name=f"d{number}")[-1]
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:01:0{number}")
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv4_addresses.add(name=f"ip{number}", address=f"198.18.{number}.77", gateway=f"198.18.{number}.1")
    flow = config.flows.flow(name="between")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["ip1"], ["ip2"]
    _, _, udp = flow.packet.ethernet().ipv4().udp()
    udp.dst_port.value = 6000
    ethernet, ip = flow.egress_packet.ethernet().ipv4()
    ethernet.dst.metric_tags.metrictag(name="host", offset=40, length=8)
    ip.time_to_live.metric_tags.metrictag(name="hops")
    flow.size.fixed = 128
    flow.duration.fixed_packets.packets = 100
    flow.metrics.enable = True
    flow.metrics.latency.enable = True
    flow.metrics.latency.mode = "store_forward"
    api.set_config(config)
    # Hosts are there at once: some scripts never start protocols.
    states = snappi.StatesRequest()
    states.ipv4_neighbors.ethernet_names = ["e1"]
    (neighbour,) = api.get_states(states).ipv4_neighbors
    assert (neighbour.ethernet_name, neighbour.ipv4_address) == ("e1", "198.18.1.1")
    assert len(neighbour.link_layer_address) == 17
    control = snappi.ControlState()
    control.protocol.all.state = "stop"
    api.set_control_state(control)
    assert list(api.get_states(states).ipv4_neighbors) == []
    control.protocol.all.state = "start"
    api.set_control_state(control)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert metric.frames_tx == 100
    assert 0 < metric.frames_rx <= 100
    assert 0 < metric.latency.minimum_ns <= metric.latency.average_ns <= metric.latency.maximum_ns
    # The router lowers the time to live, 64 by OTG's default, and addresses the frames to the host.
    (arrived,) = metric.tagged_metrics
    assert {tag.name: tag.value.hex for tag in arrived.tags} == {"host": "0x02", "hops": "0x3f"}
    assert (arrived.frames_rx, arrived.bytes_rx) == (metric.frames_rx, 128 * metric.frames_rx)


def test_a_router_knows_the_receiving_host_before_the_first_frame(api: Any) -> None:
    """It asked for the host when the first frame came, and dropped frames until it had the answer."""
    config = two_ports("lab:router#1", "lab:router#2")
    for number in (1, 2):
        ethernet = config.devices.device(name=f"d{number}")[-1].ethernets.add(
            name=f"e{number}", mac=f"02:00:00:00:02:0{number}"
        )
        ethernet.connection.port_name = f"p{number}"
        for version, network in ((4, f"198.18.{number}."), (6, f"2001:2:0:{number}::")):
            addresses = ethernet.ipv4_addresses if version == 4 else ethernet.ipv6_addresses
            addresses.add(name=f"v{version}-{number}", address=f"{network}77", gateway=f"{network}1")
    for version in (4, 6):
        flow = config.flows.flow(name=f"v{version}")[-1]
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"v{version}-1"], [f"v{version}-2"]
        flow.duration.fixed_packets.packets = 1
        flow.duration.fixed_packets.delay.nanoseconds = 1e14
        flow.size.fixed = 128
    api.set_config(config)
    set_traffic(api, "start")
    assert {"198.18.2.77", "2001:2:0:2::77"} <= known_neighbours().keys()
    set_traffic(api, "stop")


def test_a_flow_of_a_number_of_frames_is_not_over_while_the_host_stops_its_sender() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    udp_flow(config, packets=300)
    with otg_client() as api:
        api.set_config(config)
        set_traffic(api, "start")
        until(api, lambda found: found[0].frames_tx > 0)
        # The sender is on the first CPU, and the frames that are handed to it all leave in the end.
        with Disturber(stop_ms=800, every_ms=1000, cpus=[min(os.sched_getaffinity(0))]):
            (flow,) = until_stopped(api)
    assert flow.frames_tx == 300


def test_a_configuration_right_after_the_last_frame_is_taken() -> None:
    """Scripts count frames and go on. Traffic that only waits for late frames refused the next one by 409."""
    config = two_ports("lab:cable#1", "lab:cable#2")
    udp_flow(config, packets=20)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p2"]
    with otg_clients() as connect:
        for transport in ("http", "grpc", "http"):
            api = connect(transport)
            api.set_config(config)
            set_traffic(api, "start")
            while api.get_metrics(request).port_metrics[0].frames_rx < 20:
                pass


def test_absent_gateways_are_asked_for_together_and_others_are_answered_meanwhile() -> None:
    """Each took 3 s, one after the other, and no other request was answered meanwhile."""
    config = two_ports("lab:router#1", "lab:router#2")
    device = config.devices.device(name="d")[-1]
    for number in range(1, 31):
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:01:{number:02x}")
        ethernet.connection.port_name = "p1"
        gateway = "198.18.1.1" if number <= 10 else f"198.18.1.{100 + number}"
        ethernet.ipv4_addresses.add(name=f"ip{number}", address=f"198.18.1.{10 + number}", gateway=gateway)
    states = snappi.StatesRequest()
    states.ipv4_neighbors.ethernet_names = []
    with otg_clients() as connect, ThreadPoolExecutor(1) as pool:
        api = connect("http")
        api.set_config(config)
        asked = pool.submit(api.get_states, states)
        while not asked.running():
            pass
        answers = 0
        while not asked.done():
            connect("http").get_config()
            answers += 1
        found = {each.ethernet_name: each.link_layer_address for each in asked.result().ipv4_neighbors}
    assert answers > 3 and len(found) == 30
    assert [name for name, mac in found.items() if mac] == [f"e{number}" for number in range(1, 11)]


def test_what_a_port_receives_is_captured_with_its_fcs(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    flow = udp_flow(config, packets=20, size=150)
    flow.packet[2].src_port.values = [5000, 5001, 5002]
    config.captures.capture(name="c")[-1].port_names = ["p2"]
    api.set_config(config)
    _capture(api, "start")
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    request = snappi.CaptureRequest()
    request.port_name = "p2"
    deadline_s = monotonic() + 20
    while len(_records(api.get_capture(request).read())) < 20:  # while it runs
        assert monotonic() < deadline_s
    _capture(api, "stop")
    records = _records(api.get_capture(request).read())
    own = [frame for frame in records if frame[23] == 17 and frame[36:38] == (6000).to_bytes(2, "big")]
    assert len(own) == metric.frames_rx == 20
    assert {len(frame) for frame in own} == {150}
    assert all(zlib.crc32(frame[:-4]) == int.from_bytes(frame[-4:], "little") for frame in own)
    assert [int.from_bytes(frame[34:36], "big") for frame in own] == [5000 + number % 3 for number in range(20)]


def test_every_frame_of_many_different_ones_is_sent() -> None:
    """50 000 ports of 512 bytes are more than a sender holds for a plan."""
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for name, first in (("f1", 1000), ("f2", 11_000)):
        flow = udp_flow(config, name, packets=50_000, size=512)
        flow.rate.pps = 20_000
        ports = flow.packet[2].src_port.increment
        ports.start, ports.count = first, 50_000
    capture = config.captures.capture(name="c")[-1]
    capture.port_names, capture.packet_size = ["p2"], 64
    with otg_client() as api:
        api.set_config(config)
        _capture(api, "start")
        set_traffic(api, "start")
        assert [(flow.frames_tx, flow.loss) for flow in until_stopped(api)] == [(50_000, 0.0)] * 2
        request = snappi.CaptureRequest()
        request.port_name = "p2"
        records = _records(api.get_capture(request).read())
    seen = Counter(frame[34:36] for frame in records if frame[12:14] == b"\x08\x00")
    wanted = Counter(port.to_bytes(2, "big") for first in (1000, 11_000) for port in range(first, first + 50_000))
    assert seen == wanted


def _capture(api: Any, state: str) -> None:
    control = snappi.ControlState()
    control.port.capture.state = state
    control.port.capture.port_names = ["p2"]
    api.set_control_state(control)


def _records(pcap: bytes) -> list[bytes]:
    """Frames of a little-endian pcap file."""
    assert pcap[:4] == bytes.fromhex("4d3cb2a1")
    found, at = [], 24
    while at < len(pcap):
        kept = int.from_bytes(pcap[at + 8 : at + 12], "little")
        found.append(pcap[at + 16 : at + 16 + kept])
        at += 16 + kept
    return found


def test_flows_are_counted_paused_and_stopped_while_others_run(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    few = udp_flow(config, "few", packets=100)
    many = udp_flow(config, "many", tx="p2", rx="p1")
    many.duration.continuous.gap = 12
    few.packet[0].src.value, few.packet[0].dst.value = "02:00:00:00:0a:01", "02:00:00:00:0a:02"
    many.packet[0].src.value, many.packet[0].dst.value = "02:00:00:00:0a:02", "02:00:00:00:0a:01"
    api.set_config(config)
    set_traffic(api, "start", ["many"])
    until(api, lambda found: found[1].frames_tx > 0 and found[1].frames_rx > 0)
    set_traffic(api, "start", ["few"])
    found, running = until(api, lambda found: found[0].transmit == "stopped")
    assert found.frames_tx == 100 and found.frames_rx <= 100
    assert running.transmit == "started"
    set_traffic(api, "pause", ["many"])
    # What had been handed to the sender before the word came has left by now, on a host that did not stall.
    assert flow_metrics(api, "many")[0].transmit == "paused"
    set_traffic(api, "resume", ["many"])
    until(api, lambda later: later[1].frames_tx > running.frames_tx)
    set_traffic(api, "stop")
    few_, many_ = flow_metrics(api)
    assert (few_.frames_tx, few_.transmit, many_.transmit) == (100, "stopped", "stopped")
    assert many_.frames_rx <= many_.frames_tx


def test_a_link_goes_down_and_comes_up(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    api.set_config(config)
    assert [_link(api, "down"), _link(api, "up")] == ["down", "up"]


def test_an_mtu_that_a_port_does_not_have_is_refused(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    config.layer1.layer1(name="l", port_names=["p1"], mtu=13000)
    with pytest.raises(Exception, match=r"layer1\[0\].mtu: p1 has an MTU of"):
        api.set_config(config)


def test_a_capture_holds_what_its_filters_want(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    flow = udp_flow(config, packets=30, size=256)
    flow.packet.vxlan().ethernet().ipv4().udp()
    flow.packet[2].src_port.values, flow.packet[2].dst_port.value = [5000, 5001, 5002], 4789
    capture = config.captures.capture(name="c")[-1]
    capture.port_names, capture.format = ["p2"], "pcap"
    protocol = capture.filters.ipv4()[-1].protocol
    protocol.value, protocol.mask = "11", "ff"
    port = capture.filters.custom()[-1]
    port.offset, port.bit_length, port.value, port.mask = 34, 16, "1389", "ffff"
    api.set_config(config)
    _capture(api, "start")
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    _capture(api, "stop")
    request = snappi.CaptureRequest()
    request.port_name = "p2"
    records = _records(api.get_capture(request).read())
    assert metric.frames_rx == 30 and len(records) == 10
    assert all(frame[34:36] == (5001).to_bytes(2, "big") for frame in records)
    # The inner datagram ends four octets before the frame's own FCS, as in other implementations of the API.
    inner = IP(records[0][64:-4])
    assert inner.len == 256 - 14 - 20 - 8 - 8 - 14 - 4 - 4
    sent = inner[UDP].chksum
    del inner[UDP].chksum
    assert IP(bytes(inner)[: inner.len])[UDP].chksum == sent


def _link(api: Any, state: str) -> str:
    control = snappi.ControlState()
    control.port.link.port_names, control.port.link.state = ["p1"], state
    api.set_control_state(control)
    request = snappi.MetricsRequest()
    request.port.port_names = ["p1"]
    return str(api.get_metrics(request).port_metrics[0].link)


def test_a_link_that_a_script_sets_down_and_up_is_an_event_with_its_times(api: Any) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    flow = udp_flow(config)
    flow.packet[0].src.value, flow.packet[0].dst.value = "02:00:00:00:0a:01", "02:00:00:00:0a:02"
    flow.rate.pps = 2000
    flow.duration.choice = "continuous"
    config.options.flow_options.packet_loss_duration = True
    config.events.cp_events.enable = config.events.dp_events.enable = True
    api.set_config(config)
    set_traffic(api, "start")
    until(api, lambda found: found[0].frames_rx > 200)
    set_link(api, "down")
    (now,) = flow_metrics(api)
    until(api, lambda found: found[0].frames_tx > now.frames_tx + 400)
    set_link(api, "up")
    (now,) = flow_metrics(api)
    until(api, lambda found: found[0].frames_rx > now.frames_rx + 400)
    request = snappi.MetricsRequest()
    request.convergence.flow_names = []
    (running,) = api.get_metrics(request).convergence_metrics
    set_traffic(api, "stop")
    (metric,) = flow_metrics(api)
    (found,) = api.get_metrics(request).convergence_metrics
    assert running.serialize("dict") == found.serialize("dict")
    times = {event.type: event for event in found.events}
    down, up = times["link_down"], times["link_up"]
    below, above = times["flow_rx_rate_below_threshold"], times["flow_rx_rate_above_threshold"]
    gap_ns = 1e9 / 2000
    assert down.source == up.source == "p2" and below.source == above.source == "f1"
    # The link is down at some moment of the call, and the first frame is lost at most a frame gap later.
    assert down.begin_timestamp_ns - gap_ns <= below.begin_timestamp_ns <= down.end_timestamp_ns + gap_ns
    assert above.begin_timestamp_ns >= up.begin_timestamp_ns - gap_ns
    lost_ms = 1e3 * (metric.frames_tx - metric.frames_rx) / 2000
    # Longer than the lost frames say if the host stopped the sender meanwhile.
    assert metric.packet_loss_duration.value >= lost_ms - 2
    assert found.data_plane_convergence_us == pytest.approx(
        (above.begin_timestamp_ns - below.begin_timestamp_ns) / 1e3, abs=1
    )
    assert found.data_plane_convergence_us <= 1e3 * metric.packet_loss_duration.value + 1
    since_us = (above.begin_timestamp_ns - up.begin_timestamp_ns) / 1e3
    causes_us = {since_us, (above.begin_timestamp_ns - down.begin_timestamp_ns) / 1e3}
    assert any(found.control_plane_data_plane_convergence_us == pytest.approx(each) for each in causes_us)


def set_link(api: Any, state: str) -> None:
    control = snappi.ControlState()
    control.port.link.port_names = ["p2"]
    control.port.link.state = state
    api.set_control_state(control)


def test_a_tagged_flow_has_room_for_its_tag(api: Any) -> None:
    """1522 byte were refused at an MTU of 1500, although the kernel sends them."""
    for size, fits in ((1522, True), (1523, False)):
        config = two_ports("lab:bridge#1", "lab:bridge#2")
        flow = config.flows.flow(name="f1")[-1]
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
        flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = size, 1000, 50
        flow.metrics.enable = flow.metrics.loss = True
        ethernet, vlan, ip, udp = flow.packet.ethernet().vlan().ipv4().udp()
        ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
        vlan.id.value, ip.src.value, ip.dst.value = 5, "198.18.1.2", "198.18.2.2"
        udp.src_port.value, udp.dst_port.value = 5000, 6000
        if not fits:
            with pytest.raises(Exception, match="1522 bytes at most"):
                api.set_config(config)
            continue
        api.set_config(config)
        set_traffic(api, "start")
        (found,) = until_stopped(api)
        assert (found.frames_tx, found.frames_rx) == (50, 50)
    api.set_config(snappi.Config())
