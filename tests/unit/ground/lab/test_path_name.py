"""A path as a user writes it becomes hops and traffic, or one sentence says what is wrong."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import QUEUE_BYTES, Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.name import find_path, is_path

M = 1_000_000


def test_hops_have_rates_stages_and_buckets():
    path = find_path("path?hops=100M,50M/10M,100M+100M+1G,10M~15000&bucket=htb")
    assert path.hops == (
        Hop(100 * M),
        Hop(50 * M, 10 * M),
        Hop(100 * M, stages=(100 * M, 1000 * M)),
        Hop(10 * M, bucket_bytes=15_000, discipline="htb"),
    )
    assert path.hops[0].rates_bps == (100 * M, 100 * M)
    assert path.hop_addresses == ["198.18.1.2", "198.18.2.2", "198.18.3.2", "198.18.4.2"]


def test_one_value_is_for_all_hops_and_a_list_has_one_for_each():
    path = find_path("lab:path?hops=1G,1G&delay=1ms,20us&queue=64k&mtu=9100&loss=1%,0&jitter=3ns&overhead=38")
    first, second = path.hops
    assert (first.propagation_ns, second.propagation_ns) == (1_000_000, 20_000)
    assert (first.loss, second.loss) == (0.01, 0)
    assert [hop.queue_bytes for hop in path.hops] == [64_000, 64_000]
    assert (first.mtu, first.jitter_ns, first.overhead_bytes) == (9100, 3, 38)


def test_one_delay_leaves_token_buckets_alone():
    first, second = find_path("path?hops=1M,1M~3000&delay=1ms&queue=9k").hops
    assert (first.propagation_ns, second.propagation_ns, second.queue_bytes) == (1_000_000, 0, 9000)


def test_cross_traffic_names_its_hop_and_its_share():
    path = find_path("path?hops=1G,1G&cross=1:poisson:40%:reverse:40-576-1500,2:tcp:1")
    assert path.cross_traffic == (
        CrossTraffic(1, "poisson", 0.4, "reverse", (40, 576, 1500)),
        CrossTraffic(2, "tcp", 1.0),
    )


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("path", "device"),
        ("path?", "device"),
        ("path?hops", "device"),
        ("path?icmp=default", "device"),
        ("path?hops=1M&hops=1M", "device"),
        ("path?hops=1M&colour=red", "device"),
        ("path?hops=", "hops"),
        ("path?hops=fast", "hops"),
        ("path?hops=1M,", "hops"),
        ("path?hops=1M//2M", "hops"),
        ("path?hops=1T", "hops"),
        ("path?hops=1e999M", "hops"),
        ("path?hops=1M&delay=1e30s", "delay"),
        ("path?hops=" + ",".join(["1M"] * 17), "hops"),
        ("path?hops=0.1k", "hop 1"),
        ("path?hops=1M&mtu=9101", "hop 1"),
        ("path?hops=1M&loss=2", "hop 1"),
        ("path?hops=1M&delay=-1ms", "hop 1"),
        ("path?hops=1M,1M~1000", "hop 2"),
        ("path?hops=1M,1M+1M~15000", "hop 2"),
        ("path?hops=1M,1M~15000&delay=1ms,1ms", "hop 2"),
        ("path?hops=1M,1M&delay=1ms,1ms,1ms", "delay"),
        ("path?hops=1M&jitter=5m", "jitter"),
        ("path?hops=1M&bucket=leaky", "bucket"),
        ("path?hops=1M&icmp=loud", "icmp"),
        ("path?hops=1M&target=dances", "target"),
        ("path?hops=1M&silent=1", "silent"),
        ("path?hops=1M,1M&silent=x", "silent"),
        ("path?hops=1M&seed=-1", "seed"),
        ("path?hops=1M&cross=1", "cross"),
        ("path?hops=1M&cross=2:poisson:0.5", "cross"),
        ("path?hops=1M&cross=1:burst:0.5", "cross"),
        ("path?hops=1M&cross=1:poisson:0", "cross"),
        ("path?hops=1M&cross=1:tcp:1.5", "cross"),
        ("path?hops=10G&cross=1:constant:0.5:forward:64", "cross"),
        ("path?hops=1M&cross=1:poisson:0.5:up", "cross"),
        ("path?hops=1M&cross=1:poisson:0.5:forward:27", "cross"),
        ("path?hops=1M&cross=1:poisson:0.5:forward:1501", "cross"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name, field):
    with pytest.raises(PlanError) as refused:
        find_path(name)
    assert refused.value.field == field


@given(st.text(max_size=60))
def test_any_text_is_a_path_or_a_plan_error(text):
    with suppress(PlanError):
        assert isinstance(find_path(f"path?{text}"), PathLab)


def test_only_a_path_is_one():
    assert is_path("path?hops=1M") and is_path("lab:path")
    assert not is_path("bridge") and not is_path("pathological")


def test_a_path_is_no_device_between_ports():
    with pytest.raises(PlanError, match="a path has no ports"):
        find_device("path?hops=1M", "--dut")


def test_a_hop_says_what_it_is_by_default():
    assert Hop(M) == Hop(M, None, 0, QUEUE_BYTES)
