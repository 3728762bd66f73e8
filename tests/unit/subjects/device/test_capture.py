"""Captures from files: frames found by sequence number, and frames and gaps for a replay, every format alike."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgWriter, RawPcapWriter
from support.lab_frames import signature

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.capture.find import find, parse_ranges
from keisoku.subjects.device.capture.port import CapturePort
from keisoku.subjects.device.capture.replay import replay

START_NS = 1_763_000_000_123_456_789
HEADER = bytes.fromhex("02000000000202000000000188b5")
Frames = list[tuple[bytes, int]]


def frame(sequence: int, stream: int = 3, length: int = 60) -> bytes:
    return HEADER + bytes(length - len(HEADER) - 18) + signature(stream, sequence)


def pcap(path: Path, frames: Frames, nano: bool = True, endianness: str = "<", cut: int | None = None) -> Path:
    """By Scapy's writer: another hand than ours."""
    with RawPcapWriter(str(path), linktype=1, nano=nano, endianness=endianness) as writer:
        writer.write_header(None)
        for data, time_ns in frames:
            second, rest = divmod(time_ns, 1_000_000_000)
            fraction = rest if nano else rest // 1000
            writer._write_packet(data[:cut], 1, sec=second, usec=fraction, wirelen=len(data))
    return path


def block(kind: int, body: bytes, order: str) -> bytes:
    length = 12 + len(body)
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def option(code: int, value: bytes, order: str) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(
    path: Path,
    frames: Iterable[tuple[int, bytes, int]],
    *,
    order: str = "<",
    resolution: int = 9,
    link_type: int = 1,
    fcs: int = 0,
) -> Path:
    """Made by hand: (interface, frame, time in units of the resolution), two interfaces named t1 and t2."""
    blocks = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)]
    for name in (b"t1", b"t2"):
        options = option(2, name, order) + option(9, bytes([resolution]), order) + option(13, bytes([fcs]), order)
        blocks.append(block(1, struct.pack(order + "HHI", link_type, 0, 0) + options + bytes(4), order))
    for interface, data, time in frames:
        head = struct.pack(order + "IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
        flags = option(2, struct.pack(order + "I", 1), order) + bytes(4)
        blocks.append(block(6, head + data + bytes(-len(data) % 4) + flags, order))
    path.write_bytes(b"".join(blocks))
    return path


@pytest.mark.parametrize("endianness", ["<", ">"])
def test_nanoseconds_of_a_pcap_are_kept(tmp_path: Path, endianness: str) -> None:
    times = [START_NS, START_NS + 1, START_NS + 1_000_000_001]
    path = pcap(tmp_path / "a.pcap", [(frame(n), time) for n, time in enumerate(times)], endianness=endianness)
    taken = replay(path)
    assert taken.gaps_ns.tolist() == [0, 1, 1_000_000_000]
    assert taken.gaps_ns.dtype == np.uint64
    assert taken.lengths.dtype == np.uint16
    assert [taken.frame(n) for n in range(3)] == [frame(n) for n in range(3)]
    assert taken.duration_ns == 1_000_000_001


def test_microseconds_of_a_pcap_are_read_as_such(tmp_path: Path) -> None:
    times = [START_NS // 1000 * 1000 + 1000 * n for n in (0, 7)]
    path = pcap(tmp_path / "a.pcap", [(frame(0), time) for time in times], nano=False)
    assert replay(path).gaps_ns.tolist() == [0, 7000]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "ticks", "gap_ns"), [(9, 5, 5), (6, 5, 5000), (12, 5000, 5), (0x80 | 30, 1 << 30, 1_000_000_000)]
)
def test_every_resolution_and_byte_order_of_a_pcapng_is_read(
    tmp_path: Path, order: str, resolution: int, ticks: int, gap_ns: int
) -> None:
    frames = [(0, frame(n), 10**15 + n * ticks) for n in range(3)]
    path = pcapng(tmp_path / "a.pcapng", frames, order=order, resolution=resolution)
    assert replay(path).gaps_ns.tolist() == [0, gap_ns, gap_ns]
    assert [one.direction for one in find(path, "0-9").sightings] == ["incoming"] * 3


def test_what_scapy_writes_as_pcapng_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    with RawPcapNgWriter(str(path)) as writer:
        packets = [Ether(frame(n)) for n in range(3)]
        for number, packet in enumerate(packets):
            packet.time = 1_763_000_000 + number
        writer.write(packets)
    assert replay(path).gaps_ns.tolist() == [0, 1_000_000_000, 1_000_000_000]


@given(
    gaps=st.lists(st.integers(0, 10**10), min_size=1, max_size=50),
    lengths=st.lists(st.integers(32, 1514), min_size=51, max_size=51),
    scale=st.floats(0.01, 100),
)
def test_a_replay_is_the_capture_and_scaling_does_not_drift(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int], lengths: list[int], scale: float
) -> None:
    times = np.cumsum([START_NS, *gaps]).tolist()
    frames = [(frame(n, length=lengths[n]), time) for n, time in enumerate(times)]
    path = pcap(tmp_path_factory.getbasetemp() / "property.pcap", frames)
    taken = replay(path)
    assert taken.frames == b"".join(data for data, _ in frames)
    assert taken.lengths.tolist() == [len(data) for data, _ in frames]
    assert taken.gaps_ns.tolist() == [0, *gaps]
    scaled = np.cumsum(replay(path, scale).gaps_ns, dtype=np.uint64).astype(np.longdouble)
    exact = np.array([time - START_NS for time in times], np.longdouble) / np.longdouble(scale)
    assert np.all(np.abs(scaled - exact) <= 0.5 + 1e-6)


def test_a_fixed_rate_replaces_the_times(tmp_path: Path) -> None:
    path = pcap(tmp_path / "a.pcap", [(frame(n), START_NS + n * n) for n in range(7)])
    gaps = replay(path, frames_per_second=3e8).gaps_ns
    assert gaps.sum() == 20
    assert set(gaps[1:].tolist()) == {3, 4}


def test_frames_are_replayed_in_the_order_of_their_stamps(tmp_path: Path) -> None:
    path = pcap(tmp_path / "a.pcap", [(frame(n, length=40 + n), START_NS + t) for n, t in enumerate((5, 0, 5, 2))])
    taken = replay(path)
    assert [taken.frame(n) for n in range(4)] == [frame(n, length=40 + n) for n in (1, 3, 0, 2)]
    assert taken.gaps_ns.tolist() == [0, 2, 3, 0]


def test_one_port_of_several_is_replayed(tmp_path: Path) -> None:
    path = pcapng(tmp_path / "a.pcapng", [(0, frame(0), 1), (1, frame(1), 2), (0, frame(2), 5)])
    with pytest.raises(EngineError, match="several ports; choose one of t1, t2"):
        replay(path)
    assert replay(path, port="t1").gaps_ns.tolist() == [0, 4]
    assert replay(path, port="t2").frame(0) == frame(1)
    with pytest.raises(EngineError, match="no frame of port t3; its ports are t1, t2"):
        replay(path, port="t3")


def test_an_fcs_in_the_file_is_no_part_of_the_frame(tmp_path: Path) -> None:
    path = pcapng(tmp_path / "a.pcapng", [(0, frame(9) + b"FCS!", 1)], fcs=4)
    assert replay(path).frame(0) == frame(9)
    assert find(path, "9").sightings[0].length == 60


def test_what_cannot_be_replayed_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    with pytest.raises(EngineError, match=r"frame 1 was cut to 50 of its 60 bytes"):
        replay(pcap(path, [(frame(0), START_NS)], cut=50))
    with pytest.raises(EngineError, match="has no frame"):
        replay(pcap(path, []))
    with pytest.raises(EngineError, match=r"more than the 65536 frames or 16 MiB"):
        replay(pcap(path, [(frame(0), START_NS)] * 65_537))
    with pytest.raises(EngineError, match=r"more than the 65536 frames or 16 MiB"):
        replay(pcap(path, [(frame(0, length=9000), START_NS)] * 2000))
    with pytest.raises(EngineError, match="not Ethernet"):
        replay(pcapng(path, [(0, frame(0), 1)], link_type=101))
    path.write_bytes(b"something else")
    with pytest.raises(EngineError, match="no pcap or pcapng file"):
        replay(path)
    with pytest.raises(PlanError, match="cannot read"):
        replay(tmp_path / "nowhere")
    whole = pcap(path, [(frame(0), START_NS)] * 2).read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(EngineError, match="ends within a frame"):
        replay(path)
    wrongs: list[dict[str, Any]] = [{"scale": 0.0}, {"scale": float("nan")}, {"frames_per_second": -1.0}]
    for wrong in wrongs:
        with pytest.raises(PlanError):
            replay(path, **wrong)
    with pytest.raises(PlanError, match="give one of them"):
        replay(path, 2.0, frames_per_second=10.0)


def test_the_largest_file_that_fits_is_replayed(tmp_path: Path) -> None:
    path = pcap(tmp_path / "a.pcap", [(frame(n), START_NS + n) for n in range(65_536)])
    assert len(replay(path).gaps_ns) == 65_536


def test_a_lost_frame_is_seen_before_the_device_and_not_behind_it(tmp_path: Path) -> None:
    before = [(0, frame(n), 1000 + n * 10) for n in range(20)]
    behind = [(1, frame(n), 1005 + n * 10) for n in range(20) if n not in (5, 13, 14)]
    path = pcapng(tmp_path / "a.pcapng", [*before, *behind, (1, frame(5, stream=4), 9999), (1, HEADER + bytes(46), 1)])
    found = find(path, "4-6,13-15", stream=3)
    assert [port.name for port in found.ports] == ["t1", "t2"]
    assert (found.never_seen(0), found.never_seen(1)) == ([], [(5, 5), (13, 14)])
    assert found.carrying() == [0, 1]
    times = {(one.port, one.sequence): one.time_ns for one in found.sightings}
    assert times[0, 5] == 1050
    assert times[1, 4] == 1045
    assert len(times) == 9
    assert found.doubt(1) == "the file does not say whether the capture lost frames"


def test_the_stream_need_not_be_named_where_there_is_only_one(tmp_path: Path) -> None:
    path = pcapng(tmp_path / "a.pcapng", [(0, frame(1), 1)])
    assert find(path, "1").stream == 3
    path = pcapng(tmp_path / "a.pcapng", [(0, frame(1), 1), (1, frame(1, stream=8), 1)])
    with pytest.raises(PlanError, match="several streams; give one of 3, 8"):
        find(path, "1")
    with pytest.raises(PlanError, match="holds no test frame"):
        find(pcapng(tmp_path / "a.pcapng", [(0, HEADER + bytes(46), 1)]), "1")


def test_lists_of_sequence_numbers() -> None:
    assert parse_ranges("7, 1-3,4,2-5,281474976710655") == [(1, 5), (7, 7), (281474976710655, 281474976710655)]
    for wrong in ("", "a", "3-", "5-3", "-4", "1,,2", "281474976710656", "0-100000"):
        with pytest.raises(PlanError, match="sequence"):
            parse_ranges(wrong)


def test_ports_to_capture() -> None:
    assert CapturePort.parse("packet:eth1") == CapturePort("eth1")
    port = CapturePort.parse("d1@keisoku-7-dut")
    assert port.namespace == Path("/run/netns/keisoku-7-dut")
    assert port.label == {"name": "d1", "description": "in namespace keisoku-7-dut"}
    for wrong in ("xdp:eth1", "", "a b", "eth1@"):
        with pytest.raises(PlanError, match="port"):
            CapturePort.parse(wrong)
