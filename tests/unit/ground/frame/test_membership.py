"""Messages that join and leave groups are those of Scapy and the protocols, with the payload behind them."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from scapy.layers.igmp import IGMPv2_LG, IGMPv2_MR, IGMPv3_MR
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6MLDone, ICMPv6MLReport, ICMPv6MLReport2, IPv6
from scapy.layers.l2 import Ether
from scapy.utils import checksum

from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.membership import MESSAGE_BYTES, Membership, Protocol, group_mac, memberships, message
from keisoku.ground.frame.membership import test_frames as frames_to_groups
from keisoku.ground.frame.variants import Frames, frames

ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")
LAYERS = {
    ("igmpv2", True): IGMPv2_MR,
    ("igmpv2", False): IGMPv2_LG,
    ("igmpv3", True): IGMPv3_MR,
    ("igmpv3", False): IGMPv3_MR,
    ("mldv1", True): ICMPv6MLReport,
    ("mldv1", False): ICMPv6MLDone,
    ("mldv2", True): ICMPv6MLReport2,
    ("mldv2", False): ICMPv6MLReport2,
}


def made(protocol: Protocol, joins: bool, count: int) -> Frames:
    own = message(protocol, joins, count)
    return frames(own.headers, (MESSAGE_BYTES,), ENDS, own.modify)


@pytest.mark.parametrize(("protocol", "joins"), LAYERS)
def test_a_message_tells_scapy_and_the_simulated_device_the_same(protocol: Protocol, joins: bool) -> None:
    found = made(protocol, joins, 300)
    first = int.from_bytes(frames_to(protocol, 1).frame(0)[:6], "big")
    assert memberships(found) == [Membership(joins, first + number) for number in range(300)]
    packet = Ether(found.frame(299))
    assert LAYERS[protocol, joins] in packet
    if IP in packet:
        assert packet[IP].ttl == 1 and packet[IP].proto == 2 and packet[IP].len == MESSAGE_BYTES - 18
        assert checksum(bytes(packet[IP].payload)) == 0, "it is over all that follows, the signature too"
    else:
        assert packet[IPv6].hlim == 1 and packet[IPv6].nh == 0 and packet[IPv6].src.startswith("fe80::")
    assert packet.dst == group_mac(ip_address((packet[IP] if IP in packet else packet[IPv6]).dst))


def frames_to(protocol: Protocol, count: int) -> Frames:
    own = frames_to_groups(protocol, count)
    return frames(own.headers, (128,), ENDS, own.modify)


@pytest.mark.parametrize("protocol", ["igmpv2", "mldv2"])
def test_test_frames_lead_from_group_to_group_and_tell_nothing(protocol: Protocol) -> None:
    found = frames_to(protocol, 3)
    assert memberships(found) == []
    macs = [found.frame(number)[:6] for number in range(3)]
    assert len(set(macs)) == 3 and all(mac[0] & 1 for mac in macs)


@pytest.mark.parametrize(
    ("group", "mac"),
    [("239.129.2.3", "01:00:5e:01:02:03"), ("224.0.0.22", "01:00:5e:00:00:16"), ("ff02::16", "33:33:00:00:00:16")],
)
def test_the_mac_address_of_a_group_has_its_low_bits(group: str, mac: str) -> None:
    assert group_mac(ip_address(group)) == mac
