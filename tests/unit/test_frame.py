"""Test frames decoded by two others, Scapy and tshark, with signatures in them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.frame.template import KINDS, SIGNATURE_BYTES, Kind, Template, build, least_frame_bytes

SOURCE, DESTINATION = "02:00:00:00:00:01", "02:00:00:00:00:02"
VECTORS = Path(__file__).parents[2] / "docs" / "signature" / "vectors.json"

kinds = st.sampled_from(KINDS)
numbers_48 = st.integers(0, 2**48 - 1)


def ones_complement_sum(region: bytes) -> int:
    """RFC 1071 in the plainest words."""
    total = 0
    for at in range(0, len(region), 2):
        total += int.from_bytes(region[at : at + 2].ljust(2, b"\0"), "big")
        total = (total & 0xFFFF) + (total >> 16)
    return total


def signature(stream: int, sequence: int, sent_ns: int) -> bytes:
    """As docs/signature says."""
    fields = (0x6B73).to_bytes(2, "big") + stream.to_bytes(2, "big")
    fields += sequence.to_bytes(6, "big") + sent_ns.to_bytes(6, "big")
    return fields + (0xFFFF - ones_complement_sum(fields)).to_bytes(2, "big")


def make(kind: Kind, frame_bytes: int) -> Template:
    return build(kind, frame_bytes, SOURCE, DESTINATION)


def recomputed(frame: bytes) -> Any:
    """The frame as Scapy builds it when every length and checksum is left to it."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether

    packet = Ether(frame)
    for layer, fields in ((IP, ("len", "chksum", "ihl")), (IPv6, ("plen",)), (UDP, ("len", "chksum"))):
        for field in fields if layer in packet else ():
            delattr(packet[layer], field)
    return bytes(packet)


def test_the_vectors_hold_in_python_too() -> None:
    for vector in json.loads(VECTORS.read_text())["vectors"]:
        made = signature(vector["stream"], vector["sequence"], vector["sent_ns"])
        assert made.hex() == vector["bytes"]


@given(
    kind=kinds,
    size=st.integers(84, 2000),
    stream=st.integers(0, 0xFFFF),
    sequence=numbers_48,
    sent=numbers_48,
)
def test_a_signed_frame_keeps_its_checksums(kind: Kind, size: int, stream: int, sequence: int, sent: int) -> None:
    template = make(kind, size)
    assert len(template.bytes_) == size - 4
    assert template.bytes_[-SIGNATURE_BYTES:] == bytes(SIGNATURE_BYTES)
    signed = template.bytes_[:-SIGNATURE_BYTES] + signature(stream, sequence, sent)
    assert ones_complement_sum(signed[template.checked_from :]) in (0, 0xFFFF)
    assert recomputed(signed) == signed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beyond", [0, 1, 2, 3, 4, 5])
def test_the_smallest_frames_balance(kind: Kind, beyond: int) -> None:
    template = make(kind, least_frame_bytes(kind) + beyond)
    assert ones_complement_sum(template.bytes_[template.checked_from :]) in (0, 0xFFFF)
    assert recomputed(template.bytes_) == template.bytes_


@pytest.mark.parametrize(("kind", "least"), [("ethernet", 64), ("ipv4", 64), ("ipv6", 84)])
def test_a_smaller_frame_is_refused(kind: Kind, least: int) -> None:
    assert len(make(kind, least).bytes_) == least - 4
    with pytest.raises(PlanError, match=f"frame size: .*use at least {least}"):
        make(kind, least - 1)


def test_larger_than_any_ip_packet_is_refused() -> None:
    assert len(make("ipv4", 65_553).bytes_) == 65_549
    with pytest.raises(PlanError, match="use at most 65553"):
        make("ipv4", 65_554)


@pytest.mark.parametrize(
    ("kind", "addresses", "field"),
    [
        ("ipv4", {"source_ip": "2001:2::1"}, "source IP"),
        ("ipv6", {"destination_ip": "198.18.0.1"}, "destination IP"),
        ("ethernet", {"source_mac": "02:00:00"}, "source MAC"),
        ("ethernet", {"destination_mac": "broadcast"}, "destination MAC"),
    ],
)
def test_a_wrong_address_is_named(kind: Kind, addresses: dict[str, str], field: str) -> None:
    with pytest.raises(PlanError) as caught:
        build(kind, 128, **{"source_mac": SOURCE, "destination_mac": DESTINATION, **addresses})
    assert caught.value.field == field


def test_addresses_are_where_they_belong() -> None:
    frame = build("ipv4", 64, SOURCE, DESTINATION, "198.18.5.6", "198.19.7.8").bytes_
    assert frame[:14].hex() == "020000000002" + "020000000001" + "0800"
    assert frame[26:34] == bytes([198, 18, 5, 6, 198, 19, 7, 8])
    assert make("ethernet", 64).bytes_[12:14].hex() == "88b5"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_finds_nothing_malformed(tmp_path: Path) -> None:
    from scapy.layers.l2 import Ether
    from scapy.utils import wrpcap

    frames = []
    for kind in KINDS:
        for size in [*range(least_frame_bytes(kind), least_frame_bytes(kind) + 8), 512, 1518, 9018]:
            unsigned = make(kind, size).bytes_
            frames.append(unsigned[:-SIGNATURE_BYTES] + signature(7, size, 123_456_789 * size))
    capture = tmp_path / "frames.pcap"
    wrpcap(str(capture), [Ether(frame) for frame in frames])
    fields = [
        "_ws.malformed",
        "_ws.expert.severity",
        "ip.checksum.status",
        "udp.checksum.status",
        "frame.protocols",
    ]
    options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields"]
    command = ["tshark", "-r", str(capture), *options, *(part for field in fields for part in ("-e", field))]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    good = "1"
    expected = {"ethernet": ("", ""), "ipv4": (good, good), "ipv6": ("", good)}
    lines = output.splitlines()
    assert len(lines) == len(frames)
    for kind, line in zip((kind for kind in KINDS for _ in range(11)), lines, strict=True):
        malformed, severity, ip_status, udp_status, protocols = line.split("\t")
        assert malformed == "" and severity == "", line
        assert (ip_status, udp_status) == expected[kind], line
        assert protocols.startswith("eth:ethertype")
