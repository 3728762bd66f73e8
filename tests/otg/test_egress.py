"""Metrics by what is tagged in the frames that arrive, on a simulated device that rewrites some of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.otg_server import otg_client, set_traffic, two_ports, udp_flow, until_stopped

DEVICE = """\
link_bits_per_second = 1e9

[[rewrite]]
changes = ["IP.dscp=8"]
every = 4

[[rewrite]]
changes = ["push=Dot1Q(vlan=5)"]
frames = [1]
"""


@pytest.fixture(scope="module", params=["http", "grpc"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    with otg_client(request.param) as client:
        yield client


@pytest.fixture
def ports(tmp_path: Path) -> tuple[str, str]:
    device = tmp_path / "remarks.toml"
    device.write_text(DEVICE)
    return f"sim:{device}#1", f"sim:{device}#2"


def rows(metric: Any) -> dict[tuple[tuple[str, int], ...], tuple[int, int, int]]:
    """Sent and received frames and received bytes by the tags."""
    return {
        tuple((tag.name, int(tag.value.hex, 16)) for tag in each.tags): (each.frames_tx, each.frames_rx, each.bytes_rx)
        for each in metric.tagged_metrics
    }


def test_frames_are_counted_by_the_headers_with_which_they_arrive(api: Any, ports: tuple[str, str]) -> None:
    config = two_ports(*ports)
    flow = udp_flow(config, packets=100)
    flow.packet[1].priority.dscp.phb.values = [10, 46]
    flow.packet[1].priority.dscp.phb.metric_tags.metrictag(name="sent", offset=0, length=6)
    ethernet, ip = flow.egress_packet.ethernet().ipv4()
    ethernet.dst.metric_tags.metrictag(name="mac", offset=40, length=8)
    ip.priority.raw.metric_tags.metrictag(name="arrived", offset=0, length=6)
    # Mixed sizes are told apart by the stream, and counted with their own bytes.
    flow.size.weight_pairs.custom.add(size=128, weight=1)
    flow.size.weight_pairs.custom.add(size=256, weight=1)
    assert api.set_config(config).warnings == []
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    # Of each of the two streams, which are one size and one code point, frame 0, 4, … is rewritten and frame 1 tagged.
    assert rows(metric) == {
        (("sent", 10), ("mac", 2), ("arrived", 8)): (0, 13, 13 * 128),
        (("sent", 10), ("mac", 2), ("arrived", 10)): (0, 36, 36 * 128),
        (("sent", 10),): (50, 50, 50 * 128),
        (("sent", 46), ("mac", 2), ("arrived", 8)): (0, 13, 13 * 256),
        (("sent", 46), ("mac", 2), ("arrived", 46)): (0, 36, 36 * 256),
        (("sent", 46),): (50, 50, 50 * 256),
    }
    (said,) = set_traffic(api, "stop").warnings
    assert said.startswith("flows[0].egress_packet: 2 frames arrived with other headers")


def test_any_bits_of_a_header_behind_a_tag(api: Any, ports: tuple[str, str]) -> None:
    config = two_ports(*ports)
    flow = udp_flow(config, packets=3)
    _, vlan, ip = flow.egress_packet.ethernet().vlan().ipv4()
    vlan.id.metric_tags.metrictag(name="vlan", offset=9, length=3)
    ip.dst.metric_tags.metrictag(name="dst", offset=16, length=12)
    api.set_config(config)
    set_traffic(api, "start")
    (metric,) = until_stopped(api)
    assert rows(metric) == {(("vlan", 5), ("dst", 0x020)): (0, 1, 132)}


def test_a_flow_of_several_sizes_beside_one_that_counts_headers(api: Any, ports: tuple[str, str]) -> None:
    """Its start once failed, as headers are compared in frames of one size only."""
    config = two_ports(*ports)
    udp_flow(config, "counts").egress_packet.ethernet()[-1].dst.metric_tags.metrictag(name="mac")
    beside = udp_flow(config, "beside", packets=30)
    beside.size.increment.start, beside.size.increment.end, beside.size.increment.step = 64, 128, 32
    api.set_config(config)
    set_traffic(api, "start")
    counts, beside = until_stopped(api)
    assert rows(counts) == {(("mac", 0x02_00_00_00_00_02),): (0, 100, 100 * 128 + 4)}
    assert (beside.frames_rx, beside.bytes_rx, len(beside.tagged_metrics)) == (30, 30 * 96, 0)


def test_a_header_that_cannot_be_read_from_frames_is_refused(api: Any, ports: tuple[str, str]) -> None:
    config = two_ports(*ports)
    udp_flow(config).egress_packet.ethernet().arp()
    with pytest.raises(Exception, match=r"flows\[0\].egress_packet\[1\].arp"):
        api.set_config(config)
