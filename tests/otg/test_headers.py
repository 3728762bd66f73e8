"""Headers of OTG as frames, taken apart again by Scapy."""

from __future__ import annotations

from typing import Any

import pytest
import snappi
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from keisoku.errors import PlanError
from keisoku.faces.otg.flow.header import packet
from keisoku.faces.otg.reading.conformance import checked
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.variants import Frames, frames

ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")


def made(flow: Any, size: int = 200, payload_start: bytes = b"") -> Frames:
    """The frames of a flow's headers."""
    found = packet(checked(flow.serialize("dict"), "Flow"), payload_start)
    return frames(found.headers, (size,), ENDS, found.modify)


def flow() -> Any:
    new = snappi.Flow()
    new.name = "f"
    new.tx_rx.port.tx_name = "p1"
    return new


def test_every_field_of_ipv4_and_tcp_is_where_it_belongs() -> None:
    one = flow()
    ethernet, vlan, ip, tcp = one.packet.ethernet().vlan().ipv4().tcp()
    ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
    vlan.id.value, vlan.priority.value, vlan.cfi.value = 77, 5, 1
    ip.src.value, ip.dst.value, ip.identification.value = "1.2.3.4", "5.6.7.8", 99
    ip.dont_fragment.value = 1
    ip.time_to_live.value = 33
    ip.priority.dscp.phb.value, ip.priority.dscp.ecn.value = 46, 1
    tcp.src_port.value, tcp.dst_port.value, tcp.seq_num.value, tcp.ack_num.value = 1, 2, 3, 4
    tcp.ctl_syn.value, tcp.ctl_ack.value, tcp.window.value = 1, 1, 555
    frame = Ether(made(one).frame(0))
    assert (frame.src, frame.dst, frame.type) == ("02:00:00:00:00:0a", "02:00:00:00:00:0b", 0x8100)
    assert (frame[Dot1Q].vlan, frame[Dot1Q].prio, frame[Dot1Q].dei) == (77, 5, 1)
    ip_, tcp_ = frame[IP], frame[TCP]
    assert (ip_.src, ip_.dst, ip_.id, str(ip_.flags), ip_.ttl, ip_.tos) == (
        "1.2.3.4",
        "5.6.7.8",
        99,
        "DF",
        33,
        46 << 2 | 1,
    )
    assert (ip_.len, ip_.proto) == (200 - 4 - 14 - 4, 6)
    assert (tcp_.sport, tcp_.dport, tcp_.seq, tcp_.ack, str(tcp_.flags), tcp_.window) == (1, 2, 3, 4, "SA", 555)


def test_what_a_script_leaves_out_has_otgs_defaults() -> None:
    one = flow()
    one.packet.ethernet().ipv4().udp()
    frame = Ether(made(one).frame(0))
    assert (frame.src, frame.dst) == ("00:00:00:00:00:00", ENDS.destination_mac)
    assert (frame[IP].src, frame[IP].dst, frame[IP].ttl) == ("0.0.0.0", "0.0.0.0", 64)
    assert (frame[UDP].sport, frame[UDP].dport) == (0, 0)


def test_patterns_step_together_frame_by_frame() -> None:
    one = flow()
    ethernet, ip, udp = one.packet.ethernet().ipv6().udp()
    ethernet.src.increment.start, ethernet.src.increment.count = "02:00:00:00:00:fe", 4
    ip.src.decrement.start, ip.src.decrement.step, ip.src.decrement.count = "2001:2::5", "::2", 2
    ip.dst.values = ["2001:2::1", "2001:2::9", "2001:2::2", "2001:2::7"]
    ip.flow_label.value = 12345
    udp.src_port.random.min, udp.src_port.random.max, udp.src_port.random.count = 2000, 2999, 4
    table = made(one)
    assert table.count == 4
    found = [Ether(table.frame(number)) for number in range(4)]
    assert [frame.src[-5:] for frame in found] == ["00:fe", "00:ff", "01:00", "01:01"]
    assert [frame[IPv6].src for frame in found] == ["2001:2::5", "2001:2::3"] * 2
    assert [frame[IPv6].dst for frame in found] == ["2001:2::1", "2001:2::9", "2001:2::2", "2001:2::7"]
    assert all(frame[IPv6].fl == 12345 and 2000 <= frame[UDP].sport <= 2999 for frame in found)


def test_a_counter_comes_around_at_the_width_of_its_field() -> None:
    one = flow()
    udp = one.packet.ethernet().ipv4().udp()[-1]
    udp.src_port.increment.start, udp.src_port.increment.step, udp.src_port.increment.count = 65000, 300, 3
    udp.dst_port.decrement.start, udp.dst_port.decrement.step, udp.dst_port.decrement.count = 1, 2, 3
    table = made(one)
    found = [Ether(table.frame(number))[UDP] for number in range(3)]
    assert [frame.sport for frame in found] == [65000, 65300, 64]
    assert [frame.dport for frame in found] == [1, 65535, 65533]


def test_tunnels_and_labels() -> None:
    one = flow()
    _, _, udp, vxlan, inner, _, _ = one.packet.ethernet().ipv4().udp().vxlan().ethernet().ipv4().udp()
    udp.dst_port.value = 4789
    vxlan.vni.values = [1000, 1001]
    inner.src.value = "02:00:00:00:00:0c"
    table = made(one)
    assert [Ether(table.frame(number))[VXLAN].vni for number in range(2)] == [1000, 1001]
    assert Ether(table.frame(1))[VXLAN][Ether].src == "02:00:00:00:00:0c"
    labels = flow()
    first, second = labels.packet.ethernet().mpls().mpls()[1:3]
    first.label.value, second.label.value = 100, 200
    labels.packet.ipv4()
    octets = made(labels).frame(0)
    assert octets[12:14] == bytes.fromhex("8847")
    words = [int.from_bytes(octets[at : at + 4], "big") for at in (14, 18)]
    assert [(word >> 12, word >> 8 & 1, word & 0xFF) for word in words] == [(100, 0, 64), (200, 1, 64)]


@pytest.mark.parametrize(("layer", "kind"), [("icmp", ICMP), ("icmpv6", ICMPv6EchoRequest)])
def test_echoes(layer: str, kind: Any) -> None:
    one = flow()
    packets = one.packet.ethernet()
    (packets.ipv4() if layer == "icmp" else packets.ipv6())
    echo = getattr(packets, layer)()[-1].echo
    echo.identifier.value, echo.sequence_number.value = 7, 8
    frame = Ether(made(one).frame(0))
    assert (frame[kind].id, frame[kind].seq) == (7, 8)


def test_arp_and_bytes_of_ones_own() -> None:
    one = flow()
    arp = one.packet.ethernet().arp()[-1]
    arp.operation.value = 2
    arp.sender_hardware_addr.value, arp.sender_protocol_addr.value = "02:00:00:00:00:0d", "1.1.1.1"
    frame = Ether(made(one).frame(0))
    assert (frame[ARP].op, frame[ARP].hwsrc, frame[ARP].psrc) == (2, "02:00:00:00:00:0d", "1.1.1.1")
    own = flow()
    own.packet.custom()[-1].bytes = "0x 02:00:00:00:00:02 02:00:00:00:00:01 88:b6 AA BB"
    assert made(own).frame(0)[:16] == bytes.fromhex("020000000002020000000001 88b6 aabb")


def test_a_payload_begins_with_what_a_script_looks_for() -> None:
    """TestUdpPortValueEth0 counts captured frames by a mark of another tester, and found none of 100."""
    one = flow()
    _, _, udp = one.packet.ethernet().ipv4().udp()
    udp.dst_port.value = 7000
    mark = bytes.fromhex("877367494287118008711805")
    frame = made(one, 128, mark).frame(0)
    assert frame[42:54] == mark and len(frame) == 124
    whole = IP(frame[14:])
    told, whole[UDP].chksum = whole[UDP].chksum, None
    assert IP(bytes(whole))[UDP].chksum == told and whole[UDP].len == 128 - 4 - 34
    with pytest.raises(PlanError, match="frame size"):
        made(one, 64, mark)
