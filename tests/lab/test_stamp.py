"""STAMP between two namespaces: ours with ours, with Scapy's reflector, and with nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.contrib.stamp import STAMPSessionReflectorTestUnauthenticated, STAMPSessionSenderTestUnauthenticated
from support.veth_pair import VethPair, veth_pair

from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.path.stamp.analysis import analyse
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    with veth_pair() as made:
        yield made


def _reflecting(pair: VethPair, folder: Path, key: bytes | None = None) -> FarEnd:
    if key is None:
        return FarEnd("reflect", Place(pair.far_address, pair.far))
    (folder / "key").write_bytes(key)
    return FarEnd("reflect", Place(pair.far_address, pair.far), "--key-file", str(folder / "key"))


def _sender(pair: VethPair, port: int, key: bytes | None = None, **more: object) -> DelaySender:
    settings = DelaySettings.model_validate(
        {"host": pair.far_address, "port": port, "packets": 30, "interval_s": 0.001, "wait_s": 5.0, **more}
    )
    return DelaySender(Place(pair.far_address, pair.near), settings, key)


@pytest.mark.parametrize("key", [None, b"shared"])
@pytest.mark.parametrize("size_bytes", [0, 1000])
def test_every_packet_is_answered_and_time_runs_forward(
    pair: VethPair, key: bytes | None, size_bytes: int, tmp_path: Path
) -> None:
    with _reflecting(pair, tmp_path, key) as reflector:
        sender = _sender(pair, reflector.port, key, size_bytes=size_bytes)
        rows = sender.measure()
    assert sender.ip_bytes == (size_bytes or (140 if key else 72))
    columns = {name: rows[name].to_pylist() for name in rows.column_names}
    assert columns["answers"] == [1] * 30
    assert set(columns["ttl_there"]) == {255} == set(columns["ttl_here"])
    for t1, t2, t3, t4 in zip(*(columns[f"t{number}_ns"] for number in (1, 2, 3, 4)), strict=True):
        assert t1 <= t2 + 1 and t2 <= t3 + 1 and t1 < t4  # NTP's fraction rounds to a ns
    found = analyse(rows, DelaySettings(host=pair.far_address))
    assert {row.case for row in found.rows} == {"packets", "two-way", "forward", "reverse"}


def test_packets_of_another_key_are_not_answered(pair: VethPair, tmp_path: Path) -> None:
    with _reflecting(pair, tmp_path, b"one") as reflector, pytest.raises(EngineError, match="answered none of 30"):
        _sender(pair, reflector.port, b"two", wait_s=0.2).measure()
    assert reflector.says == ["reflected 0 packets, refused 30"]


def test_a_reflector_made_with_scapy_is_understood(pair: VethPair) -> None:
    far = StampedSocket("udp", (pair.far_address, 0), namespace=pair.far)
    seen: list[STAMPSessionSenderTestUnauthenticated] = []

    def reflect() -> None:
        while len(seen) < 10:
            packets, _ = far.receive(time.monotonic_ns() + 5_000_000_000)
            for packet in packets:
                asked = STAMPSessionSenderTestUnauthenticated(packet.data)
                seen.append(asked)
                answer = STAMPSessionReflectorTestUnauthenticated(
                    seq=asked.seq,
                    ssid=asked.ssid,
                    ts_rx=asked.ts,
                    ts=asked.ts,
                    seq_sender=asked.seq,
                    ts_sender=asked.ts,
                    err_estimate_sender=asked.err_estimate,
                    ttl_sender=packet.ttl,
                )
                far.send([(bytes(answer), packet.source, None)])
            if not packets:
                return

    thread = threading.Thread(target=reflect)
    thread.start()
    rows = _sender(pair, far.address[1], packets=10, ssid=7).measure()
    thread.join()
    assert rows["answers"].to_pylist() == [1] * 10 and {packet.ssid for packet in seen} == {7}
    for asked, heard in zip(rows["t1_ns"].to_pylist(), rows["t2_ns"].to_pylist(), strict=True):
        assert 0 <= asked - heard < 10**9  # what the packet said is when it was about to leave


def test_a_port_where_nobody_listens_is_told_at_once(pair: VethPair, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no program listens on that port"):
        _sender(pair, 9, wait_s=0.1).measure()
