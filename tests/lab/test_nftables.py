"""NAT rewrites what it must and keeps the ports; the firewall drops what it must. Both by nftables."""

from __future__ import annotations

import json

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from support.lab_passages import MakeTap, assert_checksums, dropped, needs, payload

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nftables import NFT

pytestmark = [pytest.mark.lab, needs(NFT)]


def test_nat_keeps_the_ports_and_leads_the_answer_back(tap: MakeTap) -> None:
    with Lab("nat") as lab:
        a, b = lab.ports
        inner, outer = tap(a), tap(b)
        for sport, dport in ((1024, 7), (49184, 9), (65535, 65535)):
            out = IP(src=a.ipv4, dst=b.ipv4) / UDP(sport=sport, dport=dport) / payload()
            inner.send(bytes(Ether(src=a.mac, dst=a.dut_mac) / out))
            arrived = outer.receive()
            assert_checksums(arrived)
            seen = Ether(arrived)
            assert (seen.src, seen.dst, seen[IP].src, seen[IP].dst) == (b.dut_mac, b.mac, b.dut_ipv4, b.ipv4)
            assert (seen[UDP].sport, seen[UDP].dport, bytes(seen[UDP].payload)) == (sport, dport, payload())
            back = IP(src=b.ipv4, dst=b.dut_ipv4) / UDP(sport=dport, dport=sport) / payload()
            outer.send(bytes(Ether(src=b.mac, dst=b.dut_mac) / back))
            answered = inner.receive()
            assert_checksums(answered)
            seen = Ether(answered)
            assert (seen[IP].src, seen[IP].dst, seen[UDP].sport, seen[UDP].dport) == (b.ipv4, a.ipv4, dport, sport)


def test_nat_leaves_an_absent_checksum_absent(tap: MakeTap) -> None:
    with Lab("nat") as lab:
        a, b = lab.ports
        inner, outer = tap(a), tap(b)
        frame = Ether(src=a.mac, dst=a.dut_mac) / IP(src=a.ipv4, dst=b.ipv4) / UDP(sport=5000, dport=7, chksum=0)
        inner.send(bytes(frame / payload()))
        assert Ether(outer.receive())[UDP].chksum == 0


@pytest.mark.parametrize("rules", [1, 25, 1000])
def test_a_firewall_has_so_many_rules(rules: int) -> None:
    with Lab(f"firewall?rules={rules}") as lab:
        dut = lab.ports[0].namespace_path.with_name(lab.ports[0].namespace_path.name.replace("tester", "dut"))
        listed = json.loads(run_in_namespace(dut, lambda: NFT.run("-j", "list", "ruleset")))["nftables"]
        for family in ("ip", "ip6"):
            assert sum(entry.get("rule", {}).get("family") == family for entry in listed) == rules


@pytest.mark.parametrize("rules", [1, 25])
@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("198.19.0.1", "198.18.2.2"),
        ("198.19.0.24", "198.19.100.1"),
        ("198.18.1.2", "192.0.2.1"),
        ("2001:2:0:1900::1", "2001:2:0:2::2"),
        ("2001:db8::1", "2001:2:0:2::2"),
    ],
)
def test_a_firewall_drops_all_else(rules: int, source: str, destination: str, tap: MakeTap) -> None:
    with Lab(f"firewall?rules={rules}") as lab:
        a = lab.ports[0]
        network = (IPv6 if ":" in source else IP)(src=source, dst=destination)
        frame = Ether(src=a.mac, dst=a.dut_mac) / network / UDP(sport=49184, dport=7) / payload()
        assert dropped(lab, tap, bytes(frame), 1, 2)


def test_a_router_would_have_forwarded_it(tap: MakeTap) -> None:
    """So it is the rules that drop it."""
    with Lab("router") as lab:
        a = lab.ports[0]
        network = IP(src="198.19.0.1", dst="198.18.2.2")
        frame = Ether(src=a.mac, dst=a.dut_mac) / network / UDP(sport=49184, dport=7) / payload()
        assert not dropped(lab, tap, bytes(frame), 1, 2)
