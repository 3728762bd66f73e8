"""Frames of every kind of stack decoded by two others, Scapy and tshark, with signatures in them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.signed_frames import layers, names, ones_complement_sum, recomputed, signature, signed

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends, Headers, least_frame_bytes
from keisoku.ground.frame.imix import mix
from keisoku.ground.frame.stack import parse
from keisoku.ground.frame.variants import frames

VECTORS = Path(__file__).parents[4] / "docs" / "signature" / "vectors.json"
ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")
V4, V6 = "Ether()/IP()/UDP()", "Ether()/IPv6()/UDP()"

# Stack, layers that Scapy must find (payload left out), smallest frame.
STACKS = {
    "ethernet": ("Ether()", ["Ether"], 64),
    "ipv4": (V4, ["Ether", "IP", "UDP"], 64),
    "ipv6": (V6, ["Ether", "IPv6", "UDP"], 84),
    "tcp": ("Ether()/IP()/TCP()", ["Ether", "IP", "TCP"], 76),
    "tcp6": ("Ether()/IPv6()/TCP()", ["Ether", "IPv6", "TCP"], 96),
    "icmp": ("Ether()/IP()/ICMP()", ["Ether", "IP", "ICMP"], 64),
    "ip": ("Ether()/IP()", ["Ether", "IP"], 64),
    "options": ("Ether()/IP(options=[IPOption_Router_Alert()])/UDP()", ["Ether", "IP", "UDP"], 68),
    "vlan": ("Ether()/Dot1Q(vlan=5)/IPv6()/UDP()", ["Ether", "Dot1Q", "IPv6", "UDP"], 88),
    "priority": ("Ether()/Dot1Q(vlan=0,prio=5)", ["Ether", "Dot1Q"], 64),
    "qinq": ("Ether()/Dot1AD(vlan=5)/Dot1Q(vlan=6)/IP()/TCP()", ["Ether", "Dot1AD", "Dot1Q", "IP", "TCP"], 84),
    "mpls": ("Ether()/MPLS(label=100)/MPLS(label=200)/IP()/UDP()", ["Ether", "MPLS", "MPLS", "IP", "UDP"], 72),
    "mpls6": ("Ether()/MPLS(label=100)/IPv6()/UDP()", ["Ether", "MPLS", "IPv6", "UDP"], 88),
    "vxlan": (f"{V4}/VXLAN(vni=7)/{V4}", ["Ether", "IP", "UDP", "VXLAN", "Ether", "IP", "UDP"], 114),
    "vxlan6": (f"{V6}/VXLAN(vni=7)/{V6}", ["Ether", "IPv6", "UDP", "VXLAN", "Ether", "IPv6", "UDP"], 154),
    "vxlan zero": (
        f"Ether()/IP()/UDP(chksum=0)/VXLAN(vni=7)/{V6}",
        ["Ether", "IP", "UDP", "VXLAN", "Ether", "IPv6", "UDP"],
        134,
    ),
    "gre": ("Ether()/IP()/GRE()/IP()/UDP()", ["Ether", "IP", "GRE", "IP", "UDP"], 88),
    "gre checksum": (
        "Ether()/IP()/GRE(chksum_present=1,key_present=1,key=5)/IPv6()/TCP()",
        ["Ether", "IP", "GRE", "IPv6", "TCP"],
        128,
    ),
    "lisp": ("Ether()/IP()/UDP()/LISP(i=1,lsb=256)/IP()/UDP()", ["Ether", "IP", "UDP", "LISP", "IP", "UDP"], 100),
    "lisp6": (
        "Ether()/IPv6()/UDP()/LISP(n=1,nonce=7)/IPv6()/TCP()",
        ["Ether", "IPv6", "UDP", "LISP", "IPv6", "TCP"],
        152,
    ),
    "srv6": (
        "Ether()/IPv6()/IPv6ExtHdrSegmentRouting(addresses=['2001:2:0:2::9', '2001:2:0:2::8'])/UDP()",
        ["Ether", "IPv6", "IPv6ExtHdrSegmentRouting", "UDP"],
        124,
    ),
    "srv6 last": (
        "Ether()/IPv6()/IPv6ExtHdrSegmentRouting()/TCP()",
        ["Ether", "IPv6", "IPv6ExtHdrSegmentRouting", "TCP"],
        120,
    ),
    "srv6 ipv4": (
        "Ether()/IPv6()/IPv6ExtHdrSegmentRouting(addresses=['2001:2:0:2::9'])/IP()/UDP()",
        ["Ether", "IPv6", "IPv6ExtHdrSegmentRouting", "IP", "UDP"],
        128,
    ),
    "odd": ("Ether()/IP()/UDP()/Raw(load='abc')", ["Ether", "IP", "UDP"], 67),
}
each_stack = pytest.mark.parametrize("name", STACKS)
numbers_48 = st.integers(0, 2**48 - 1)


def make(text: str, frame_bytes: int) -> tuple[bytes, int]:
    made = frames(text, (frame_bytes,), ENDS)
    return made.bytes_, made.checked_from


def test_the_vectors_hold_in_python_too() -> None:
    for vector in json.loads(VECTORS.read_text())["vectors"]:
        made = signature(vector["stream"], vector["sequence"], vector["sent_ns"])
        assert made.hex() == vector["bytes"]


@each_stack
def test_a_stack_is_what_it_says(name: str) -> None:
    text, expected, least = STACKS[name]
    assert least_frame_bytes(parse(text)) == least
    for size in [*range(least, least + 7), 512, 1518]:
        frame, checked_from = make(text, size)
        assert len(frame) == size - 4
        assert ones_complement_sum(frame[checked_from:]) in (0, 0xFFFF)
        sent = signed(frame, sequence=size)
        assert names(sent)[: len(expected)] == expected
        assert recomputed(sent) == sent


@given(
    name=st.sampled_from(sorted(STACKS)),
    beyond=st.integers(0, 1500),
    stream=st.integers(0, 0xFFFF),
    sequence=numbers_48,
    sent_ns=numbers_48,
)
def test_a_signed_frame_keeps_its_checksums(name: str, beyond: int, stream: int, sequence: int, sent_ns: int) -> None:
    text, _, least = STACKS[name]
    frame, checked_from = make(text, least + beyond)
    sent = signed(frame, stream, sequence, sent_ns)
    assert ones_complement_sum(sent[checked_from:]) in (0, 0xFFFF)
    assert recomputed(sent) == sent


@each_stack
def test_a_smaller_frame_is_refused(name: str) -> None:
    text, _, least = STACKS[name]
    with pytest.raises(PlanError, match=f"frame size: .*use at least {least}"):
        make(text, least - 1)


def test_larger_than_a_length_can_say_is_refused() -> None:
    assert len(make("ipv4", 65_535)[0]) == 65_531
    with pytest.raises(PlanError, match="use at most 65535"):
        make("ipv4", 65_536)


def test_open_addresses_are_those_of_the_ends() -> None:
    ends = Ends("02:00:00:00:00:0a", "02:00:00:00:00:0b", "198.18.5.6", "198.19.7.8")
    frame = frames("ipv4", (64,), ends).bytes_
    assert frame[:14].hex() == "02000000000b" + "02000000000a" + "0800"
    assert frame[26:34] == bytes([198, 18, 5, 6, 198, 19, 7, 8])
    assert frame[34:38].hex() == "c0200007"
    assert frames("ethernet", (64,), ends).bytes_[12:14].hex() == "88b5"
    arp = layers(frames("Ether()/ARP()", (64,), ends).bytes_)[1]
    assert (arp.hwsrc, arp.psrc) == ("02:00:00:00:00:0a", "198.18.5.6")


def test_what_the_user_gave_stays() -> None:
    ends = Ends("02:00:00:00:00:0a", "02:00:00:00:00:0b", "198.18.5.6", "198.19.7.8", "02:00:00:00:00:0c")
    text = "Ether(src='02:00:00:00:00:01')/IP(dst='10.0.0.1',ttl=3)/UDP(sport=9)/VXLAN()/Ether()/IPv6()/UDP()"
    outer, ip, udp, _, inner, ipv6, *_ = layers(frames(text, (256,), ends).bytes_)
    assert (outer.src, outer.dst) == ("02:00:00:00:00:01", "02:00:00:00:00:0b")
    assert (ip.src, ip.dst, ip.ttl) == ("198.18.5.6", "10.0.0.1", 3)
    assert (udp.sport, udp.dport) == (9, 4789)
    assert (inner.src, inner.dst) == ("02:00:00:00:00:0a", "02:00:00:00:00:0c")
    assert (ipv6.src, ipv6.dst) == ("2001:2:0:1::1", "2001:2:0:2::1")


def test_a_segment_list_is_headed_for_its_active_segment() -> None:
    text = "Ether()/IPv6()/IPv6ExtHdrSegmentRouting(addresses=['2001:2::a', '2001:2::b', '2001:2::c'],segleft=1)/UDP()"
    assert layers(make(text, 256)[0])[1].dst == "2001:2::b"
    _, ipv6, routing, *_ = layers(make("Ether()/IPv6()/IPv6ExtHdrSegmentRouting()/UDP()", 256)[0])
    assert routing.addresses == [ipv6.dst] == ["2001:2:0:2::1"]
    with pytest.raises(PlanError, match="headers: segleft=3 points to none of 3 addresses; use 0 to 2"):
        make(text.replace("segleft=1", "segleft=3"), 256)


@pytest.mark.parametrize(
    ("kind", "addresses", "field"),
    [
        ("ipv4", {"source_ip": "2001:2::1"}, "source IP"),
        ("ipv6", {"destination_ip": "198.18.0.1"}, "destination IP"),
        ("ipv6", {"destination_ip": "router"}, "destination IP"),
        ("ethernet", {"source_mac": "02:00:00"}, "source MAC"),
        ("ethernet", {"destination_mac": "broadcast"}, "destination MAC"),
    ],
)
def test_a_wrong_address_is_named(kind: str, addresses: dict[str, str], field: str) -> None:
    with pytest.raises(PlanError) as caught:
        frames(
            kind, (128,), Ends(**{"source_mac": ENDS.source_mac, "destination_mac": ENDS.destination_mac} | addresses)
        )
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Ether()/Padding(load='x')", "adds bytes after the payload"),
        ("Ether()/IP()/SCTP()", "has a checksum that becomes wrong"),
        ("Ether()/IP(src='10.0.0.1',dst='10.0.0.2')/ICMP(chksum='x')", "is no value for ICMP.chksum"),
    ],
)
def test_a_stack_that_cannot_carry_a_signature_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        Headers(parse(text), ENDS)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_finds_nothing_malformed(tmp_path: Path) -> None:
    from scapy.utils import RawPcapWriter

    sent = []
    for text, _, least in STACKS.values():
        sent += [signed(make(text, size)[0], sequence=size) for size in [*range(least, least + 4), 512, 1518, 9018]]
    for text, changes in (
        (f"{V4}/VXLAN()/{V6}", ("VXLAN.vni=random(0-16777215)", "IPv6.dst=random(2001:2::-2001:2::ffff)")),
        ("Ether()/Dot1Q()/IP()/TCP()", ("Dot1Q.vlan=increment(0, count=64, step=63)", "TCP.sport=random(30000-65535)")),
        (STACKS["gre checksum"][0], ("GRE.key=random(0-4294967295)", "IP.src=increment(10.0.0.1, count=64)")),
    ):
        made = frames(text, mix("frame size", "200:3,570:1"), ENDS, changes, seed=5)
        sent += [signed(made.frame(number), sequence=number) for number in range(64)]
    capture = tmp_path / "frames.pcap"
    with RawPcapWriter(str(capture), linktype=1) as writer:
        for frame in sent:
            writer.write(frame)
    fields = ["_ws.malformed", "_ws.expert.message", "frame.protocols"]
    statuses = ["ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "icmp.checksum.status"]
    statuses.append("gre.checksum.status")
    checks = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "udp", "tcp")]
    # The echo dissector is told nothing of ports above 1024, and every TCP frame opens the same connection again.
    options = [part for check in [*checks, "tcp.analyze_sequence_numbers:FALSE"] for part in ("-o", check)]
    command = ["tshark", "-r", str(capture), *options, "-T", "fields"]
    command += [part for field in [*fields, *statuses] for part in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(sent)
    for line in lines:
        malformed, expert, _, *found = line.split("\t")
        assert malformed == "", line
        assert "alformed" not in expert and "hecksum" not in expert, line
        # 0 is bad, 1 good, 2 not checked, 3 not present.
        assert "0" not in ",".join(found).split(","), line
    good = [line.split("\t")[3:] for line in lines]
    assert all(any("1" in status.split(",") for status in (frame[n] for frame in good)) for n in range(len(statuses)))
