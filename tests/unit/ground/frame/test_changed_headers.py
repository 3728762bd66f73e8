"""Headers read from bytes, what differs between two of them, and what a device is expected to change.

Scapy, which shares no code with the reader, makes the headers and says what they hold.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from keisoku.errors import PlanError
from keisoku.ground.frame.difference import Difference, Header, differences
from keisoku.ground.frame.dissection import dissect
from keisoku.ground.frame.expectation import applied, expectations, learnt
from keisoku.ground.frame.payload import payload
from keisoku.subjects.device.record.changed_headers import changes_of
from keisoku.subjects.device.record.changes import Kind

MACS: dict[str, Any] = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
IPS: dict[str, Any] = {"src": "198.18.1.2", "dst": "198.19.1.2"}
IPV6S: dict[str, Any] = {"src": "2001:2::2", "dst": "2001:2:0:8000::2"}
LOAD = payload(60)
STACKS = {
    "ipv4": Ether(**MACS) / IP(**IPS, id=0, ttl=64) / UDP(sport=49184, dport=7),
    "tcp": Ether(**MACS) / IP(**IPS) / TCP(sport=1, dport=2, options=[("NOP", None), ("MSS", 1460)]),
    "ipv6": Ether(**MACS) / IPv6(**IPV6S, fl=77, tc=184) / UDP(sport=49184, dport=7),
    "tag": Ether(**MACS) / Dot1Q(vlan=5, prio=3) / IP(**IPS) / UDP(sport=3),
    "tags": Ether(**MACS) / Dot1AD(vlan=9) / Dot1Q(vlan=5) / IP(**IPS) / UDP(sport=3),
    "mpls": Ether(**MACS) / MPLS(label=16, s=0) / MPLS(label=17, s=1, cos=5) / IP(**IPS) / UDP(sport=3),
    "vxlan": Ether(**MACS) / IP(**IPS) / UDP(sport=9) / VXLAN(vni=42) / Ether(**MACS) / IP(**IPS) / UDP(sport=3),
    "gre": Ether(**MACS) / IP(**IPS) / GRE(key_present=1, key=7) / IP(**IPS) / UDP(sport=3),
    "srv6": Ether(**MACS) / IPv6(**IPV6S) / IPv6ExtHdrSegmentRouting(addresses=["2001:2::9"]) / IP(**IPS) / UDP(),
    "icmp": Ether(**MACS) / IP(**IPS) / ICMP(),
    "ethernet": Ether(**MACS, type=0x88B5),
}


def header(packet: Packet, load: bytes = LOAD, front: int | None = None) -> Header:
    built = bytes(packet / Raw(load))
    end = len(built) - len(load)
    return Header(built[: front or end], len(built), end)


def texts(before: Packet, after: Packet) -> list[str]:
    return [change.text for change in differences(header(before), header(after))]


def changed(name: str, **values: object) -> Packet:
    """The stack with fields of its innermost IP or other named layer changed: 'IP__ttl'."""
    packet = STACKS[name].copy()
    for path, value in values.items():
        layer, _, field = path.partition("__")
        packet[
            {"IP": IP, "IPv6": IPv6, "UDP": UDP, "TCP": TCP, "Dot1Q": Dot1Q, "MPLS": MPLS, "Ether": Ether}[layer]
        ].setfieldval(field, value)
    return packet


@pytest.mark.parametrize("name", STACKS)
def test_headers_are_read_as_scapy_wrote_them(name: str) -> None:
    built = header(STACKS[name])
    layers = dissect(built.front, built.end)
    wanted = []
    layer: Packet = Ether(built.front)
    while layer and not isinstance(layer, Raw):
        wanted.append(type(layer).__name__.replace("IPv6ExtHdrSegmentRouting", "IPv6ExtHdrRouting"))
        layer = layer.payload
    assert [layer.name for layer in layers] == wanted
    again = Ether(built.front + LOAD)
    for own in layers:
        kind = {"IP": IP, "IPv6": IPv6, "UDP": UDP, "TCP": TCP, "Dot1Q": Dot1Q, "MPLS": MPLS}.get(own.name)
        if kind is None or [layer.name for layer in layers].count(own.name) > 1:
            continue
        for field in own.fields:
            if field.name in ("dscp", "ecn", "mss", "options", "flags"):
                continue
            scapy, read = again[kind].getfieldval(field.name), field.read(built.front)
            assert field.text(read) == str(scapy) or read == scapy, (own.name, field.name)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (changed("ipv4", IP__tos=184), "IP.dscp 0 to 46"),
        (changed("ipv4", IP__tos=3), "IP.ecn 0 to 3"),
        (changed("ipv4", IP__ttl=63), "IP.ttl 64 to 63"),
        (changed("ipv4", IP__dst="10.0.0.9"), "IP.dst 198.19.1.2 to 10.0.0.9"),
        (changed("ipv4", UDP__dport=8), "UDP.dport 7 to 8"),
        (changed("ipv4", UDP__chksum=0), "UDP.chksum right to zero"),
        (changed("ipv4", UDP__chksum=1), "UDP.chksum right to wrong (0x0001)"),
        (changed("ipv4", IP__chksum=1), "IP.chksum right to wrong (0x0001)"),
        (changed("ipv4", Ether__src="02:00:00:00:00:07"), "Ether.src 02:00:00:00:00:01 to 02:00:00:00:00:07"),
    ],
)
def test_each_changed_field_is_the_only_finding(after: Packet, found: str) -> None:
    assert texts(STACKS["ipv4"], after) == [found]


def test_fields_of_other_headers_are_found() -> None:
    tcp = STACKS["tcp"].copy()
    tcp[TCP].options = [("NOP", None), ("MSS", 1380)]
    assert texts(STACKS["tcp"], tcp)[0] == "TCP.mss 1460 to 1380"
    assert texts(STACKS["tag"], changed("tag", Dot1Q__prio=0, Dot1Q__vlan=6)) == [
        "Dot1Q.prio 3 to 0",
        "Dot1Q.vlan 5 to 6",
    ]
    assert texts(STACKS["ipv6"], changed("ipv6", IPv6__fl=78, IPv6__hlim=9)) == [
        "IPv6.fl 77 to 78",
        "IPv6.hlim 64 to 9",
    ]
    assert texts(STACKS["mpls"], changed("mpls", MPLS__label=99)) == ["MPLS[1].label 16 to 99"]
    assert texts(STACKS["mpls"], changed("mpls", MPLS__cos=3)) == ["MPLS[1].cos 0 to 3"]
    assert texts(STACKS["tag"], changed("tag", Dot1Q__dei=1)) == ["Dot1Q.dei 0 to 1"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (STACKS["ipv4"], Ether(**MACS) / Dot1Q(vlan=7) / STACKS["ipv4"][IP], ["Dot1Q(prio=0, dei=0, vlan=7) added"]),
        (STACKS["tag"], Ether(**MACS) / STACKS["tag"][IP], ["Dot1Q(prio=3, dei=0, vlan=5) removed"]),
        (
            STACKS["ipv4"],
            Ether(**MACS) / MPLS(label=16, s=1, ttl=9) / STACKS["ipv4"][IP],
            ["MPLS(label=16, cos=0, s=1, ttl=9) added"],
        ),
    ],
)
def test_headers_that_were_added_or_removed_are_found(before: Packet, after: Packet, found: list[str]) -> None:
    assert texts(before, after) == found


def test_a_tunnel_is_what_was_put_in_front() -> None:
    outer = Ether(src="02:00:00:00:00:08", dst="02:00:00:00:00:09") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5)
    found = texts(STACKS["ipv4"], outer / VXLAN(vni=42) / STACKS["ipv4"])
    assert [text.partition("(")[0] for text in found] == ["Ether", "IP", "UDP", "VXLAN"]
    assert all(text.endswith("added") for text in found)
    assert "src=10.0.0.1, dst=10.0.0.2" in found[1]
    routing = IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrSegmentRouting(addresses=["2001:db8::2"])
    srv6 = Ether(**MACS) / routing / STACKS["ipv4"][IP]
    assert [text.partition("(")[0] for text in texts(STACKS["ipv4"], srv6)] == ["IPv6", "IPv6ExtHdrRouting"]
    gre = Ether(**MACS) / IP(src="10.0.0.1", dst="10.0.0.2") / GRE() / STACKS["ipv4"][IP]
    assert [text.partition("(")[0] for text in texts(STACKS["ipv4"], gre)] == ["IP", "GRE"]


OUTER = Ether(src="02:00:00:00:00:08", dst="02:00:00:00:00:09") / IP(src="10.0.0.1", dst="10.0.0.2")
TUNNELS = {
    "VXLAN": OUTER / UDP(sport=5) / VXLAN(vni=42),
    "GRE": OUTER / GRE(proto=0x6558),
}


def arrived(sent: Header, frame: bytes) -> list[str]:
    """What a report says of a frame that arrived in place of another, as the core hands it over."""
    kind = Kind(
        kind=1,
        sequence=0,
        variant=0,
        corrupt=False,
        frames=1,
        first_received_ns=0,
        last_received_ns=0,
        length=len(frame),
        front=frame[:255].hex(),
        sent=sent.front.hex(),
        sent_length=sent.length,
        header_bytes=sent.end or 0,
    )
    return [change.text for change in changes_of(kind)]


@pytest.mark.parametrize("tunnel", TUNNELS)
@pytest.mark.parametrize("name", STACKS)
def test_a_tunnel_in_front_of_headers_that_are_like_its_own_is_no_padding(name: str, tunnel: str) -> None:
    """VXLAN in front of IP and UDP was told as another address and a longer frame."""
    found = arrived(header(STACKS[name]), bytes(TUNNELS[tunnel] / STACKS[name] / Raw(LOAD)))
    names = [layer.__name__ for layer in TUNNELS[tunnel].layers()]
    assert [text.partition("(")[0] for text in found] == names
    assert all(text.endswith(" added") for text in found)


@pytest.mark.parametrize("name", STACKS)
def test_bytes_behind_the_payload_are_padding_and_no_header(name: str) -> None:
    sent = header(STACKS[name])
    for more in (1, 6, 18):
        found = arrived(sent, bytes(STACKS[name] / Raw(LOAD)) + bytes(more))
        assert found == [f"frame length {sent.length + 4} to {sent.length + more + 4}"]


def test_a_frame_that_was_padded_or_cut_has_another_length() -> None:
    sent = header(STACKS["ipv4"])
    padded = Header(sent.front, sent.length + 6, sent.end)
    assert [change.text for change in differences(sent, padded)] == ["frame length 106 to 112"]
    damaged = differences(sent, sent, corrupt=True)
    assert damaged == (Difference("payload", "", ""),)


def test_a_fragment_is_told_by_its_offset() -> None:
    sent = header(STACKS["ipv4"])
    packet = changed("ipv4", IP__frag=5)
    found = [change.text for change in differences(sent, header(packet), corrupt=True)]
    assert "IP.frag 0 to 5" in found
    six = STACKS["ipv6"].copy()
    inside = six[IPv6].payload
    six[IPv6].remove_payload()
    found = texts(STACKS["ipv6"], six / IPv6ExtHdrFragment(id=5, m=1) / inside)
    assert found[0].startswith("IPv6ExtHdrFragment(") and found[0].endswith("added")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.one_of(st.none(), st.integers(-5, 260)), st.binary(max_size=200), st.booleans())
def test_any_bytes_can_be_compared(one: bytes, end: int | None, other: bytes, corrupt: bool) -> None:
    dissect(one, end)
    differences(Header(one, len(one) + 20, end), Header(other, len(other) + 3, end), corrupt)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(STACKS)), st.data())
def test_every_mutation_of_any_header_is_found(name: str, data: st.DataObject) -> None:
    sent = header(STACKS[name])
    assert sent.end is not None
    mutated = bytearray(sent.front)
    for _ in range(data.draw(st.integers(1, 4))):
        mutated[data.draw(st.integers(0, sent.end - 1))] ^= data.draw(st.integers(1, 255))
    found = differences(sent, Header(bytes(mutated), sent.length, sent.end))
    assert bool(found) == (bytes(mutated) != sent.front)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 255),
    st.integers(0, 63),
    st.integers(0, 2**32 - 1),
    st.integers(0, 65535),
    st.sampled_from(["ipv4", "tag", "tags", "mpls"]),
)
def test_what_is_expected_is_what_scapy_builds(ttl: int, dscp: int, address: int, port: int, name: str) -> None:
    sent = header(STACKS[name])
    wanted = STACKS[name].copy()
    wanted[IP].ttl, wanted[IP].tos, wanted[IP].dst, wanted[UDP].sport = ttl, dscp << 2, str(IPv4Address(address)), port
    edits = (f"IP.ttl={ttl}", f"IP.dscp={dscp}", f"IP.dst={IPv4Address(address)}", f"UDP.sport={port}")
    made = applied(expectations(edits), sent.front, sent.length)
    assert made == header(wanted).front


def test_tags_are_pushed_and_popped() -> None:
    sent = header(STACKS["ipv4"])
    tagged = header(Ether(**MACS) / Dot1Q(vlan=5, prio=6) / STACKS["ipv4"][IP])
    assert applied(expectations(["push=Dot1Q(vlan=5, prio=6)"]), sent.front, sent.length) == tagged.front
    assert applied(expectations(["pop=Dot1Q"]), tagged.front, tagged.length) == sent.front


@pytest.mark.parametrize("inner", ["ipv4", "ipv6"])
@pytest.mark.parametrize("tag", [None, Dot1Q(vlan=5)])
def test_labels_are_pushed_and_popped_with_the_bottom_of_the_stack_and_the_type_in_front(
    inner: str, tag: Packet | None
) -> None:
    front = Ether(**MACS) if tag is None else Ether(**MACS) / tag
    plain, one = front / STACKS[inner].payload, front / MPLS(label=16, cos=3, s=1, ttl=9) / STACKS[inner].payload
    two = front / MPLS(label=1000, cos=0, s=0, ttl=255) / one[MPLS]
    chain = [header(each) for each in (plain, one, two)]
    pushes = "push=MPLS(label=16, cos=3, ttl=9)", "push=MPLS(label=1000, ttl=255)"
    for before, after, push in zip(chain, chain[1:], pushes, strict=False):
        assert applied(expectations([push]), before.front, before.length) == after.front
        assert applied(expectations(["pop=MPLS"]), after.front, after.length) == before.front


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            "ipv4",
            changed("ipv4", IP__ttl=63, Ether__src="02:00:00:00:00:07"),
            {"IP.ttl=-1", "Ether.src=02:00:00:00:00:07"},
        ),
        ("ipv6", changed("ipv6", IPv6__hlim=62), {"IPv6.hlim=-2"}),
        ("ipv4", changed("ipv4", IP__src="10.0.0.1", UDP__sport=1024), {"IP.src=10.0.0.1", "UDP.sport=1024"}),
        ("ipv4", Ether(**MACS) / Dot1Q(vlan=7) / STACKS["ipv4"][IP], {"insert=13:00000781"}),
    ],
)
def test_what_a_device_did_is_learnt_as_words_that_do_it_again(before: str, after: Packet, found: set[str]) -> None:
    sent, arrived = header(STACKS[before]), header(after)
    made = learnt(sent, arrived)
    assert applied(made, sent.front, sent.length) == arrived.front
    if not any(one.text.startswith("insert") for one in made):
        assert {one.text for one in made} == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "IP.ttl",
        "IP.ttl=",
        "ttl=-1",
        "IP.dst=1.2.3.",
        "push=Dot1Q(vlan=5000)",
        "insert=1:a",
        "pop=IP",
        "push=MPLS(label=1048576)",
        "push=MPLS(vlan=5)",
        "push=Dot1Q(label=5)",
    ],
)
def test_what_is_no_change_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match="write"):
        expectations([text])
