"""Captures as OTG hands them out, from files with known frames."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import EngineError
from keisoku.faces.otg.capture.pcap import frames, received

ORDER = 0x1A2B3C4D


def block(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet(interface: int, time_ns: int, inbound: bool, octets: bytes, length: int | None = None) -> bytes:
    whole = len(octets) if length is None else length
    head = struct.pack("<IIIII", interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(octets), whole)
    options = struct.pack("<HHI", 2, 4, 1 if inbound else 2) + struct.pack("<HH", 0, 0)
    return block(6, head + octets + bytes(-len(octets) % 4) + options)


def capture(*packets: bytes) -> bytes:
    section = block(0x0A0D0D0A, struct.pack("<IHHq", ORDER, 1, 0, -1))
    return section + block(1, struct.pack("<HHI", 1, 0, 0)) * 2 + b"".join(packets)


rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2**32 * 10**9 - 1), st.booleans(), st.binary(min_size=14, max_size=70)),
    max_size=6,
)


@given(rows)
def test_a_file_holds_what_came_in_at_its_port_with_fcs(found: list[tuple[int, int, bool, bytes]]) -> None:
    source = capture(*(packet(*row) for row in found))
    wanted = [(time_ns, octets) for interface, time_ns, inbound, octets in found if interface == 1 and inbound]
    pcapng = frames(received(source, 1, as_pcapng=True))
    assert [(frame.time_ns, frame.octets[:-4]) for frame in pcapng] == wanted
    pcap, at = received(source, 1, as_pcapng=False), 24
    for time_ns, octets in wanted:
        seconds, rest_ns, kept, length = struct.unpack_from("<IIII", pcap, at)
        frame = pcap[at + 16 : at + 16 + kept]
        at += 16 + kept
        assert (seconds * 10**9 + rest_ns, length) == (time_ns, len(octets) + 4)
        assert frame == octets + struct.pack("<I", zlib.crc32(octets))
        # The residue of IEEE 802.3's CRC over a frame and its own FCS.
        assert zlib.crc32(frame) == 0x2144DF1C
    assert at == len(pcap)


def test_a_frame_that_was_cut_gets_no_fcs_but_its_length_counts_it() -> None:
    (frame,) = frames(received(capture(packet(0, 5, True, bytes(20), 1496)), 0, as_pcapng=True))
    assert (frame.octets, frame.length) == (bytes(20), 1500)


@given(st.binary(max_size=200))
def test_any_end_of_a_file_is_taken(rest: bytes) -> None:
    whole = capture(packet(0, 1, True, bytes(14)))
    assert len(list(frames(whole[: -len(rest)] if rest else whole))) <= 1


def test_what_is_no_capture_is_refused() -> None:
    with pytest.raises(EngineError, match="not pcapng"):
        list(frames(b"no capture at all"))
