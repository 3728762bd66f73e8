"""Stacks as users write them: what is read, and what is refused without ever being run."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import ALIASES, layers_of, parse

ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a name was looked up over the network")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)


def test_layers_and_values_are_those_that_were_written() -> None:
    stack = parse(" Ether( ) / Dot1Q(vlan=0x05, prio=3)/IPv6(fl=7)/UDP(sport=9) ")
    assert stack.text == "Ether()/Dot1Q(vlan=5, prio=3)/IPv6(fl=7)/UDP(sport=9)"
    assert parse(stack.text) == stack
    assert [layer.fields for layer in layers_of(stack.packet())] == [
        {},
        {"vlan": 5, "prio": 3},
        {"fl": 7},
        {"sport": 9},
    ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ethernet", None),
        ("ipv4", 4),
        ("ipv6", 6),
        ("Ether()/MPLS(label=16)/IPv6()/GRE()/IP()", 6),
        ("Ether()/ARP()", None),
    ],
)
def test_the_outermost_ip_version_is_known(text: str, version: int | None) -> None:
    assert parse(text).ip_version == version


def test_short_names_are_stacks() -> None:
    for name, text in ALIASES.items():
        assert parse(name).text == text


@pytest.mark.parametrize("layer", ["GENEVE", "NSH", "PPPoE", "BFD", "LISP", "ERSPAN_II", "GTP_U_Header"])
def test_layers_come_from_all_of_scapy(layer: str) -> None:
    assert type(layers_of(parse(f"Ether()/IP()/UDP()/{layer}()").packet())[-1]).__name__ == layer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "'' is not a stack of layers"),
        ("Ether(", "'Ether(' is not a stack of layers"),
        ("(" * 3000, "is not a stack of layers"),
        ("a" + ".b" * 1900, "is not a"),
        ("/".join(["Ether()"] * 65), "65 layers are too many"),
        ("Ether()" + " " * 5 + "/Raw(load='" + "x" * 5000 + "')", "characters are too many; use at most 4000"),
        ("Ether", "'Ether' is a name without parentheses; write Ether()"),
        ("IP()/UDP()", "the stack begins with IP.*begin with Ether()"),
        ("Ether()/ipv6()", "Scapy has no layer 'ipv6'; did you mean IPv6?"),
        ("Ether()/Dot1q()", "did you mean Dot1Q?"),
        ("Ether()/Nonsense42()", "Scapy has no layer 'Nonsense42'"),
        ("Ether()/Packet()", "Scapy has no layer 'Packet'"),
        ("Ether()/RandShort()", "Scapy has no layer 'RandShort'"),
        ("Ether()/Dot1Q(vln=5)", "Dot1Q has no field 'vln'; did you mean vlan?"),
        ("Ether()/UDP(foo=5)", "UDP has no field 'foo'; it has sport, dport, len, chksum"),
        ("Ether()/Dot1Q(vlan=5000)", "5000 is no value for Dot1Q.vlan; use 0 to 4095"),
        ("Ether()/Dot1Q(vlan=-1)", "-1 is no value for Dot1Q.vlan; use 0 to 4095"),
        ("Ether()/VXLAN(vni=16777216)", "use 0 to 16777215"),
        ("Ether()/IP(ttl=300)", "use 0 to 255"),
        ("Ether()/IP(ttl='x')", "use 0 to 255"),
        ("Ether()/TCP(flags='Q')", "use 0 to 511"),
        ("Ether()/IP(ttl=(1,5))", "give one value, and --modify 'IP.ttl=list"),
        ("Ether()/IP(dst='10.0.0.0/24')", "is no value for IP.dst; write it as 198.18.0.1"),
        ("Ether()/IP(dst='www.example.org')", "is no value for IP.dst"),
        ("Ether()/IPv6(dst='www.example.org')", "is no value for IPv6.dst"),
        ("Ether()/IPv6(dst='fe80::1%eth0')", "is no value for IPv6.dst"),
        ("Ether()/ARP(pdst='www.example.org')", "is no value for ARP.pdst"),
        ("Ether()/IPv6()/IPv6ExtHdrSegmentRouting(addresses=['www.example.org'])", "is no value for .*addresses"),
        ("Ether(dst='10.0.0.1')", "is no value for Ether.dst; write it as 02:00"),
        ("Ether()/GRE(key=5)", "GRE.key does not occur in this header; set the flag"),
        ("Ether(1)", "has a value without a name"),
        ("Ether(**{})", "has a value without a name"),
        ("Ether()*2", "is not a layer"),
        ("Ether()/IP(ttl=1+1)", "'1 \\+ 1' is no literal value"),
        ("Ether()/IP(ttl=x)", "'x' is no literal value"),
        ("__import__('os').system('false')", "is not a layer"),
        ("Ether()/exec('1')", "Scapy has no layer 'exec'"),
        ("Ether()/IP(dst=open('/etc/passwd'))", "Scapy has no layer 'open'"),
        ("Ether()/(lambda: 1)()", "is not a layer"),
        ("[Ether() for _ in 'ab']", "is not a layer"),
    ],
)
@pytest.mark.usefixtures("_no_network")
def test_what_is_wrong_is_said_in_one_sentence(text: str, expected: str) -> None:
    with pytest.raises(PlanError, match=expected.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")) as caught:
        Headers(parse(text), ENDS)
    assert caught.value.field == "headers"
    assert "\n" not in str(caught.value)


@given(st.text("EtherIPUDv64Dot1Q()/=,.'[]{}-+* 019:\\\n\0", max_size=60))
def test_any_text_is_a_stack_or_refused(text: str) -> None:
    try:
        parse(text)
    except PlanError as error:
        assert error.field == "headers"
