"""Streams over a token bucket: the sum of their rates is never above what it lets through, whatever the host does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from keisoku.ground.host.link_rate import link_rates
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, TESTER_ADDRESS
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.run import total_bps
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.trial import StreamTrial

pytestmark = pytest.mark.lab

BUCKET_BYTES = 16_000
LINK_BPS = 50_000_000
_ROOT = 0xFFFFFFFF


@contextmanager
def _busy() -> Iterator[None]:
    """Threads of this process that hold its lock, so that all that is written in Python is late."""
    over = threading.Event()

    def spin() -> None:
        while not over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=spin, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _available(congestion: str) -> bool:
    return congestion in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@pytest.mark.parametrize(
    ("protocol", "congestion", "streams"),
    [
        pytest.param("udp", None, 1, marks=pytest.mark.long),
        ("udp", None, 3),
        pytest.param("tcp", "cubic", 1, marks=pytest.mark.long),
        ("tcp", "cubic", 3),
        ("tcp", "bbr", 3),
    ],
)
def test_streams_are_never_faster_than_their_link(protocol: str, congestion: str | None, streams: int) -> None:
    """BBR loses hundreds of segments here, so that at every time some wait for others."""
    if congestion is not None and not _available(congestion):
        pytest.skip(f"this kernel has no {congestion}")
    with (
        PathLab([Hop(LINK_BPS, bucket_bytes=BUCKET_BYTES, queue_bytes=100_000)]) as lab,
        FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as server,
        StreamSession(Place(lab.target_address, lab.tester_namespace), server.port) as session,
        _busy(),
    ):
        for _ in range(3):
            trial = StreamTrial.model_validate(
                {
                    "protocol": protocol,
                    "message_bytes": 1400,
                    "streams": streams,
                    "duration_s": 0.5,
                    "bps": 1.2 * LINK_BPS / streams if protocol == "udp" else None,
                    "congestion": congestion,
                }
            )
            rows = session.measure(trial)
            assert not any(row["error"] for row in rows)
            (window_ns,) = {row["settled_ns"] for row in rows}
            assert window_ns > 0
            # What the bucket holds passes at once, and one packet may be between two readings.
            at_once = 8e9 * (BUCKET_BYTES + 3000) / window_ns
            share = 1400 / 1442 if protocol == "udp" else 1448 / 1514
            assert 0 < total_bps(rows) <= LINK_BPS * share + at_once


def test_the_token_bucket_of_an_end_is_known_as_what_its_link_carries() -> None:
    with bare_server() as (lab, server):
        near = Namespace(lab.tester_namespace)

        def bucket() -> None:
            with IPRoute() as ip:
                index = ip.link_lookup(ifname="down")[0]
                ip.tc("add", "tbf", index, rate=LINK_BPS // 8, burst=BUCKET_BYTES, limit=100_000, parent=_ROOT)

        assert near.run(lambda: link_rates(TARGET_ADDRESS)) == []
        near.run(bucket)
        (found,) = near.run(lambda: link_rates(TARGET_ADDRESS))
        assert (found.interface, found.limit, found.bps, found.both_ways) == ("down", "tbf", LINK_BPS, False)
        assert Namespace(lab.target_namespace).run(lambda: link_rates(TESTER_ADDRESS)) == []
        with StreamSession(Place(TARGET_ADDRESS, near.name), server.port) as session:
            session.measure(StreamTrial(protocol="tcp", message_bytes=10_000, duration_s=0.1))
            assert [link["bps"] for link in session.links["near"]] == [LINK_BPS] and session.links["far"] == []
