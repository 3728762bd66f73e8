"""Capture files of other programs, block by block, in both byte orders: each frame is read, and each once."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keisoku._core import find_frames
from keisoku.errors import EngineError
from keisoku.subjects.device.capture.replay import replay

FRAME = bytes.fromhex("02000000000202000000000188b5") + bytes(range(46))
FCS = b"\xde\xad\xbe\xef"
IF_NAME, IF_FCSLEN, PACKET_FLAGS = 2, 13, 2
ORDERS = pytest.mark.parametrize("order", ["<", ">"])


def block(order: str, kind: int, body: bytes, options: Sequence[tuple[int, bytes]] = ()) -> bytes:
    for code, value in options:
        body += struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)
    body += bytes(4) if options else b""
    length = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + length + body + length


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, *options: tuple[int, bytes]) -> bytes:
    return block(order, 1, struct.pack(f"{order}HHI", 1, 0, 0), options)


def enhanced(order: str, port: int, us: int, frame: bytes, *options: tuple[int, bytes]) -> bytes:
    head = struct.pack(f"{order}5I", port, us >> 32, us & 0xFFFFFFFF, len(frame), len(frame))
    return block(order, 6, head + frame + bytes(-len(frame) % 4), options)


def obsolete(order: str, port: int, us: int, frame: bytes, *options: tuple[int, bytes], drops: int = 0xFFFF) -> bytes:
    head = struct.pack(f"{order}HH4I", port, drops, us >> 32, us & 0xFFFFFFFF, len(frame), len(frame))
    return block(order, 2, head + frame + bytes(-len(frame) % 4), options)


def kept(path: Path, *blocks: bytes) -> Path:
    path.write_bytes(b"".join(blocks))
    return path


@ORDERS
def test_obsolete_packet_blocks_were_skipped(tmp_path: Path, order: str) -> None:
    """'sent 2 of 2 frames' of a file of four."""
    at = 1_700_000_000_000_000
    path = kept(
        tmp_path / "old.pcapng",
        section(order),
        interface(order, (IF_NAME, b"eth0")),
        obsolete(order, 0, at, FRAME, drops=3),
        enhanced(order, 0, at + 1, FRAME + b"\1"),
        obsolete(order, 0, at + 250, FRAME + b"\2\3", (PACKET_FLAGS, struct.pack(f"{order}I", 1)), drops=4),
        enhanced(order, 0, at + 1000, FRAME),
    )
    taken = replay(path)
    assert [taken.frame(number) for number in range(4)] == [FRAME, FRAME + b"\1", FRAME + b"\2\3", FRAME]
    assert taken.gaps_ns.tolist() == [0, 1000, 249_000, 750_000]
    (port,) = json.loads(find_frames(str(path), None, []))["ports"]
    assert (port["frames"], port["dropped"]) == (4, 7)


@ORDERS
@pytest.mark.parametrize("cut", [4, 20, 21, 60])
def test_an_obsolete_packet_block_that_is_too_short_is_refused(tmp_path: Path, order: str, cut: int) -> None:
    body = struct.pack(f"{order}HH4I", 0, 0, 0, 0, len(FRAME) + 8, len(FRAME) + 8) + FRAME
    path = kept(tmp_path / "cut.pcapng", section(order), interface(order), block(order, 2, body[: cut // 4 * 4]))
    with pytest.raises(EngineError, match="damaged"):
        replay(path)


def test_unnamed_interfaces_and_those_of_several_sections_could_not_be_chosen(tmp_path: Path) -> None:
    path = kept(
        tmp_path / "sections.pcapng",
        *(section("<"), interface("<"), interface("<"), interface("<", (IF_NAME, b"eth0"))),
        *(enhanced("<", port, 5, FRAME + bytes([port])) for port in range(3)),
        *(section(">"), interface(">", (IF_NAME, b"eth0")), interface(">", (IF_NAME, b"eth1"))),
        *(enhanced(">", 0, 5, FRAME + b"\3"), enhanced(">", 1, 5, FRAME + b"\4")),
        *(section("<"), interface("<", (IF_NAME, b"eth1"))),
    )
    for name, number in (("0", 0), ("1", 1), ("2", 2), ("3", 3), ("4", 4), ("eth1", 4)):
        taken = replay(path, port=name)
        assert len(taken.lengths) == 1 and taken.frame(0) == FRAME + bytes([number])
    with pytest.raises(EngineError, match="several ports; choose one of 0, 1, 2, 3, eth1"):
        replay(path)
    with pytest.raises(EngineError, match="several ports called eth0; choose one by its number: 2, 3"):
        replay(path, port="eth0")
    for name in ("5", "9", "eth2"):
        with pytest.raises(EngineError, match=f"no frame of port {name}; its ports are 0, 1, 2, 3, eth1"):
            replay(path, port=name)


@ORDERS
@pytest.mark.parametrize("kind", [enhanced, obsolete])
def test_the_fcs_that_flags_tell_was_sent_as_payload(tmp_path: Path, order: str, kind: Callable[..., bytes]) -> None:
    def told(count: int) -> tuple[int, bytes]:
        return (PACKET_FLAGS, struct.pack(f"{order}I", count << 5))

    for name, options in (("bare", ()), ("bytes", ((IF_FCSLEN, b"\4"),)), ("bits", ((IF_FCSLEN, b"\x20"),))):
        frames = [kind(order, 0, 1, FRAME + FCS, told(4)), kind(order, 0, 2, FRAME + (FCS if options else b""))]
        taken = replay(kept(tmp_path / name, section(order), interface(order, *options), *frames))
        assert [taken.frame(number) for number in range(2)] == [FRAME, FRAME]


@ORDERS
def test_the_fcs_that_the_link_type_of_pcap_tells_made_it_no_ethernet(tmp_path: Path, order: str) -> None:
    for link, more in ((1, b""), (0x2400_0001, FCS), (0x2000_0001, b"")):
        head = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, link)
        frame = FRAME + more
        path = kept(tmp_path / "one.pcap", head, struct.pack(f"{order}4I", 7, 8, len(frame), len(frame)), frame)
        assert replay(path).frame(0) == FRAME
    other = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 0x2400_0071)
    with pytest.raises(EngineError, match="not Ethernet"):
        replay(kept(tmp_path / "sll.pcap", other, struct.pack(f"{order}4I", 7, 8, len(FRAME), len(FRAME)), FRAME))
