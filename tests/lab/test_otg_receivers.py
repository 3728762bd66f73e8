"""A flow with several receiving ports, over the router with a nexthop group of the lab: what arrived where."""

from __future__ import annotations

import pytest
import snappi
from support.otg_bgp import protocols
from support.otg_server import otg_client, set_traffic, until_stopped

pytestmark = pytest.mark.lab
_FRAMES = 2000


def test_a_flow_may_come_back_to_its_own_port() -> None:
    """A router has both hosts at one port, so its frames leave where they came in."""
    config = snappi.Config()
    config.ports.port(name="p1", location="lab:router#1").port(name="p2", location="lab:router#2")
    for host in (77, 78):
        ethernet = config.devices.device(name=f"d{host}")[-1].ethernets.add(
            name=f"e{host}", mac=f"02:00:00:00:01:{host}"
        )
        ethernet.connection.port_name = "p1"
        ethernet.ipv4_addresses.add(name=f"ip{host}", address=f"198.18.1.{host}", gateway="198.18.1.1")
    for name, there in (("back", "ip78"), ("lost", "ip77")):
        flow = config.flows.flow(name=name)[-1]
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["ip77"], [there]
        flow.packet.ethernet().ipv4().udp()
        flow.size.fixed, flow.rate.pps = 128, 2_000
        flow.duration.fixed_packets.packets = _FRAMES
        flow.metrics.enable = flow.metrics.loss = True
    config.flows[1].packet[0].dst.value = "02:00:00:00:00:99"
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        set_traffic(api, "start")
        back, lost = until_stopped(api)
    assert (back.port_tx, back.port_rx) == ("p1", "p1")
    assert (back.frames_tx, back.frames_rx, back.loss) == (_FRAMES, _FRAMES, 0)
    assert (lost.frames_tx, lost.frames_rx, lost.loss) == (_FRAMES, 0, 100), "what is sent is no arrival"


def test_frames_of_a_nexthop_group_are_counted_at_each_port_and_in_sum() -> None:
    config = snappi.Config()
    for number in (1, 2, 3):
        config.ports.port(name=f"p{number}", location=f"lab:ecmp#{number}")
        ethernet = config.devices.device(name=f"d{number}")[-1].ethernets.add(
            name=f"e{number}", mac=f"02:00:00:00:01:0{number}"
        )
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv4_addresses.add(name=f"ip{number}", address=f"198.18.{number}.77", gateway=f"198.18.{number}.1")
    flow = config.flows.flow(name="spread")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["ip1"], ["ip2", "ip3"]
    _, ip, udp = flow.packet.ethernet().ipv4().udp()
    ip.dst.value = "198.18.2.2"
    udp.src_port.increment.start, udp.src_port.increment.count = 5000, 64
    flow.size.weight_pairs.custom.add(size=128, weight=1)
    flow.size.weight_pairs.custom.add(size=256, weight=1)
    flow.rate.pps = 10_000
    flow.duration.fixed_packets.packets = _FRAMES
    flow.metrics.enable = flow.metrics.loss = flow.metrics.predefined_metric_tags.rx_name = True
    (ethernet,) = flow.egress_packet.ethernet()
    ethernet.dst.metric_tags.metrictag(name="to", offset=40, length=8)
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        set_traffic(api, "start")
        (found,) = until_stopped(api)
        request = snappi.MetricsRequest()
        request.port.port_names = ["p2", "p3"]
        ports = {port.name: port for port in api.get_metrics(request).port_metrics}
    assert found.port_rx == "p2, p3"
    assert (found.frames_tx, found.frames_rx, found.loss) == (_FRAMES, _FRAMES, 0)
    tags = [(tagged.tags[0], tagged) for tagged in found.tagged_metrics]
    arrived = {tag.value.str: tagged for tag, tagged in tags if tag.name == "rx_name"}
    assert set(arrived) == {"p2", "p3"}, "the group sends some of 64 source ports to each member"
    for counter in ("frames_rx", "bytes_rx"):
        assert sum(getattr(tagged, counter) for tagged in arrived.values()) == getattr(found, counter)
    assert all(ports[name].frames_rx >= tagged.frames_rx > 0 for name, tagged in arrived.items())
    # The router gives its frames another destination at each port, of which this is the last octet.
    to = [tagged.frames_rx for tag, tagged in tags if tag.name == "to"]
    assert sorted(to) == sorted(tagged.frames_rx for tagged in arrived.values())
